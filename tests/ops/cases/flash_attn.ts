// flash_attn: attention with a mask that the graph brings.
import type { Params } from '../../../src/graph/params.ts'
import type { DType } from '../../../src/native/dtype.ts'
import { gaps, type Operand, permuted, type RowDraft, type Values, whole } from '../row.ts'
import { blockOf, floats } from './sizes.ts'

const op = 'flash_attn'

interface Setup {
  headDim?: number
  valueDim?: number
  heads?: number
  kvHeads?: number
  batches?: number
  kvBatches?: number
  rows?: number
  keys?: number
  keyType?: DType
  valueType?: DType
  /** Sizes of the mask's outer dimensions; without it there is none. */
  mask?: { type?: DType; batches?: number; heads?: number; more?: number; values?: Values }
  sinks?: boolean
  queries?: Values
  params?: Partial<Params>
  make?: (dtype: DType, shape: readonly number[], values?: Values) => Operand
}

const infinity = Number.NEGATIVE_INFINITY
const hidden: Values = { list: [0, 0, infinity, -0.5, infinity, infinity, 0.25] }

/** Heads between the rows, as a projection leaves them. */
const betweenRows = (dtype: DType, shape: readonly number[], values?: Values): Operand =>
  permuted(dtype, shape, [0, 2, 1, 3], values)

const attended = (setup: Setup): RowDraft => {
  const { headDim = 64, valueDim = headDim, heads = 4, kvHeads = heads, batches = 1 } = setup
  const { kvBatches = batches, rows = 3, keys = 40, keyType = 'f16', make = whole } = setup
  const { valueType = keyType, mask, sinks } = setup
  const params = { scale: 1 / Math.sqrt(headDim), alibi_max: 0, softcap: 0, ...setup.params }
  const operands: (Operand | undefined)[] = [
    make('f32', [batches, heads, rows, headDim], setup.queries ?? 'normal'),
    make(keyType, [kvBatches, kvHeads, keys, headDim]),
    make(valueType, [kvBatches, kvHeads, keys, valueDim]),
  ]
  if (mask !== undefined) {
    const shape = [mask.batches ?? 1, mask.heads ?? 1, rows + (mask.more ?? 0), keys]
    operands.push(whole(mask.type ?? 'f16', shape, mask.values ?? 'normal'))
  }
  if (sinks) {
    if (mask === undefined) operands.push(undefined)
    operands.push(whole('f32', [heads]))
  }
  return { op, dtype: keyType, params: params as Params, operands }
}

function* shapes(): Generator<RowDraft> {
  for (const [headDim, valueDim] of [
    [40, 40],
    [64, 64],
    [72, 72],
    [80, 80],
    [96, 96],
    [128, 128],
    [192, 128],
    [192, 192],
    [256, 256],
    [320, 256],
    [512, 512],
    [576, 512],
    [1, 1],
    [7, 3],
    [33, 31],
  ] as const) {
    for (const rows of [1, 3, 35]) {
      yield attended({ headDim, valueDim, rows, mask: {} })
      yield attended({ headDim, valueDim, rows, keyType: 'f32' })
    }
  }
  for (const [heads, kvHeads] of [
    [1, 1],
    [4, 1],
    [8, 2],
    [12, 4],
    [16, 16],
    [20, 1],
  ] as const) {
    for (const [batches, kvBatches] of [
      [1, 1],
      [3, 3],
      [6, 2],
    ] as const) {
      for (const rows of [1, 5]) {
        const mask = { batches: kvBatches, heads: 1 }
        yield attended({ heads, kvHeads, batches, kvBatches, rows, headDim: 32, mask })
      }
    }
  }
  for (const rows of [1, 2, 7, 8, 16, 31, 32, 33, 64, 75, 130]) {
    yield attended({ rows, headDim: 16, mask: { more: rows % 2 } })
  }
  for (const keys of [1, 2, 3, 63, 64, 65, 113, 127, 128, 129, 256, 512, 1025]) {
    for (const rows of [1, 32]) {
      yield attended({ keys, rows, headDim: 16, mask: {} })
      yield attended({ keys, rows, headDim: 16, keyType: 'f32', sinks: true })
    }
  }
  yield attended({ keys: 16384, rows: 1, heads: 2, headDim: 40, mask: {} })
}

function* weighing(): Generator<RowDraft> {
  for (const alibi_max of [0, 8]) {
    for (const softcap of [0, 10, 30]) {
      const params = { alibi_max, softcap }
      for (const type of floats) {
        for (const [maskBatches, maskHeads] of [
          [1, 1],
          [2, 1],
          [1, 6],
          [2, 3],
        ] as const) {
          const mask = { type, batches: maskBatches, heads: maskHeads, values: hidden }
          yield attended({ params, batches: 2, heads: 6, kvHeads: 3, headDim: 32, mask })
          yield attended({ params, batches: 2, heads: 6, headDim: 24, mask, sinks: true })
        }
      }
      yield attended({ params, headDim: 32, rows: 20, keys: 200 })
    }
  }
  for (const heads of [1, 2, 3, 5, 12]) {
    const params = { alibi_max: 8 }
    yield attended({ params, heads, headDim: 16, mask: {} })
  }
  const nothing: Values = { list: [infinity] }
  for (const sinks of [false, true]) {
    for (const rows of [1, 40]) {
      yield attended({ rows, keys: 130, headDim: 16, mask: { values: nothing }, sinks })
      const some: Values = { everyRow: 2, is: infinity }
      yield attended({ rows, keys: 130, headDim: 16, mask: { values: some }, sinks })
    }
  }
  const far: Values = { low: -200, high: 200 }
  yield attended({ queries: far, keys: 130, mask: {} })
  yield attended({ queries: 'zero', keys: 130, mask: {} })
  yield attended({ queries: 'special', keys: 70 })
  for (const scale of [0, 1, -0.5]) yield attended({ params: { scale }, headDim: 16, keys: 70 })
}

const caches = [
  ...floats,
  'q8_0',
  'q4_0',
  'q4_1',
  'q5_0',
  'q5_1',
  'iq4_nl',
  'q1_0',
  'q2_0',
] as const satisfies readonly DType[]

function* formats(): Generator<RowDraft> {
  for (const keyType of caches) {
    for (const valueType of caches) {
      const headDim = Math.max(64, blockOf(keyType), blockOf(valueType))
      const same = keyType === valueType
      for (const rows of same ? [1, 3, 35] : [4]) {
        yield attended({ keyType, valueType, headDim, rows, keys: 70, kvHeads: 2, mask: {} })
      }
    }
    const headDim = Math.max(64, blockOf(keyType))
    for (const make of [betweenRows, gaps]) {
      yield attended({ keyType, headDim, rows: 4, make, mask: {} })
      yield attended({ keyType, headDim, rows: 33, make, batches: 2 })
    }
    if (blockOf(keyType) > 1) continue
    for (const dim of [8, 12, 20, 100]) yield attended({ keyType, headDim: dim, mask: {} })
  }
  for (const empty of [{ rows: 0 }, { keys: 0 }, { batches: 0, kvBatches: 1 }]) {
    yield attended({ ...empty, headDim: 16 })
  }
}

function* refused(): Generator<RowDraft> {
  const good = attended({ headDim: 16, heads: 4, mask: {} })
  const bad: [operand: number, instead: Operand][] = [
    [0, whole('f16', [1, 4, 3, 16])],
    [1, whole('f16', [1, 3, 40, 16])],
    [1, whole('f16', [1, 4, 40, 15])],
    [2, whole('f16', [1, 4, 41, 16])],
    [3, whole('f16', [1, 1, 2, 40])],
    [3, whole('f16', [1, 1, 3, 39])],
    [3, whole('i32', [1, 1, 3, 40], 'whole')],
  ]
  for (const [operand, instead] of bad) {
    const operands = good.operands.map((x, i) => (i === operand ? instead : x))
    yield { ...good, operands, support: 'refused' }
  }
}

export function* flashAttention(): Generator<RowDraft> {
  yield* shapes()
  yield* weighing()
  yield* formats()
  yield* refused()
}
