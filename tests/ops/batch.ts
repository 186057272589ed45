// Many rows as one program: each row's node reads operands of its own and writes between canaries.
//
// Memory is planned here and not by the compiler, so that canaries lie around every result and
// scratch, and everything lies at any alignment that the program check allows.
import { Arena } from '../../src/device/arena.ts'
import type { DeviceBuffer } from '../../src/device/buffer.ts'
import type { Device } from '../../src/device/device.ts'
import { Program } from '../../src/device/program.ts'
import { type Allocation, allocate, sizeBytes } from '../../src/graph/allocate.ts'
import { compileLayout } from '../../src/graph/compile.ts'
import { Graph } from '../../src/graph/graph.ts'
import { lower } from '../../src/graph/lower.ts'
import { type Schedule, schedule, storageOf } from '../../src/graph/schedule.ts'
import type { Node, Tensor } from '../../src/graph/tensor.ts'
import { profileImage } from '../../src/native/devices.ts'
import type { DType } from '../../src/native/dtype.ts'
import { dtypes, ops } from '../../src/native/ops.gen.ts'
import { Canvas, type Damage } from './canvas.ts'
import { Random, seedOf } from './random.ts'
import type { Operand, Row } from './row.ts'
import { type OperandMemory, runsOf, valueIn } from './tensor_value.ts'

/** A row with its operands drawn. */
export interface DrawnRow {
  readonly row: Row
  readonly memory: readonly (OperandMemory | undefined)[]
}

/** What came of a row: each result's shape and bytes, or why there is none. */
export interface Outcome {
  readonly results: readonly { shape: readonly number[]; dtype: DType; bytes: Uint8Array }[]
  /** The shape rules or the device do not take the row. */
  readonly refused?: unknown
  /** The run failed. */
  readonly failed?: unknown
  /** Memory that the row had no business with was changed. */
  readonly damage?: string
}

export interface BatchOptions {
  readonly threads: number
  /** What memory holds before the run; results must not depend on it. */
  readonly pattern: number
}

/** Alignment that the program check asks of a tensor (zig/runtime/check.zig). */
const alignmentOf = (dtype: DType): number => {
  if (dtype === 'q8_row') return 4
  const { blockLength, blockBytes } = dtypes[dtype]
  return blockLength === 1 ? blockBytes : 1
}

const line = 64

/** The operands of rows in two buffers: constants, and what ops update in place. */
class Operands implements Disposable {
  readonly constants = new Canvas()
  readonly state = new Canvas()
  /** Where each operand's base lies, by row. */
  readonly offsets: number[][]
  readonly buffers: { constants: DeviceBuffer; state: DeviceBuffer }

  constructor(device: Device, rows: readonly DrawnRow[]) {
    this.offsets = rows.map((drawn, owner) => this.place(drawn, owner))
    this.buffers = {
      constants: device.createBuffer({ size: this.constants.size, usage: 'weights' }),
      state: device.createBuffer({ size: this.state.size, usage: 'state' }),
    }
  }

  [Symbol.dispose](): void {
    this.buffers.constants.dispose()
    this.buffers.state.dispose()
  }

  private place({ row, memory }: DrawnRow, owner: number): number[] {
    const random = new Random(seedOf(row.id))
    const offsets: number[] = []
    for (const [i, entry] of memory.entries()) {
      if (entry === undefined) {
        offsets.push(0)
        continue
      }
      const { of, dtype } = entry.operand
      if (of !== undefined) {
        offsets.push(offsets[of]!)
        continue
      }
      const unit = alignmentOf(dtype)
      const misalignment = unit * random.below(line / unit)
      const canvas = isUpdated(row, i) ? this.state : this.constants
      offsets.push(canvas.reserve(owner, entry.base.length, misalignment, entry.base))
    }
    return offsets
  }
}

const isUpdated = (row: Row, operand: number): boolean => ops[row.op].updates === operand

/** A row's node in a graph. */
interface Built {
  readonly outputs: readonly Tensor[]
  /** The copy whose memory the result takes over. */
  readonly replaced: Tensor | undefined
}

const viewTensor = (base: Tensor, { steps }: Operand): Tensor =>
  steps.reduce(
    (tensor, step) =>
      'permute' in step ? tensor.permute(step.permute) : tensor.slice(...step.slice),
    base,
  )

/** Adds row number `index` to the graph. Throws what the shape rules say. */
const addRow = (g: Graph, { row, memory }: DrawnRow, operands: Operands, index: number): Built => {
  const { constants, state } = operands.buffers
  const sources = memory.map((entry, i) => {
    if (entry === undefined) return undefined
    const { dtype, base, of } = entry.operand
    const offset = operands.offsets[index]![i]!
    const home = isUpdated(row, of ?? i)
      ? g.state(state, offset, dtype, base)
      : g.weight(constants, offset, dtype, base)
    return viewTensor(home, entry.operand)
  })
  return g.within(String(index), () => {
    let replaced: Tensor | undefined
    if (row.inPlace !== undefined) {
      const source = sources[row.inPlace]!
      replaced = g.node('copy', [source], { dtype: dtypes[source.dtype].code })
      sources[row.inPlace] = replaced
    }
    const result = g.node(row.op, sources, row.params)
    const outputs = result.origin.kind === 'node' ? result.origin.node.outputs : [result]
    if (ops[row.op].updates < 0) {
      for (const [i, output] of outputs.entries()) g.output(`${index}.${i}`, output)
    }
    return { outputs, replaced }
  })
}

/** Places of results and scratch, with canaries between them. */
interface Spread extends Allocation {
  readonly canvas: Canvas
}

const spread = (
  plan: Schedule,
  built: Iterable<Built>,
  scratchOf: (node: Node) => number,
): Spread => {
  const canvas = new Canvas()
  const offsets = new Map<Tensor, number>()
  const scratch = new Map<Node, { offset: number; bytes: number }>()
  const takenOver = new Map<Tensor, Tensor>()
  for (const { replaced, outputs } of built) if (replaced) takenOver.set(outputs[0]!, replaced)
  const random = new Random(plan.nodes.length)
  for (const node of plan.nodes) {
    const owner = Number(node.label)
    for (const output of node.outputs) {
      if (storageOf(output).owner !== output) continue
      const replaced = takenOver.get(output)
      const unit = alignmentOf(output.dtype)
      const offset =
        replaced === undefined
          ? canvas.reserve(owner, sizeBytes(output), unit * random.below(line / unit))
          : offsets.get(replaced)!
      offsets.set(output, offset)
    }
    const bytes = scratchOf(node)
    if (bytes > 0) scratch.set(node, { offset: canvas.reserve(owner, bytes, 0), bytes })
  }
  return { offsets, scratch, peakBytes: canvas.size, canvas }
}

/** Rows of one device whose operands lie in its memory. */
export class Batch implements Disposable {
  private readonly device: Device
  private readonly rows: readonly DrawnRow[]
  private readonly operands: Operands

  constructor(device: Device, rows: readonly DrawnRow[]) {
    this.device = device
    this.rows = rows
    this.operands = new Operands(device, rows)
  }

  [Symbol.dispose](): void {
    this.operands[Symbol.dispose]()
  }

  /** Compiles for what the device is now, runs once, and looks at all memory afterwards. */
  async run(options: BatchOptions): Promise<Outcome[]> {
    const refused = new Map<number, unknown>()
    const { g, built } = this.graphWithout(refused)
    if (built.size === 0) return this.rows.map((_, i) => ({ results: [], refused: refused.get(i) }))
    const plan = schedule(g)
    const profile = this.profile(g, plan)
    const unsupported = plan.nodes.filter((_, i) => !profile[i]!.supported)
    if (unsupported.length > 0) {
      for (const { label } of unsupported) refused.set(Number(label), this.refusalOf(Number(label)))
      return await this.runWithout(refused, options)
    }
    return await this.execute({ g, plan, built, profile, refused }, options)
  }

  private async runWithout(refused: Map<number, unknown>, options: BatchOptions) {
    const { g, built } = this.graphWithout(refused)
    const plan = schedule(g)
    const profile = this.profile(g, plan)
    return await this.execute({ g, plan, built, profile, refused }, options)
  }

  /** All rows but the refused ones, to which those are added that have no shape. */
  private graphWithout(refused: Map<number, unknown>) {
    const g = new Graph()
    const built = new Map<number, Built>()
    for (const [index, drawn] of this.rows.entries()) {
      if (refused.has(index)) continue
      try {
        built.set(index, addRow(g, drawn, this.operands, index))
      } catch (error) {
        refused.set(index, error)
      }
    }
    return { g, built }
  }

  private profile(g: Graph, plan: Schedule) {
    const { number } = this.device
    const { image } = lower(
      g,
      plan,
      allocate(plan, () => 0),
      number,
    )
    return profileImage(number, image, plan.nodes.length)
  }

  /** What compiling the row by itself throws. */
  private refusalOf(index: number): unknown {
    const g = new Graph()
    addRow(g, this.rows[index]!, this.operands, index)
    try {
      compileLayout(g, this.device)
    } catch (error) {
      return error
    }
    return new Error('compile takes what profile refuses')
  }

  private async execute(
    work: {
      g: Graph
      plan: Schedule
      built: ReadonlyMap<number, Built>
      profile: readonly { scratchBytes: number }[]
      refused: ReadonlyMap<number, unknown>
    },
    options: BatchOptions,
  ): Promise<Outcome[]> {
    const { g, plan, built, profile, refused } = work
    const scratch = new Map(plan.nodes.map((node, i) => [node, profile[i]!.scratchBytes]))
    const places = spread(plan, built.values(), (node) => scratch.get(node) ?? 0)
    using arena = new Arena(this.device)
    arena.reserve(places.peakBytes)
    const { constants, state } = this.operands
    const { buffers } = this.operands
    const before = {
      constants: constants.paint(buffers.constants, options.pattern),
      state: state.paint(buffers.state, options.pattern),
      arena: places.canvas.paint(arena.buffer!, options.pattern),
    }
    const failed = await this.start(lower(g, plan, places, this.device.number), arena, options)
    const after = arena.buffer!.get()
    const stateAfter = buffers.state.get()
    const updated = this.updatedResults(built, before.state, stateAfter)
    const damages = [
      ...constants.damage(before.constants, buffers.constants.get()),
      ...state.damage(before.state, stateAfter),
      ...places.canvas.damage(before.arena, after),
    ]
    return this.rows.map((_, index) => {
      const outcome = outcomeOf(index, built.get(index), places, after)
      const results = updated.has(index) ? [updated.get(index)!] : outcome
      return {
        results,
        ...(refused.has(index) && { refused: refused.get(index) }),
        ...(failed !== undefined && { failed }),
        ...damageOf(index, damages),
      }
    })
  }

  /** Runs a program once; what it rejects with, or undefined. */
  private async start(
    layout: ConstructorParameters<typeof Program>[0],
    arena: Arena,
    o: BatchOptions,
  ) {
    using queue = this.device.createQueue()
    using program = new Program(layout, { queue, arena, threads: o.threads })
    try {
      const lease = await program.lease()
      lease.release()
      return undefined
    } catch (error) {
      return error
    }
  }

  /**
   * What lies in updated views; `before` gets the same, so that only what changed beside them is
   * damage.
   */
  private updatedResults(
    built: ReadonlyMap<number, Built>,
    before: Uint8Array,
    after: Uint8Array,
  ): Map<number, Outcome['results'][number]> {
    const results = new Map<number, Outcome['results'][number]>()
    for (const index of built.keys()) {
      const { row, memory } = this.rows[index]!
      const updated = ops[row.op].updates
      if (updated < 0) continue
      const { operand, base, value } = memory[updated]!
      const offset = this.operands.offsets[index]![updated]!
      const now = after.subarray(offset, offset + base.length)
      for (const [, at, size] of runsOf(operand)) {
        before.set(now.subarray(at, at + size), offset + at)
      }
      const { bytes } = valueIn(now, operand)
      results.set(index, { shape: value.shape, dtype: operand.dtype, bytes })
    }
    return results
  }
}

const outcomeOf = (
  _index: number,
  built: Built | undefined,
  places: Spread,
  arena: Uint8Array,
): Outcome['results'] =>
  (built?.outputs ?? []).flatMap((tensor) => {
    const offset = places.offsets.get(tensor)
    if (offset === undefined) return []
    const bytes = arena.slice(offset, offset + sizeBytes(tensor))
    return [{ shape: tensor.shape, dtype: tensor.dtype, bytes }]
  })

const damageOf = (index: number, damages: readonly Damage[]): { damage?: string } => {
  const own = damages.find(({ owner }) => owner === index)
  return own === undefined ? {} : { damage: own.problem }
}
