// Elements that move: repeat, concat, pad, roll, triangles, set, acc and add_id.
import type { OpName, Params } from '../../../src/graph/params.ts'
import type { DType } from '../../../src/native/dtype.ts'
import { dtypes } from '../../../src/native/ops.gen.ts'
import {
  gaps,
  narrowGaps,
  type Operand,
  permuted,
  type RowDraft,
  shapeOf,
  type Values,
  whole,
} from '../row.ts'
import { fourSizes } from '../tensor_value.ts'
import { blockOf, layoutsOf, longEdges, quantized } from './sizes.ts'

const plain = ['f32', 'f16', 'bf16', 'i8', 'i16', 'i32', 'i64'] as const

const valuesOf = (dtype: DType): Values => (dtype.startsWith('i') ? 'whole' : 'normal')

const sizes = ([n3, n2, n1, n0]: readonly number[]): Params => ({
  n0: n0!,
  n1: n1!,
  n2: n2!,
  n3: n3!,
})

const repeated = (op: OpName, x: Operand, times: readonly number[]): RowDraft => ({
  op,
  operands: [x],
  params: sizes(fourSizes(shapeOf(x)).map((n, axis) => n * times[axis]!)),
})

const timesList = [
  [1, 1, 1, 1],
  [1, 1, 1, 2],
  [1, 1, 2, 1],
  [1, 2, 1, 1],
  [2, 1, 1, 1],
  [3, 2, 4, 5],
]

function* repeats(): Generator<RowDraft> {
  for (const dtype of plain) {
    const values = valuesOf(dtype)
    for (const times of timesList) {
      yield repeated('repeat', whole(dtype, [1, 4, 5, 10], values), times)
      for (const x of layoutsOf(dtype, [3, 4, 5, 10], values)) yield repeated('repeat', x, times)
    }
    yield repeated('repeat', whole(dtype, [2, 1], values), [1, 1, 1, 4097])
    yield repeated('repeat', whole(dtype, [2, 700], values), [1, 1, 3, 12])
    yield repeated('repeat', whole(dtype, [2, 3], values), [1, 1, 0, 1])
    yield repeated('repeat', whole(dtype, [2, 0], values), [2, 1, 1, 1])
  }
  for (const dtype of ['f32', 'f16', 'bf16'] as const) {
    const support = dtype === 'f32' ? 'required' : 'optional'
    for (const [a, b, c, d] of timesList) {
      const small = [2 * a!, 4 * b!, 6 * c!, 8 * d!]
      for (const x of layoutsOf(dtype, small)) {
        yield { op: 'repeat_back', operands: [x], params: sizes([2, 4, 6, 8]), support }
      }
    }
    for (const n of [1, 17, 1025]) {
      const params = sizes([1, 1, 1, n])
      yield { op: 'repeat_back', operands: [whole(dtype, [1, 1, 5, 3 * n])], params, support }
    }
    const special = whole(dtype, [2, 1, 4, 66], 'special')
    yield { op: 'repeat_back', operands: [special], params: sizes([1, 1, 2, 33]), support }
  }
  const x = whole('f32', [2, 3])
  yield { op: 'repeat', operands: [x], params: sizes([1, 1, 2, 4]), support: 'refused' }
  yield { op: 'repeat_back', operands: [x], params: sizes([1, 1, 2, 2]), support: 'refused' }
  const blocks = whole('q8_0', [2, 32])
  yield { op: 'repeat', operands: [blocks], params: sizes([1, 1, 4, 32]), support: 'refused' }
}

function* concats(): Generator<RowDraft> {
  const op = 'concat'
  const joined = (a: Operand, b: Operand, dim: number): RowDraft => ({
    op,
    operands: [a, b],
    params: { dim },
  })
  const other = (shape: readonly number[], dim: number, n: number) =>
    shape.map((size, axis) => (axis === 3 - dim ? n : size))
  for (const dtype of plain) {
    const values = valuesOf(dtype)
    for (const dim of [0, 1, 2, 3]) {
      const shape = [4, 3, 2, 11]
      for (const a of layoutsOf(dtype, shape, values)) {
        yield joined(a, whole(dtype, other(shape, dim, 7), values), dim)
        yield joined(whole(dtype, other(shape, dim, 7), values), a, dim)
      }
      yield joined(whole(dtype, shape, values), whole(dtype, other(shape, dim, 0), values), dim)
    }
  }
  for (const dtype of quantized) {
    const unit = blockOf(dtype)
    const support = ['q4_0', 'q4_1', 'q5_0', 'q5_1', 'q8_0'].includes(dtype)
      ? ('required' as const)
      : ('optional' as const)
    for (const dim of [0, 1, 2, 3]) {
      const shape = [3, 2, 2, 2 * unit]
      const b = whole(dtype, other(shape, dim, 3 * unit))
      for (const a of layoutsOf(dtype, shape)) yield { ...joined(a, b, dim), support }
    }
  }
  for (const n of longEdges) yield joined(whole('f32', [2, n]), whole('f32', [2, 3]), 0)
  yield { ...joined(whole('f32', [2, 3]), whole('f32', [3, 3]), 0), support: 'refused' }
  yield { ...joined(whole('f32', [2, 3]), whole('f16', [2, 3]), 0), support: 'refused' }
  yield { ...joined(whole('f32', [2, 3]), whole('f32', [2, 3]), 4), support: 'refused' }
}

interface Padding {
  before?: readonly number[]
  after?: readonly number[]
  kind?: number
}

const padded = (x: Operand, { before = [], after = [], kind = 0 }: Padding): RowDraft => {
  const params: Record<string, number> = {}
  for (let d = 0; d < 4; d++) {
    params[`before${d}`] = before[d] ?? 0
    params[`after${d}`] = after[d] ?? 0
  }
  return { op: 'pad', operands: [x], params: { ...params, kind } }
}

function* pads(): Generator<RowDraft> {
  for (const kind of [0, 1]) {
    for (const x of layoutsOf('f32', [4, 3, 9, 17])) {
      yield padded(x, { after: [1, 3], kind })
      yield padded(x, { before: [1, 2, 1, 2], after: [3, 1, 2, 1], kind })
      yield padded(x, { before: [16], after: [17], kind })
      yield padded(x, { before: [0, 0, 2], kind })
      yield padded(x, { after: [0, 0, 0, 3], kind })
    }
    for (const n of [1, 2, 16, 1023, 1024, 4097]) {
      yield padded(whole('f32', [2, n]), { before: [1, 1], after: [1, 0], kind })
    }
    for (const dtype of plain) {
      const x = whole(dtype, [3, 5, 7], valuesOf(dtype))
      const support = dtype === 'f32' ? 'required' : 'optional'
      yield { ...padded(x, { before: [2, 1], after: [1, 2], kind }), support }
    }
  }
  for (const x of layoutsOf('f32', [3, 5, 37])) {
    yield padded(x, { before: [10], after: [9], kind: 2 })
    yield padded(x, { before: [36], after: [36], kind: 2 })
  }
  yield padded(whole('f32', [4, 384, 3000]), { before: [10], after: [9], kind: 2 })
  yield padded(whole('f32', [3, 0]), { after: [2, 1] })
  yield padded(whole('f32', [0, 3]), { after: [2] })
  const x = whole('f32', [3, 5])
  yield { ...padded(x, { before: [6], kind: 1 }), support: 'refused' }
  yield { ...padded(x, { before: [5], kind: 2 }), support: 'refused' }
  yield { ...padded(x, { before: [0, 1], kind: 2 }), support: 'refused' }
  yield { ...padded(x, { before: [1], kind: 3 }), support: 'refused' }
  yield { ...padded(whole('q8_0', [2, 32]), { before: [32] }), support: 'refused' }
}

function* rolls(): Generator<RowDraft> {
  const rolled = (x: Operand, [shift0, shift1, shift2, shift3]: readonly number[]): RowDraft => ({
    op: 'roll',
    operands: [x],
    params: { shift0: shift0!, shift1: shift1!, shift2: shift2!, shift3: shift3! },
  })
  for (const x of layoutsOf('f32', [3, 4, 5, 10])) {
    for (const shifts of [
      [0, 0, 0, 0],
      [3, -2, 1, -1],
      [9, 4, 3, 2],
      [-9, 0, 0, 0],
      [23, -17, 9, 7],
    ]) {
      yield rolled(x, shifts)
    }
  }
  for (const n of longEdges) yield rolled(whole('f32', [2, n]), [n >> 1, 1, 0, 0])
  for (const dtype of plain) {
    const x = whole(dtype, [3, 7], valuesOf(dtype))
    yield { ...rolled(x, [2, -1, 0, 0]), support: dtype === 'f32' ? 'required' : 'optional' }
  }
  yield rolled(whole('f32', [3, 0]), [1, 1, 0, 0])
  yield { ...rolled(whole('q8_0', [2, 32]), [0, 1, 0, 0]), support: 'refused' }
}

function* triangles(): Generator<RowDraft> {
  for (const kind of [0, 1, 2, 3]) {
    for (const x of layoutsOf('f32', [3, 4, 10, 10])) {
      yield { op: 'tri', operands: [x], params: { kind } }
    }
    for (const n of [1, 2, 17, 65]) {
      yield { op: 'tri', operands: [whole('f32', [2, n, n])], params: { kind } }
    }
  }
  const cut = whole('f32', [3, 4])
  yield { op: 'tri', operands: [cut], params: { kind: 0 }, support: 'refused' }
  yield { op: 'tri', operands: [whole('f32', [3, 3])], params: { kind: 4 }, support: 'refused' }
  for (const [b, c, n] of [
    [3, 4, 10],
    [13, 19, 79],
    [2, 2, 256],
    [1, 1, 1],
  ] as const) {
    yield { op: 'diag', operands: [whole('f32', [b, c, 1, n])] }
    yield { op: 'diag', operands: [gaps('f32', [b, c, 1, n])] }
  }
  yield { op: 'diag', operands: [permuted('f32', [2, 3, 1, 9], [0, 3, 1, 2])] }
  yield { op: 'diag', operands: [whole('f32', [2, 3])], support: 'refused' }
  for (const value of [Number.NEGATIVE_INFINITY, 0, -1.5]) {
    for (const past of [0, 3, 5, 50]) {
      for (const x of layoutsOf('f32', [2, 3, 10, 10])) {
        yield { op: 'diag_mask', operands: [x], params: { past, value } }
      }
      yield { op: 'diag_mask', operands: [whole('f32', [4, 70])], params: { past, value } }
    }
  }
}

/** b inside a, whose rows are whole: byte strides and offset as of a view of a. */
const placed = (op: OpName, a: Operand, b: Operand, at: readonly number[]): RowDraft => {
  const size = dtypes[a.dtype].blockBytes
  const [, n2, n1, n0] = fourSizes(shapeOf(a))
  const strides = [size * n0 * n1 * n2, size * n0 * n1, size * n0, size]
  const offset = at.reduce((sum, i, axis) => sum + i * strides[axis + 4 - at.length]!, 0)
  const params = { nb1: strides[2]!, nb2: strides[1]!, nb3: strides[0]!, offset }
  return { op, dtype: a.dtype, operands: [a, b], params }
}

function* places(): Generator<RowDraft> {
  for (const op of ['set', 'acc'] as const) {
    for (const dtype of op === 'acc' ? (['f32'] as const) : plain) {
      const support = dtype === 'f32' || dtype === 'i32' ? 'required' : 'optional'
      const values = valuesOf(dtype)
      for (const a of [whole, gaps, narrowGaps]) {
        for (const b of layoutsOf(dtype, [2, 2, 3, 4], values)) {
          const draft = placed(op, a(dtype, [3, 4, 5, 6], values), b, [1, 2, 1, 2])
          yield { ...draft, support }
        }
      }
      const a = whole(dtype, [3, 17, 256], values)
      for (const b of [
        [3, 16, 256],
        [3, 16, 128],
        [2, 16, 64],
      ]) {
        yield { ...placed(op, a, whole(dtype, b, values), [0, 1, 0]), support }
      }
      const none = whole(dtype, [0, 4], values)
      yield { ...placed(op, whole(dtype, [5, 6], values), none, [1, 0]), support }
    }
    const outside = placed(op, whole('f32', [3, 4]), whole('f32', [2, 4]), [2, 0])
    yield { ...outside, support: 'refused' }
    const cut = placed(op, whole('f32', [3, 4]), whole('f32', [1, 2]), [0, 0])
    yield { ...cut, params: { ...cut.params, offset: 2 }, support: 'refused' }
  }
}

function* addIds(): Generator<RowDraft> {
  const op = 'add_id'
  for (const n of [32, 129, 1, 7, 16, 33]) {
    for (const experts of [4, 8]) {
      for (const used of [1, 2, 4]) {
        for (const tokens of [1, 32, 129]) {
          const ids = whole('i32', [tokens, used], { below: experts })
          yield { op, operands: [whole('f32', [tokens, used, n]), whole('f32', [experts, n]), ids] }
        }
      }
    }
  }
  const table = gaps('f32', [5, 33])
  const ids = permuted('i32', [4, 3], [1, 0], { below: 5 })
  yield { op, operands: [gaps('f32', [4, 3, 33]), table, ids] }
  yield { op, operands: [whole('f32', [4, 3, 33]), whole('f32', [5, 33]), ids], inPlace: 0 }
  yield { op, operands: [whole('f32', [0, 3, 8]), whole('f32', [5, 8]), whole('i32', [0, 3])] }
  for (const bad of [5, -1]) {
    const outside = whole('i32', [2, 2], { list: [0, bad, 1, 2] })
    const operands = [whole('f32', [2, 2, 9]), whole('f32', [5, 9]), outside]
    yield { op, operands, fault: true }
  }
  const operands = [whole('f32', [4, 3, 8]), whole('f32', [5, 9]), whole('i32', [4, 3])]
  yield { op, operands, support: 'refused' }
}

export function* arranging(): Generator<RowDraft> {
  yield* repeats()
  yield* concats()
  yield* pads()
  yield* rolls()
  yield* triangles()
  yield* places()
  yield* addIds()
}
