// Norms and softmax: rows of any length, epsilon and layout.
import type { OpName } from '../../../src/graph/params.ts'
import { gaps, type Operand, type RowDraft, type Values, whole } from '../row.ts'
import { edges, floats, layoutsOf, longEdges } from './sizes.ts'

/** Lengths and epsilons that the reference's own test has. */
const lengths = [64, 1025, 33, 132, 260]
const epsilons = [0, 1e-6, 1e-4, 0.1, 10]

/** What norms of rows share; `more` are the operands behind x, of its length. */
function* ofRows(op: OpName, more: (n: number) => readonly Operand[]): Generator<RowDraft> {
  const small = { epsilon: 1e-6 }
  for (const n of [...edges, ...longEdges]) {
    yield { op, params: small, operands: [whole('f32', [3, n])] }
    if (more(n).length > 0) {
      yield { op, params: small, operands: [whole('f32', [3, n]), ...more(n)] }
    }
  }
  for (const epsilon of epsilons) {
    const params = { epsilon }
    for (const n of lengths) {
      for (const x of layoutsOf('f32', [3, 4, 5, n])) yield { op, params, operands: [x] }
      yield { op, params, operands: [whole('f32', [3, 4, 5, n])], inPlace: 0 }
    }
    const lone: Values = { everyRow: 2, is: 0 }
    yield { op, params, operands: [whole('f32', [4, 100], lone)] }
    for (const size of [1e30, 1e-30, 1e19, 1e-19]) {
      const values: Values = { low: -size, high: size }
      yield { op, params, operands: [whole('f32', [4, 67], values)] }
    }
    yield { op, params, operands: [whole('f32', [5, 67], 'special')] }
  }
  const params = { epsilon: 1e-5 }
  yield { op, params, operands: [whole('f32', [5, 67], 'tiny')] }
  for (const shape of [[0], [4, 0], [0, 4]]) yield { op, params, operands: [whole('f32', shape)] }
  for (const dtype of floats) {
    if (dtype === 'f32') continue
    for (const x of layoutsOf(dtype, [3, 5, 67])) {
      yield { op, params, operands: [x], support: 'optional' }
    }
  }
  yield { op, params, operands: [whole('i32', [3, 8], 'whole')], support: 'refused' }
}

const vector = (n: number): Operand => whole('f32', [n])

function* rmsNorms(): Generator<RowDraft> {
  const op = 'rms_norm'
  const params = { epsilon: 1e-5 }
  yield* ofRows(op, (n) => [vector(n)])
  yield { op, params, operands: [whole('f32', [5, 67]), whole('f32', [67], 'special')] }
  for (const weight of layoutsOf('f32', [67])) {
    yield { op, params, operands: [whole('f32', [5, 67]), weight] }
  }
  yield { op, params, operands: [whole('f32', [3, 8]), vector(7)], support: 'refused' }
}

function* layerNorms(): Generator<RowDraft> {
  const op = 'layer_norm'
  const params = { epsilon: 1e-5 }
  yield* ofRows(op, (n) => [vector(n), vector(n)])
  for (const n of [1, 7, 16, 67, 1025]) {
    yield { op, params, operands: [whole('f32', [5, n]), vector(n)] }
    yield { op, params, operands: [whole('f32', [5, n]), undefined, vector(n)] }
  }
  // Means far from 0 cancel.
  const shifted: Values = { low: 1000, high: 1001 }
  yield { op, params, operands: [whole('f32', [5, 257], shifted)] }
  for (const weight of layoutsOf('f32', [67])) {
    yield { op, params, operands: [whole('f32', [5, 67]), weight, gaps('f32', [67])] }
  }
  yield { op, params, operands: [whole('f32', [3, 8]), vector(7)], support: 'refused' }
}

function* groupNorms(): Generator<RowDraft> {
  const op = 'group_norm'
  const normed = (x: Operand, groups: number, epsilon = 1e-6): RowDraft => ({
    op,
    params: { groups, epsilon },
    operands: [x],
  })
  for (const shape of [
    [1, 320, 16, 16],
    [1, 1280, 9, 9],
  ]) {
    yield normed(whole('f32', shape), 32)
  }
  for (const groups of [1, 2, 3, 4, 5, 8]) {
    for (const x of layoutsOf('f32', [2, 8, 5, 7])) yield normed(x, groups)
  }
  for (const [h, w] of [
    [1, 1],
    [1, 16],
    [3, 17],
    [2, 64],
    [1, 129],
  ] as const) {
    yield normed(whole('f32', [2, 6, h, w]), 3)
  }
  for (const values of ['special', 'huge', 'tiny', 'zero'] as const) {
    yield normed(whole('f32', [2, 6, 3, 9], values), 2, 1e-5)
  }
  for (const dtype of ['f16', 'bf16'] as const) {
    yield { ...normed(whole(dtype, [2, 6, 3, 9]), 2), support: 'optional' }
  }
  yield normed(whole('f32', [0, 4, 2, 3]), 2)
  yield normed(whole('f32', [2, 4, 2, 0]), 2)
  for (const groups of [0, 9]) {
    yield { ...normed(whole('f32', [2, 8, 2, 3]), groups), support: 'refused' }
  }
}

/** Sizes of x [batches, heads, rows, keys] that the reference's own test has. */
const softMaxShapes = [
  [1, 1, 16, 16],
  [1, 1, 15, 15],
  [3, 2, 16, 16],
  [1, 1, 64, 16],
  [1, 1, 63, 15],
  [1, 1, 16, 1024],
  [1, 1, 15, 1023],
  [1, 4, 2, 32],
  [3, 2, 15, 15],
  [1, 1, 1, 8193],
]

function* softMaxes(): Generator<RowDraft> {
  const op = 'soft_max'
  const infinity = Number.NEGATIVE_INFINITY
  const causal: Values = { list: [0, 0, infinity, 0, infinity, -1, 0.5] }
  for (const scale of [1, 0.1]) {
    for (const alibi_max of [0, 8]) {
      const params = { scale, alibi_max }
      for (const shape of softMaxShapes) {
        const [batches, heads, rows, keys] = shape as [number, number, number, number]
        const x = whole('f32', shape)
        if (alibi_max === 0) yield { op, params, operands: [x] }
        for (const mask of ['f32', 'f16'] as const) {
          const whole4 = whole(mask, [batches, heads, rows, keys])
          const shared = whole(mask, [1, 1, rows, keys], causal)
          yield { op, params, operands: [x, whole4] }
          yield { op, params, operands: [x, shared, vector(heads)] }
          yield { op, params, operands: [x, whole(mask, [1, 1, rows + 3, keys])] }
        }
        yield { op, params, operands: [x, undefined, vector(heads)] }
      }
      for (const heads of [1, 2, 3, 6, 12, 20]) {
        const operands = [whole('f32', [1, heads, 3, 33]), whole('f32', [3, 33])]
        yield { op, params, operands }
      }
    }
  }
  const params = { scale: 0.25, alibi_max: 0 }
  for (const n of [...edges, ...longEdges]) yield { op, params, operands: [whole('f32', [3, n])] }
  for (const x of layoutsOf('f32', [2, 3, 5, 37])) {
    yield { op, params, operands: [x] }
    yield { op, params, operands: [x, gaps('f16', [1, 3, 5, 37], causal), vector(3)] }
    yield { op, params, operands: [whole('f32', [2, 3, 5, 37]), x] }
  }
  yield { op, params, operands: [whole('f32', [5, 33])], inPlace: 0 }
  const hidden: Values = { everyRow: 2, is: infinity }
  yield { op, params, operands: [whole('f32', [6, 33]), whole('f32', [6, 33], hidden)] }
  yield { op, params, operands: [whole('f32', [6, 33], hidden), undefined, vector(1)] }
  for (const values of ['special', 'huge', 'tiny', 'zero'] as const) {
    yield { op, params, operands: [whole('f32', [6, 33], values)] }
    yield { op, params: { ...params, scale: 1 }, operands: [whole('f32', [6, 70], values)] }
  }
  const far: Values = { low: -200, high: 200 }
  yield { op, params: { ...params, scale: 1 }, operands: [whole('f32', [6, 70], far)] }
  for (const dtype of ['f16', 'bf16'] as const) {
    for (const x of layoutsOf(dtype, [3, 5, 40])) {
      yield { op, params, operands: [x], support: 'optional' }
    }
  }
  for (const shape of [[0], [3, 0], [0, 3]]) yield { op, params, operands: [whole('f32', shape)] }
  for (const mask of [
    [4, 8],
    [3, 7],
    [2, 3, 8],
  ]) {
    const operands = [whole('f32', [3, 5, 8]), whole('f32', mask)]
    yield { op, params, operands, support: 'refused' }
  }
}

export function* norm(): Generator<RowDraft> {
  yield* rmsNorms()
  yield* layerNorms()
  yield* ofRows('l2_norm', () => [])
  yield* groupNorms()
  yield* softMaxes()
}
