// rms_norm: rows of any length, epsilon and layout.
import { type RowDraft, type Values, whole } from '../row.ts'
import { edges, floats, layoutsOf, longEdges } from './sizes.ts'

const op = 'rms_norm'

export function* norm(): Generator<RowDraft> {
  for (const n of [...edges, ...longEdges]) {
    const params = { epsilon: 1e-6 }
    yield { op, params, operands: [whole('f32', [3, n])] }
    yield { op, params, operands: [whole('f32', [3, n]), whole('f32', [n])] }
  }
  for (const epsilon of [0, 1e-6, 1e-4, 0.1, 10]) {
    const params = { epsilon }
    for (const n of [64, 1025, 33, 132, 260]) {
      for (const x of layoutsOf('f32', [3, 4, 5, n])) yield { op, params, operands: [x] }
      yield { op, params, operands: [whole('f32', [3, 4, 5, n]), whole('f32', [n])] }
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
  yield { op, params, operands: [whole('f32', [5, 67]), whole('f32', [67], 'special')] }
  for (const weight of layoutsOf('f32', [67])) {
    yield { op, params, operands: [whole('f32', [5, 67]), weight] }
  }
  for (const shape of [[0], [4, 0], [0, 4]]) {
    yield { op, params, operands: [whole('f32', shape)] }
  }
  for (const dtype of floats) {
    if (dtype === 'f32') continue
    for (const x of layoutsOf(dtype, [3, 5, 67])) {
      yield { op, params, operands: [x], support: 'optional' }
    }
  }
  yield { op, params, operands: [whole('f32', [3, 8]), whole('f32', [7])], support: 'refused' }
  yield { op, params, operands: [whole('i32', [3, 8])], support: 'refused' }
}
