// attention: a paged cache with several sequences in shuffled blocks, and every way to weigh cells.
import type { Params } from '../../../src/graph/params.ts'
import type { DType } from '../../../src/native/dtype.ts'
import { Random, seedOf } from '../random.ts'
import { gaps, type Operand, permuted, type RowDraft, type Values, whole } from '../row.ts'
import { blockOf, floats } from './sizes.ts'

const op = 'attention'

export interface Setup {
  headDim?: number
  valueDim?: number
  heads?: number
  kvHeads?: number
  rows?: number
  keys?: DType
  values?: DType
  /** Cells of each sequence. */
  lengths?: readonly number[]
  /** Blocks that the table has for each sequence. */
  blocks?: number
  sinks?: boolean
  queries?: Values
  params?: Partial<Params>
  make?: typeof whole
}

const defaults: Params = {
  scale: 0.125,
  block_size: 16,
  causal: 1,
  window: 0,
  softcap: 0,
  alibi_max: 0,
}

/** Blocks of all sequences in a random order, with two that nobody has. */
const paged = (lengths: readonly number[], blocks: number, size: number, random: Random) => {
  const count = blocks * lengths.length + 2
  const order = random.shuffle(Array.from({ length: count }, (_, i) => i))
  const table = lengths.flatMap((_, s) => order.slice(s * blocks, (s + 1) * blocks))
  const positions = new Array<number>(count * size).fill(-1)
  for (const [s, length] of lengths.entries()) {
    for (let i = 0; i < length; i++) {
      // Some cells are empty, as after a part of the sequence was removed.
      if (i % 11 === 3) continue
      positions[table[s * blocks + Math.floor(i / size)]! * size + (i % size)] = i
    }
  }
  return { count, table, positions }
}

export const attended = (setup: Setup, note = ''): RowDraft => {
  const { headDim = 64, valueDim = headDim, heads = 4, kvHeads = 2, rows = 5 } = setup
  const { keys = 'f32', values = 'f32', lengths = [0, 70, 21], make = whole } = setup
  const params = { ...defaults, ...(setup.params as Params) }
  const size = params.block_size!
  const blocks = setup.blocks ?? Math.ceil(Math.max(...lengths) / size)
  const random = new Random(seedOf(JSON.stringify(setup)))
  const { count, table, positions } = paged(lengths, blocks, size, random)
  const longest = Math.max(1, ...lengths)
  const sequences = Array.from({ length: rows }, () => random.below(lengths.length))
  const own = sequences.map(() => random.below(longest))
  const list = (numbers: number[]): Values => ({ list: numbers.length === 0 ? [0] : numbers })
  const operands: (Operand | undefined)[] = [
    make('f32', [rows, heads, headDim], setup.queries ?? 'normal'),
    make(keys, [count * size, kvHeads * headDim]),
    make(values, [count * size, kvHeads * valueDim]),
    whole('i32', [count * size], list(positions)),
    whole('i32', [rows], list(own)),
    whole('i32', [rows], list(sequences)),
    whole('i32', [lengths.length], list([...lengths])),
    whole('i32', [lengths.length, blocks], list(table)),
  ]
  if (setup.sinks) operands.push(whole('f32', [heads]))
  const dims = `${headDim}/${valueDim} heads ${heads}/${kvHeads} lengths ${lengths}`
  return { op, dtype: keys, params, operands, note: `${dims} ${note}`.trim() }
}

function* shapes(): Generator<RowDraft> {
  for (const [headDim, valueDim] of [
    [64, 64],
    [40, 40],
    [72, 72],
    [80, 80],
    [96, 96],
    [128, 128],
    [192, 128],
    [256, 256],
    [320, 256],
    [512, 512],
    [576, 512],
    [1, 1],
    [7, 3],
    [24, 40],
    [31, 33],
  ] as const) {
    for (const rows of [1, 3, 35]) yield attended({ headDim, valueDim, rows })
  }
  for (const [heads, kvHeads] of [
    [1, 1],
    [4, 4],
    [8, 1],
    [12, 4],
    [6, 2],
    [20, 1],
    [16, 16],
  ] as const) {
    for (const rows of [1, 9, 40]) yield attended({ heads, kvHeads, rows, headDim: 32 })
  }
  for (const rows of [0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 130]) {
    yield attended({ rows, headDim: 16 })
  }
  for (const length of [1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 513, 1100]) {
    for (const rows of [1, 6, 20]) yield attended({ lengths: [length, 3], rows, headDim: 16 })
  }
  for (const block_size of [1, 3, 16, 32, 64, 110]) {
    yield attended({ params: { block_size }, headDim: 32 })
    yield attended({ params: { block_size }, headDim: 32, lengths: [600, 599], rows: 4 })
  }
}

function* weighing(): Generator<RowDraft> {
  for (const causal of [0, 1]) {
    for (const window of [0, 1, 20]) {
      for (const softcap of [0, 2, 30]) {
        for (const alibi_max of [0, 8]) {
          const params = { causal, window, softcap, alibi_max }
          for (const lengths of [
            [70, 21],
            [700, 40],
          ]) {
            yield attended({ params, lengths, headDim: 32, rows: 6, sinks: window === 20 })
          }
          yield attended({ params, headDim: 24, heads: 6, rows: 40, sinks: softcap === 2 })
        }
      }
    }
  }
  for (const heads of [1, 2, 3, 5, 8, 12]) {
    const setup = { heads, kvHeads: 1, headDim: 32, params: { alibi_max: 8 } }
    yield attended({ ...setup, rows: 5 })
    yield attended({ ...setup, rows: 30 })
  }
  // Nothing to see: an empty sequence, with and without a sink.
  yield attended({ lengths: [0], blocks: 2, rows: 3 })
  yield attended({ lengths: [0], blocks: 2, rows: 3, sinks: true })
  for (const scale of [0, 1, -0.5]) yield attended({ params: { scale }, headDim: 16, rows: 9 })
  const far: Values = { low: -200, high: 200 }
  for (const rows of [2, 20]) {
    yield attended({ queries: far, rows, lengths: [130, 64] }, 'large scores')
    yield attended({ queries: 'zero', rows, lengths: [700, 64] }, 'equal scores')
  }
}

function* caches(): Generator<RowDraft> {
  const formats: DType[] = ['q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'iq4_nl', 'q1_0', 'q2_0']
  for (const keys of [...floats, ...formats]) {
    for (const values of [...floats, ...formats]) {
      const unit = Math.max(64, blockOf(keys), blockOf(values))
      const same = keys === values
      for (const rows of same ? [1, 5, 9, 40] : [2, 20]) {
        yield attended({ keys, values, rows, headDim: unit })
        if (same) yield attended({ keys, values, rows, headDim: unit, lengths: [600, 9] })
      }
    }
    if (blockOf(keys) > 1) continue
    for (const headDim of [8, 12, 20, 33, 100]) {
      yield attended({ keys, values: keys, headDim, rows: 3 })
    }
  }
  yield attended({ make: gaps, rows: 9 }, 'gaps')
  yield attended({ make: gaps, keys: 'f16', values: 'q8_0', rows: 3 }, 'gaps')
  const row = attended({ rows: 6, headDim: 32 })
  const [, ...rest] = row.operands
  yield { ...row, operands: [permuted('f32', [6, 4, 32], [1, 0, 2]), ...rest], note: 'permuted' }
}

/** Indices outside what they point at: the sequence of a row, a length, a block. */
function* faults(): Generator<RowDraft> {
  const row = attended({ rows: 4, headDim: 16, lengths: [70, 21] })
  const bad: [operand: number, values: number[]][] = [
    [5, [0, 2, 1, 0]],
    [5, [0, -1, 1, 0]],
    [6, [81, 21]],
    [6, [70, -1]],
    [7, [99, 1, 2, 3, 4]],
    [7, [-1, 1, 2, 3, 4]],
  ]
  for (const [operand, list] of bad) {
    const operands = row.operands.map((entry, i) =>
      i === operand
        ? { ...entry!, values: { list } }
        : i === 5 && operand !== 5
          ? firstRows
          : entry,
    )
    yield { ...row, operands, fault: true, note: `${row.note} fault in ${operand}: ${list}` }
  }
}

const firstRows: Operand = whole('i32', [4], { list: [0, 1, 0, 1] })

export function* attention(): Generator<RowDraft> {
  yield* shapes()
  yield* weighing()
  yield* caches()
  yield* faults()
}
