// Runs the rows of the conformance list on a device and compares every result with its definition.
import type { Device } from '../../src/device/device.ts'
import { LeavenError } from '../../src/errors/index.ts'
import type { OpName, Params } from '../../src/graph/params.ts'
import { ops } from '../../src/native/ops.gen.ts'
import { Batch, type DrawnRow, type Outcome } from './batch.ts'
import { conformanceRows } from './cases.ts'
import { availableIsas, chooseIsa } from './isa.ts'
import { judge } from './judge.ts'
import { notYet } from './not_yet.ts'
import { Random, seedOf } from './random.ts'
import { references } from './reference/index.ts'
import type { Expected } from './reference/reference.ts'
import { type Row, shapeOf } from './row.ts'
import { fourSizes, makeOperand, type OperandMemory } from './tensor_value.ts'

export interface ConformanceOptions {
  /** One op alone. */
  readonly op?: string | undefined
  /** One instruction set of the CPU; `all` is every one that this machine runs. */
  readonly isa?: string | undefined
  /** About so many rows, of every op and dtype as many; all rows without it. */
  readonly sample?: number | undefined
  /** Chooses the sample and draws the values. */
  readonly seed?: number | undefined
  /** Told of each row as soon as it has run. */
  readonly onRow?: ((result: RowResult) => void) | undefined
}

export interface RowResult {
  readonly id: string
  readonly op: string
  readonly dtype: string
  readonly status: 'passed' | 'failed' | 'skipped'
  readonly problem?: string
}

export interface ConformanceResult {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly rows: readonly RowResult[]
}

/**
 * Runs the list, or what the options leave of it. Every row runs with one thread and with two, on
 * memory of different patterns, and must give the same bits.
 */
export const runConformance = async (
  device: Device,
  options: ConformanceOptions = {},
): Promise<ConformanceResult> => {
  const results: RowResult[] = missingOps(options.op)
  const rows = chosenRows(options)
  const isas = isasOf(device, options.isa)
  for (const result of results) options.onRow?.(result)
  for (const group of groups(rows)) {
    for (const result of await runRows(device, group, { isas, seed: options.seed ?? 0 })) {
      results.push(result)
      options.onRow?.(result)
    }
  }
  const count = (status: RowResult['status']) => results.filter((r) => r.status === status).length
  return {
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    rows: results,
  }
}

/** An op without rows is a failure, unless the list of those that wait says why. */
const missingOps = (only: string | undefined): RowResult[] => {
  const tested = new Set(conformanceRows().map(({ op }) => op))
  return (Object.keys(ops) as OpName[])
    .filter((op) => !tested.has(op) && (only === undefined || op === only))
    .map((op) => {
      const reason = notYet[op]
      const status = reason === undefined ? 'failed' : 'skipped'
      return { id: op, op, dtype: '', status, problem: reason ?? 'the list has no rows for it' }
    })
}

const chosenRows = ({ op, sample, seed = 0 }: ConformanceOptions): Row[] => {
  const rows = conformanceRows().filter((row) => op === undefined || row.op === op)
  if (sample === undefined || sample >= rows.length) return rows
  const kinds = Map.groupBy(rows, (row) => `${row.op} ${row.dtype}`)
  const shuffled = [...kinds.values()].map((list) => new Random(seed).shuffle([...list]))
  const chosen: Row[] = []
  for (let round = 0; chosen.length < sample; round++) {
    for (const list of shuffled) if (list[round] !== undefined) chosen.push(list[round]!)
  }
  return chosen.slice(0, sample)
}

/** Instruction sets to go through; undefined is the one in use. */
const isasOf = (device: Device, isa: string | undefined): (string | undefined)[] => {
  if (isa === undefined) return [undefined]
  if (device.type !== 'cpu') throw new RangeError(`${device.id} has no instruction sets`)
  const available = availableIsas()
  if (isa === 'all') return available
  if (!available.includes(isa)) {
    throw new RangeError(`isa ${isa}: this machine runs ${available.join(', ')}`)
  }
  return [isa]
}

const groupRows = 128
const groupBytes = 8 << 20

/** Rows that share a program; those whose run must fail have one of their own. */
function* groups(rows: readonly Row[]): Generator<Row[]> {
  let group: Row[] = []
  let bytes = 0
  for (const row of rows) {
    if (row.fault) {
      yield [row]
      continue
    }
    if (group.length === groupRows || bytes > groupBytes) {
      yield group
      group = []
      bytes = 0
    }
    group.push(row)
    for (const operand of row.operands) bytes += operand?.base.reduce((a, b) => a * b, 4) ?? 0
  }
  if (group.length > 0) yield group
}

/** A row with its values and what the definition makes of them. */
export interface PreparedRow {
  readonly drawn: DrawnRow
  readonly expected: readonly Expected[]
}

export const prepare = (row: Row, seed: number): PreparedRow => {
  const memory: (OperandMemory | undefined)[] = []
  for (const [i, operand] of row.operands.entries()) {
    const own = seedOf(`${row.id} ${i}`, seed)
    memory.push(operand === undefined ? undefined : makeOperand(operand, own, memory))
  }
  const drawn = { row, memory }
  if (row.support === 'refused' || row.fault) return { drawn, expected: [] }
  const reference = references[row.op]
  if (reference === undefined) throw new Error(`${row.op} has no reference`)
  const values = memory.map((entry) => entry?.value)
  return { drawn, expected: reference(values, roundedParams(row.op, row.params)) }
}

/** Params as the kernel reads them. */
const roundedParams = (op: OpName, params: Params): Params => {
  const types: Readonly<Record<string, readonly [string, number]>> = ops[op].params
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name,
      types[name]?.[0] === 'f32' ? Math.fround(value) : value,
    ]),
  )
}

interface RunOptions {
  readonly isas: readonly (string | undefined)[]
  readonly seed: number
}

const runRows = async (device: Device, rows: readonly Row[], o: RunOptions) =>
  await runPrepared(
    device,
    rows.map((row) => prepare(row, o.seed)),
    o.isas,
  )

/** One result per row: passed when it has on every instruction set. */
export const runPrepared = async (
  device: Device,
  prepared: readonly PreparedRow[],
  isas: readonly (string | undefined)[],
): Promise<RowResult[]> => {
  using batch = new Batch(
    device,
    prepared.map(({ drawn }) => drawn),
  )
  const problems = prepared.map((): string | undefined => undefined)
  const isRefused = prepared.map(() => false)
  for (const isa of isas) {
    if (isa !== undefined && !chooseIsa(isa)) throw new RangeError(`isa ${isa} cannot be chosen`)
    const one = await batch.run({ threads: 1, pattern: 0x5a })
    const two = await batch.run({ threads: 2, pattern: 0xa5 })
    for (const [i, row] of prepared.entries()) {
      isRefused[i] ||= one[i]!.refused !== undefined
      const problem = problemOf(row, one[i]!) ?? differenceOf(one[i]!, two[i]!)
      if (problem !== undefined) problems[i] ??= isa === undefined ? problem : `${isa}: ${problem}`
    }
  }
  // A failed run tells nothing of who failed it.
  const failed = problems.some((problem) => problem?.startsWith(failedRun))
  if (failed && prepared.length > 1) {
    const alone = []
    for (const row of prepared) alone.push(...(await runPrepared(device, [row], isas)))
    return alone
  }
  return prepared.map(({ drawn: { row } }, i) => {
    const { id, op, dtype } = row
    const waits = isRefused[i] ? notYet[`${op} ${dtype}`] : undefined
    if (waits !== undefined) return { id, op, dtype, status: 'skipped', problem: waits }
    const problem = problems[i]
    if (problem !== undefined) return { id, op, dtype, status: 'failed', problem }
    return { id, op, dtype, status: 'passed' }
  })
}

const failedRun = 'the run failed'

const problemOf = ({ drawn, expected }: PreparedRow, outcome: Outcome): string | undefined => {
  const { row } = drawn
  if (outcome.damage !== undefined) return outcome.damage
  if (outcome.refused !== undefined) return problemOfRefusal(row, outcome.refused)
  if (row.support === 'refused') return 'it was taken and should have been refused'
  if (row.fault) return problemOfFault(row, outcome.failed)
  if (outcome.failed !== undefined) return `${failedRun}: ${outcome.failed}`
  if (outcome.results.length !== expected.length) {
    return `${outcome.results.length} results, not ${expected.length}`
  }
  for (const [i, result] of outcome.results.entries()) {
    const wanted = expected[i]!
    const shape = fourSizes(result.shape)
    if (result.dtype !== wanted.dtype || shape.join() !== wanted.shape.join()) {
      return `output ${i} is ${result.dtype} [${shape}], not ${wanted.dtype} [${wanted.shape}]`
    }
    const problem = judge(row, wanted, result.bytes)
    if (problem !== undefined) return expected.length === 1 ? problem : `output ${i}: ${problem}`
  }
  return undefined
}

/** A refusal names the op, and the dtypes or the shapes that it is about. */
const problemOfRefusal = (row: Row, error: unknown): string | undefined => {
  if (!(error instanceof LeavenError)) return `it was refused by ${error}, not by a LeavenError`
  if (row.support === 'required') return `it was refused: ${error.message}`
  if (!error.message.includes(row.op))
    return `the refusal does not name ${row.op}: ${error.message}`
  if (error.code === 'SHAPE_MISMATCH') return undefined
  if (error.code !== 'UNSUPPORTED') return `the refusal has the code ${error.code}`
  const unnamed = row.operands.find((x) => x !== undefined && !error.message.includes(x.dtype))
  return unnamed && `the refusal does not name ${unnamed.dtype}: ${error.message}`
}

const problemOfFault = (row: Row, error: unknown): string | undefined => {
  if (error === undefined) return 'the run took an index outside its table'
  const isTyped = error instanceof LeavenError && error.code === 'INDEX_OUT_OF_RANGE'
  if (!isTyped) return `the run failed with ${error}`
  return error.message.includes(row.op) ? undefined : `the error does not name ${row.op}: ${error}`
}

const differenceOf = (one: Outcome, two: Outcome): string | undefined => {
  if (two.damage !== undefined) return `with two threads ${two.damage}`
  for (const [i, { bytes }] of one.results.entries()) {
    const other = two.results[i]?.bytes
    if (other === undefined || Buffer.compare(bytes, other) !== 0) {
      return 'two threads, or memory with other content, give other bits'
    }
  }
  return undefined
}

/** Elements of a row's largest operand: what it costs, roughly. */
export const sizeOf = (row: Row): number =>
  Math.max(
    ...row.operands.map((x) => (x === undefined ? 0 : shapeOf(x).reduce((a, b) => a * b, 1))),
  )
