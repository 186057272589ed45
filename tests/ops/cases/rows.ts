// copy, get_rows, set_rows, quantize_row: values move between places and formats.
import type { DType } from '../../../src/native/dtype.ts'
import { dtypes } from '../../../src/native/ops.gen.ts'
import {
  gaps,
  narrowGaps,
  type Operand,
  permuted,
  type RowDraft,
  type Support,
  type Values,
  whole,
} from '../row.ts'
import {
  blockOf,
  edges,
  fewEdges,
  floats,
  goldenOnly,
  isCut,
  layoutsOf,
  longEdges,
  needImportance,
  quantized,
  ruled,
} from './sizes.ts'

const integers = ['i8', 'i16', 'i32', 'i64'] as const

const copied = (x: Operand, to: DType, support: Support = 'required'): RowDraft => ({
  op: 'copy',
  dtype: to,
  operands: [x],
  params: { dtype: dtypes[to].code },
  support,
  note: `to ${to}`,
})

/** Rows of whole blocks of a format, around the sizes that kernels cut them into. */
const blockLengths = (dtype: DType): number[] => {
  const unit = blockOf(dtype)
  const counts = unit === 256 ? [1, 2, 3, 17] : [1, 2, 3, 5, 16, 17, 129]
  return counts.map((count) => count * unit)
}

function* copies(): Generator<RowDraft> {
  for (const from of floats) {
    for (const to of floats) {
      const lengths = from === to ? [...edges, ...longEdges] : [...fewEdges, ...longEdges]
      for (const n of lengths) yield copied(whole(from, [3, n]), to)
      for (const values of ['special', 'tiny', 'huge'] as const) {
        yield copied(whole(from, [7, 129], values), to)
      }
      for (const shape of [[37], [5, 37], [3, 5, 37], [2, 3, 5, 37]]) {
        for (const x of layoutsOf(from, shape)) yield copied(x, to)
      }
      yield copied(permuted(from, [1100, 5], [1, 0]), to)
      yield copied(whole(from, [3, 0]), to)
      yield copied(permuted(from, [0, 4, 3], [2, 0, 1]), to)
    }
    for (const to of integers) {
      const support = to === 'i32' && from === 'f32' ? 'required' : 'optional'
      yield copied(whole(from, [3, 65], { low: -300, high: 300 }), to, support)
      yield copied(permuted(from, [3, 65], [1, 0], 'special'), to, support)
      yield copied(whole(to, [3, 65], 'whole'), from, support)
      yield copied(permuted(to, [3, 65], [1, 0], 'whole'), from, support)
    }
    yield copied(whole('f64', [3, 65], 'whole'), from, 'optional')
    yield copied(whole(from, [3, 65]), 'f64', 'optional')
  }
  for (const dtype of integers) {
    for (const n of fewEdges) yield copied(whole(dtype, [3, n]), dtype)
    for (const x of layoutsOf(dtype, [2, 3, 5, 9])) yield copied(x, dtype)
    for (const other of integers) yield copied(whole(dtype, [3, 9]), other, 'optional')
  }
  // Whole numbers that f32 cannot hold would lose digits on their way.
  yield copied(whole('i64', [4], { list: [2 ** 40 + 1] }), 'i64')
  yield copied(whole('i64', [4], { list: [2 ** 40 + 1] }), 'i32', 'refused')
  for (const x of layoutsOf('f64', [3, 5, 9])) yield copied(x, 'f64', 'optional')
}

function* blockCopies(): Generator<RowDraft> {
  for (const dtype of quantized) {
    for (const n of blockLengths(dtype)) {
      yield copied(whole(dtype, [3, n]), 'f32')
      yield copied(whole(dtype, [3, n]), dtype)
    }
    const n = 2 * Math.max(64, blockOf(dtype))
    for (const shape of [
      [3, n],
      [2, 3, n],
      [2, 3, 2, n],
    ]) {
      for (const x of layoutsOf(dtype, shape)) {
        yield copied(x, 'f32')
        yield copied(x, 'f16', 'optional')
        yield copied(x, 'bf16', 'optional')
        yield copied(x, dtype)
      }
    }
    yield copied(whole(dtype, [2, 0]), 'f32')
    yield copied(whole(dtype, [3, n], 'golden'), 'f32')
    if (dtype !== 'mxfp4') yield copied(whole(dtype, [3, n], 'special'), 'f32')
  }
  for (const to of ruled) {
    for (const from of floats) {
      for (const n of blockLengths(to)) yield copied(whole(from, [3, n]), to)
      for (const x of layoutsOf(from, [2, 3, 96])) yield copied(x, to)
      for (const values of ['zero', 'tiny', 'uniform', 'whole'] as const) {
        yield copied(whole(from, [3, 96], values), to)
      }
      yield copied(whole(from, [2, 0]), to)
    }
    for (const from of ruled) {
      const support = from === to ? 'required' : 'optional'
      yield copied(whole(from, [3, 1088]), to, support)
    }
  }
  for (const to of [...ruled, ...goldenOnly]) {
    for (const n of blockLengths(to)) yield copied(whole('f32', [5, n], 'golden'), to)
    for (const x of layoutsOf('f32', [2, 3, 512], 'golden')) yield copied(x, to)
  }
  for (const to of needImportance) yield copied(whole('f32', [2, 256]), to, 'refused')
  yield copied(whole('f32', [2, 65]), 'q8_0', 'refused')
}

function* gathers(): Generator<RowDraft> {
  const op = 'get_rows'
  const index = (shape: readonly number[], below: number, make = whole): Operand =>
    make('i32', shape, { below })
  for (const dtype of [...floats, 'i32' as const, ...quantized]) {
    const unit = blockOf(dtype)
    const lengths = unit === 1 ? [...edges, ...longEdges] : blockLengths(dtype)
    const support = dtype === 'q8_1' || dtype === 'q8_K' ? 'optional' : 'required'
    const from = { op, support } as const
    for (const n of lengths) {
      yield { ...from, operands: [whole(dtype, [7, n]), index([4], 7)] }
    }
    const n = unit === 1 ? 37 : 2 * unit
    for (const table of layoutsOf(dtype, [2, 3, 5, n])) {
      const taken = isCut(table) ? 'optional' : support
      yield { op, support: taken, operands: [table, index([2, 3, 4], 5)] }
    }
    for (const make of [gaps, narrowGaps]) {
      yield { ...from, operands: [whole(dtype, [6, n]), index([9], 6, make)] }
    }
    yield {
      ...from,
      operands: [whole(dtype, [2, 6, n]), permuted('i32', [2, 9], [1, 0], { below: 6 })],
    }
    yield { ...from, operands: [whole(dtype, [6, n]), index([0], 6)] }
    yield { ...from, operands: [whole(dtype, [6, 0]), index([3], 6)] }
    if (unit > 1) {
      yield { ...from, operands: [whole(dtype, [6, n], 'golden'), index([300], 6)] }
    } else if (dtype !== 'i32') {
      for (const values of ['special', 'tiny', 'huge'] as const) {
        yield { ...from, operands: [whole(dtype, [6, n], values), index([13], 6)] }
      }
    }
    for (const bad of [7, -1, 2 ** 31 - 1, -(2 ** 31)]) {
      yield {
        ...from,
        operands: [whole(dtype, [7, n]), whole('i32', [3], { list: [2, bad, 3] })],
        fault: true,
      }
    }
  }
  yield { op, operands: [whole('f32', [5, 76800]), index([4], 5)] }
  yield { op, operands: [whole('f32', [80000, 1]), index([70000], 80000)] }
  yield { op, operands: [whole('f32', [2, 1, 4]), index([2, 700], 1)], note: 'many' }
  yield {
    op,
    operands: [whole('f32', [5, 4]), whole('i64', [3], { below: 5 })],
    support: 'refused',
  }
  yield { op, operands: [whole('f32', [2, 5, 4]), index([3, 3], 5)], support: 'refused' }
}

function* scatters(): Generator<RowDraft> {
  const op = 'set_rows'
  const anyFloats: Values = 'normal'
  for (const dtype of [...floats, 'i32' as const, ...ruled, ...goldenOnly]) {
    const unit = blockOf(dtype)
    const support = dtype === 'q8_1' || dtype === 'q8_K' ? 'optional' : 'required'
    const isGolden = goldenOnly.includes(dtype)
    const values: Values = dtype === 'i32' ? 'whole' : isGolden ? 'golden' : anyFloats
    const source = dtype === 'i32' ? 'i32' : 'f32'
    const lengths = unit === 1 ? [...edges, ...longEdges] : blockLengths(dtype)
    for (const n of lengths) {
      const indices = whole('i64', [3], { below: 7, distinct: true })
      yield {
        op,
        dtype,
        support,
        operands: [whole(dtype, [7, n]), whole(source, [3, n], values), indices],
      }
    }
    const n = unit === 1 ? 37 : Math.max(64, unit)
    for (const index of ['i32', 'i64'] as const) {
      const numbers = (shape: readonly number[]) => gaps(index, shape, { below: 9, distinct: true })
      for (const x of layoutsOf(source, [2, 3, 4, n], values)) {
        const table = whole(dtype, [2, 3, 9, n])
        const taken = dtype === 'i32' && isCut(x) ? 'optional' : support
        yield { op, dtype, support: taken, operands: [table, x, numbers([2, 3, 4])] }
        yield { op, dtype, support: taken, operands: [table, x, numbers([1, 3, 4])] }
      }
      for (const table of layoutsOf(dtype, [2, 3, 9, n])) {
        const x = whole(source, [2, 3, 4, n], values)
        const taken = dtype === 'i32' && isCut(table) ? 'optional' : support
        yield { op, dtype, support: taken, operands: [table, x, numbers([1, 1, 4])] }
      }
    }
    const skipping = whole('i64', [6], { list: [6, -1, 3, 0, -5, 2] })
    yield {
      op,
      dtype,
      support,
      operands: [whole(dtype, [7, n]), whole(source, [6, n], values), skipping],
    }
    for (const bad of [7, 2 ** 31 - 1]) {
      const outside = whole('i32', [3], { list: [2, bad, 3] })
      const x = whole(source, [3, n], values)
      yield { op, dtype, support, operands: [whole(dtype, [7, n]), x, outside], fault: true }
    }
    const none = whole('i32', [0])
    yield { op, dtype, support, operands: [whole(dtype, [7, n]), whole(source, [0, n]), none] }
    if (unit > 1 && isGolden) continue
    for (const half of ['f16', 'bf16'] as const) {
      const x = whole(half, [3, n])
      const rows = whole('i64', [3], { below: 7, distinct: true })
      yield { op, dtype, support: 'optional', operands: [whole(dtype, [7, n]), x, rows] }
    }
    if (unit > 1 || dtype === 'i32') continue
    for (const kind of ['special', 'tiny', 'huge'] as const) {
      const rows = whole('i64', [3], { below: 7, distinct: true })
      yield { op, dtype, operands: [whole(dtype, [7, n]), whole('f32', [3, n], kind), rows] }
    }
  }
  for (const dtype of needImportance) {
    const rows = whole('i64', [1], { below: 2 })
    const operands = [whole(dtype, [2, 256]), whole('f32', [1, 256]), rows]
    yield { op, operands, support: 'refused' }
  }
}

function* activations(): Generator<RowDraft> {
  const op = 'quantize_row'
  const dtype = 'q8_row'
  for (const blocks of [1, 2, 3, 7, 8, 9, 33, 128]) {
    yield { op, dtype, operands: [whole('f32', [5, 32 * blocks])] }
  }
  for (const shape of [
    [3, 64],
    [2, 3, 96],
    [2, 3, 5, 64],
  ]) {
    for (const x of layoutsOf('f32', shape)) {
      yield { op, dtype, operands: [x], support: isCut(x) ? 'optional' : 'required' }
    }
  }
  for (const values of ['tiny', 'zero', 'uniform', 'whole', 'golden'] as const) {
    yield { op, dtype, operands: [whole('f32', [7, 256], values)] }
  }
  const ends: Values = { list: [2 ** -121, -(2 ** -120), 2 ** -119, 0] }
  yield { op, dtype, operands: [whole('f32', [3, 64], ends)] }
  yield { op, dtype, operands: [whole('f32', [3, 64], 'special')], note: 'not finite' }
  yield { op, dtype, operands: [whole('f32', [0, 64])] }
  yield { op, dtype, operands: [whole('f32', [3, 0])] }
  yield { op, dtype, operands: [whole('f16', [3, 64])], support: 'refused' }
  yield { op, dtype, operands: [whole('f32', [3, 33])], support: 'refused' }
}

export function* rows(): Generator<RowDraft> {
  yield* copies()
  yield* blockCopies()
  yield* gathers()
  yield* scatters()
  yield* activations()
}
