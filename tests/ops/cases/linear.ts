// linear: products with weights of every format.
import type { DType } from '../../../src/native/dtype.ts'
import { gaps, type Operand, permuted, type RowDraft, whole } from '../row.ts'
import { blockOf, edges, floats, isCut, layoutsOf, quantized } from './sizes.ts'

const op = 'linear'

/** Formats whose weights the reference multiplies, and those beyond. */
const weightTypes: readonly DType[] = [...floats, ...quantized]

const supportOf = (dtype: DType) =>
  dtype === 'q8_1' || dtype === 'q8_K' ? ('optional' as const) : ('required' as const)

/** Weight [n, k], x [m, k], and a bias for every other row. */
const product = (dtype: DType, [n, k, m]: readonly [number, number, number]): RowDraft => ({
  op,
  dtype,
  support: supportOf(dtype),
  operands: [
    whole(dtype, [n, k]),
    whole('f32', [m, k]),
    ...(n % 2 === 1 ? [whole('f32', [n])] : []),
  ],
})

/** Rows of weights and of x around the tiles of kernels. */
const rowCounts = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 63, 64, 65, 71]
const columnCounts = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 23, 24, 25, 31, 32, 33, 64, 65,
]

function* sizes(dtype: DType): Generator<RowDraft> {
  const unit = Math.max(32, blockOf(dtype))
  for (const n of rowCounts) {
    for (const m of [1, 2, 5, 16]) yield product(dtype, [n, unit, m])
  }
  for (const m of columnCounts) {
    for (const n of [1, 6, 33]) yield product(dtype, [n, unit, m])
  }
  for (const blocks of unit === 256 ? [2, 3, 4, 5, 9] : [2, 3, 4, 5, 7, 8, 9, 31, 32, 33]) {
    for (const m of [1, 3, 17]) yield product(dtype, [5, blocks * unit, m])
  }
  yield product(dtype, [130, 2 * unit, 37])
  yield product(dtype, [300, unit, 130])
  yield product(dtype, [3, 4096, 2])
  yield product(dtype, [3, 4096 + unit, 9])
  if (blockOf(dtype) > 1) return
  for (const k of [...edges, 1057, 2048, 2049]) {
    yield product(dtype, [5, k, 1])
    yield product(dtype, [6, k, 7])
  }
}

function* layouts(dtype: DType): Generator<RowDraft> {
  const unit = Math.max(64, blockOf(dtype))
  const support = supportOf(dtype)
  for (const weight of layoutsOf(dtype, [9, unit])) {
    const taken = isCut(weight) ? 'optional' : support
    for (const m of [1, 5]) {
      yield { op, dtype, support: taken, operands: [weight, whole('f32', [m, unit])] }
    }
  }
  for (const x of layoutsOf('f32', [2, 5, unit])) {
    const taken = isCut(x) ? 'optional' : support
    yield { op, dtype, support: taken, operands: [whole(dtype, [7, unit]), x] }
  }
  // As attention has them: heads between the rows, several query heads on one kv head.
  yield {
    op,
    dtype,
    support,
    operands: [permuted(dtype, [2, 9, unit], [1, 0, 2]), permuted('f32', [4, 3, unit], [1, 0, 2])],
  }
  const batches: [number[], number[]][] = [
    [
      [1, 3, 4],
      [1, 3, 2],
    ],
    [
      [2, 1, 3],
      [4, 3, 5],
    ],
    [
      [2, 3, 3],
      [2, 6, 5],
    ],
    [
      [3, 2, 3],
      [3, 2, 1],
    ],
    [
      [1, 1, 3],
      [2, 2, 1],
    ],
    [
      [1, 2, 17],
      [2, 4, 9],
    ],
  ]
  for (const [w, x] of batches) {
    for (const make of [whole, gaps]) {
      const operands: Operand[] = [make(dtype, [...w, unit]), make('f32', [...x, unit])]
      yield { op, dtype, support, operands }
    }
  }
}

function* values(dtype: DType): Generator<RowDraft> {
  const unit = Math.max(64, blockOf(dtype))
  const support = supportOf(dtype)
  for (const kind of ['tiny', 'zero', 'whole', 'uniform'] as const) {
    yield {
      op,
      dtype,
      support,
      operands: [whole(dtype, [5, unit]), whole('f32', [3, unit], kind)],
    }
  }
  for (const m of [1, 9]) {
    const notFinite = { list: [...new Array(70).fill(0.5), Number.NaN, Number.POSITIVE_INFINITY] }
    yield {
      op,
      dtype,
      support,
      operands: [whole(dtype, [5, unit]), whole('f32', [m, unit], notFinite)],
    }
  }
  const empty: [number[], number[]][] = [
    [
      [5, unit],
      [0, unit],
    ],
    [
      [0, unit],
      [3, unit],
    ],
    [
      [5, 0],
      [3, 0],
    ],
    [
      [0, 0],
      [0, 0],
    ],
  ]
  for (const [w, x] of empty) {
    yield { op, dtype, support, operands: [whole(dtype, w), whole('f32', x)] }
  }
  yield {
    op,
    dtype,
    support,
    operands: [whole(dtype, [5, 0]), whole('f32', [3, 0]), whole('f32', [5])],
    note: 'bias alone',
  }
  if (blockOf(dtype) > 1) return
  for (const kind of ['special', 'tiny', 'huge'] as const) {
    yield { op, dtype, operands: [whole(dtype, [7, 33], kind), whole('f32', [4, 33], 'uniform')] }
  }
}

/** Activations that are 8-bit numbers already: nothing is rounded but the sums. */
function* exactActivations(dtype: DType): Generator<RowDraft> {
  const unit = Math.max(32, blockOf(dtype))
  for (const [n, m, blocks] of [
    [1, 1, 1],
    [5, 1, 3],
    [33, 2, 2],
    [64, 8, 1],
    [71, 17, 2],
    [16, 33, 4],
    [3, 5, 17],
  ] as const) {
    yield {
      op,
      dtype,
      support: 'optional',
      operands: [
        whole(dtype, [n, blocks * unit]),
        whole('q8_row', [m, blocks * unit]),
        ...(n % 2 === 1 ? [gaps('f32', [n])] : []),
      ],
    }
  }
  yield {
    op,
    dtype,
    support: 'optional',
    operands: [whole(dtype, [2, 9, unit], 'golden'), whole('q8_row', [4, 9, unit])],
  }
}

function* refused(): Generator<RowDraft> {
  const support = 'refused'
  yield { op, operands: [whole('f32', [3, 8]), whole('f32', [3, 7])], support }
  yield { op, operands: [whole('q8_0', [3, 64]), whole('f32', [3, 32])], support }
  yield { op, operands: [whole('f32', [3, 3, 8]), whole('f32', [2, 3, 8])], support }
  yield { op, operands: [whole('f32', [3, 8]), whole('f32', [3, 8]), whole('f32', [4])], support }
  yield { op, operands: [whole('i32', [3, 8]), whole('f32', [3, 8])], support }
  yield { op, operands: [whole('f32', [3, 8]), whole('i32', [3, 8])], support }
}

export function* linear(): Generator<RowDraft> {
  for (const dtype of weightTypes) {
    yield* sizes(dtype)
    yield* layouts(dtype)
    yield* values(dtype)
    if (blockOf(dtype) > 1) yield* exactActivations(dtype)
  }
  yield* refused()
}
