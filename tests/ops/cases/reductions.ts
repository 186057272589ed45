// Sums, positions and orders of rows.
import type { OpName } from '../../../src/graph/params.ts'
import { type Operand, type RowDraft, type Values, whole } from '../row.ts'
import { edges, fewEdges, floats, layoutsOf, longEdges } from './sizes.ts'

const extremes: readonly Values[] = ['special', 'tiny', 'huge', 'zero', 'whole']

/** Rows of every length, layout and kind of value. */
function* overRows(
  op: OpName,
  shapes: readonly (readonly number[])[],
  rank = 4,
): Generator<RowDraft> {
  for (const dtype of floats) {
    const row = (x: Operand): RowDraft => ({
      op,
      operands: [x],
      support: dtype === 'f32' ? 'required' : 'optional',
    })
    for (const n of dtype === 'f32' ? [...edges, ...longEdges] : fewEdges) {
      yield row(whole(dtype, [3, n]))
    }
    for (const x of layoutsOf(dtype, [2, 3, 5, 37].slice(4 - rank))) yield row(x)
    for (const shape of shapes) yield row(whole(dtype, shape))
    for (const values of extremes) yield row(whole(dtype, [9, 77], values))
    if (op !== 'argmax') {
      for (const shape of [[0], [3, 0]]) yield row(whole(dtype, shape))
    }
    yield row(whole(dtype, [0, 3]))
  }
  yield { op, operands: [whole('i32', [8], 'whole')], support: 'refused' }
}

const sumShapes = [
  [3, 4, 5, 10],
  [3, 6, 5, 11],
  [3, 6, 5, 16],
  [1, 33],
  [256, 33],
  [1024, 33],
]
const meanShapes = [
  [3, 4, 5, 10],
  [1, 33],
  [256, 33],
  [1, 32769],
  [256, 32],
  [1, 32768],
]
const cumsumShapes = [127, 128, 255, 256, 511, 512, 1023, 1024, 2047].map((n) => [3, 4, 5, n])

/** Rows whose values are few, so that many are equal. */
const ties: Values = { list: [3, 1, 2, 3, 0, -0, 1, 3, Number.NaN, -5, 2] }
const noNumber: Values = { list: [Number.NaN] }
const allSmallest: Values = { list: [Number.NEGATIVE_INFINITY, Number.NaN] }

const sortLengths = [
  1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 65, 127, 128, 255, 256, 511, 512, 1023, 1024, 2047,
  2048, 4097, 10000,
]

function* orders(): Generator<RowDraft> {
  for (const descending of [0, 1]) {
    const params = { descending }
    const row = (x: Operand, support: RowDraft['support'] = 'required'): RowDraft => ({
      op: 'argsort',
      params,
      operands: [x],
      ...(support && { support }),
    })
    for (const n of sortLengths) yield row(whole('f32', [3, n]))
    for (const shape of [
      [1, 3, 2, 60],
      [2, 3, 16, 16],
      [1, 1, 1023, 2],
    ]) {
      yield row(whole('f32', shape))
    }
    for (const x of layoutsOf('f32', [2, 3, 5, 37])) yield row(x)
    for (const values of [...extremes, ties, noNumber]) {
      for (const n of [13, 65, 300]) yield row(whole('f32', [5, n], values))
    }
    for (const dtype of ['f16', 'bf16'] as const) {
      for (const x of layoutsOf(dtype, [3, 70])) yield row(x, 'optional')
    }
    for (const shape of [[0], [3, 0], [0, 3]]) yield row(whole('f32', shape))
  }
  yield {
    op: 'argsort',
    params: { descending: 2 },
    operands: [whole('f32', [4])],
    support: 'refused',
  }
}

function* largest(): Generator<RowDraft> {
  const row = (x: Operand, k: number): RowDraft => ({ op: 'top_k', params: { k }, operands: [x] })
  for (const n of sortLengths) {
    for (const k of [1, 2, 7, 40, 100, 1023, 9999]) {
      if (k <= n) yield row(whole('f32', [3, n]), k)
    }
    yield row(whole('f32', [2, 1, n]), n)
  }
  for (const k of [1, 3, 15, 37]) {
    for (const x of layoutsOf('f32', [2, 3, 5, 37])) yield row(x, k)
  }
  for (const k of [1, 5, 60]) {
    for (const values of [...extremes, ties, noNumber]) {
      for (const n of [64, 130, 700]) yield row(whole('f32', [5, n], values), k)
    }
  }
  for (const dtype of ['f16', 'bf16'] as const) {
    yield { ...row(whole(dtype, [5, 90]), 4), support: 'optional' }
  }
  yield row(whole('f32', [0, 5]), 2)
  for (const k of [0, 6]) yield { ...row(whole('f32', [2, 5]), k), support: 'refused' }
}

function* positions(): Generator<RowDraft> {
  const op = 'argmax'
  const shapes = [
    [1, 32],
    [513, 32],
    [10, 100],
    [10, 1024],
    [12, 1024],
    [10, 2000],
    [3, 5438],
  ]
  yield* overRows(op, shapes, 2)
  for (const values of [ties, noNumber, allSmallest]) {
    for (const n of [1, 7, 64, 77]) yield { op, operands: [whole('f32', [5, n], values)] }
  }
  yield { op, operands: [whole('f32', [3, 0])], support: 'refused' }
  yield { op, operands: [whole('f32', [2, 3, 4])], support: 'refused' }
}

function* counts(): Generator<RowDraft> {
  const op = 'count_equal'
  const few: Values = { below: 3 }
  for (const n of [...edges, ...longEdges]) {
    yield { op, operands: [whole('i32', [3, n], few), whole('i32', [3, n], few)] }
  }
  for (const shape of [
    [500, 4],
    [5000, 4],
    [3, 4, 5, 33],
  ]) {
    yield { op, operands: [whole('i32', shape, few), whole('i32', shape, few)] }
  }
  for (const x of layoutsOf('i32', [2, 3, 5, 37], few)) {
    yield { op, operands: [x, whole('i32', [2, 3, 5, 37], few)] }
    yield { op, operands: [whole('i32', [2, 3, 5, 37], few), x] }
  }
  yield { op, operands: [whole('i32', [0]), whole('i32', [0])] }
  yield { op, operands: [whole('f32', [4]), whole('f32', [4])], support: 'refused' }
  yield { op, operands: [whole('i32', [4]), whole('i32', [5])], support: 'refused' }
}

export function* reductions(): Generator<RowDraft> {
  yield* overRows('sum', sumShapes)
  yield* overRows('sum_rows', sumShapes)
  yield* overRows('mean', meanShapes)
  yield* overRows('cumsum', [[3, 4, 5, 10], [4, 4, 128, 128], ...cumsumShapes])
  yield { op: 'cumsum', operands: [whole('f32', [3, 100])], inPlace: 0 }
  yield* positions()
  yield* counts()
  yield* orders()
  yield* largest()
}
