// Ops whose results depend on one element of each operand.
import type { OpName, Params } from '../../../src/graph/params.ts'
import type { DType } from '../../../src/native/dtype.ts'
import { gluKinds, unaryKinds } from '../../../src/native/ops.gen.ts'
import {
  alias,
  gaps,
  narrowGaps,
  type Operand,
  permuted,
  type RowDraft,
  type Values,
  whole,
} from '../row.ts'
import { edges, fewEdges, floats, layoutsOf, longEdges } from './sizes.ts'

type BinaryOp = 'add' | 'sub' | 'mul' | 'div'

const extremes: readonly Values[] = ['special', 'tiny', 'huge', 'zero']

/** b's sizes and how often a repeats them; sizes that the reference's own test has are here. */
const repeats: readonly (readonly [readonly number[], readonly number[]])[] = [
  [
    [8, 1, 1],
    [1, 1, 1, 1],
  ],
  [
    [1, 1, 1, 1],
    [1, 1, 1, 32],
  ],
  [
    [1, 1, 1, 1],
    [1, 1, 320, 320],
  ],
  [
    [1, 1, 5, 10],
    [1, 1, 1, 1],
  ],
  [
    [1, 4, 5, 10],
    [1, 1, 1, 1],
  ],
  [
    [3, 4, 5, 10],
    [1, 1, 1, 2],
  ],
  [
    [3, 4, 5, 10],
    [1, 1, 2, 1],
  ],
  [
    [3, 4, 5, 10],
    [1, 2, 1, 1],
  ],
  [
    [3, 4, 5, 10],
    [2, 1, 1, 1],
  ],
  [
    [3, 4, 5, 10],
    [1, 2, 2, 1],
  ],
  [
    [3, 4, 5, 10],
    [2, 2, 1, 1],
  ],
  [
    [3, 4, 5, 10],
    [2, 2, 2, 2],
  ],
  [
    [1, 1, 1, 640],
    [1, 1, 1, 1],
  ],
  [
    [1, 1, 1, 1280],
    [1, 1, 2, 1],
  ],
  [
    [1, 1, 1, 1280],
    [1, 16, 16, 1],
  ],
  [
    [1, 1, 16, 1],
    [1, 1, 1, 640],
  ],
  [
    [1, 1, 1, 1],
    [1, 1, 1, 8193],
  ],
  [
    [2, 1, 1, 4097],
    [1, 3, 1, 1],
  ],
  [
    [1, 1, 1, 11],
    [2, 3, 4, 3],
  ],
  [
    [1, 1, 1, 700],
    [1, 1, 3, 2],
  ],
]

const timed = (sizes: readonly number[], times: readonly number[]): number[] => {
  const skipped = times.length - sizes.length
  return times.map((n, axis) => n * (axis < skipped ? 1 : sizes[axis - skipped]!))
}

function* binary(op: BinaryOp): Generator<RowDraft> {
  for (const a of floats) {
    for (const b of floats) {
      const lengths = a === b ? [...edges, ...longEdges] : [1, 7, 33, 513, 4097]
      for (const n of lengths) {
        yield { op, operands: [whole(a, [3, n]), whole(b, [3, n])] }
      }
      for (const [sizes, times] of repeats) {
        if (a !== b && sizes.at(-1)! * times.at(-1)! > 700) continue
        yield { op, operands: [whole(a, timed(sizes, times)), whole(b, sizes)] }
      }
      for (const first of layoutsOf(a, [2, 3, 5, 37])) {
        yield { op, operands: [first, whole(b, [2, 3, 5, 37])] }
        yield { op, operands: [first, whole(b, [3, 1, 37])] }
        yield { op, operands: [first, permuted(b, [2, 3, 5, 1], [1, 0, 3, 2])] }
      }
      for (const second of layoutsOf(b, [3, 7, 35])) {
        yield { op, operands: [whole(a, [3, 7, 35]), second] }
        yield { op, operands: [narrowGaps(a, [6, 14, 35]), second] }
      }
    }
    for (const values of extremes) {
      yield { op, operands: [whole(a, [5, 77], values), whole(a, [5, 77], values)] }
      yield { op, operands: [whole(a, [5, 77], values), whole(a, [1, 1], values)] }
      yield { op, operands: [whole(a, [5, 77], 'special'), whole(a, [1, 77], values)] }
    }
    yield* sharedMemory(op, a)
    for (const shape of [[0], [3, 0], [0, 3], [2, 0, 3]]) {
      yield { op, operands: [whole(a, shape), whole(a, shape)] }
    }
    yield { op, operands: [whole(a, [2, 0]), whole(a, [1])], note: 'empty' }
    for (const n of [7, 64, 1025]) {
      yield { op, operands: [whole(a, [4, n]), whole(a, [4, n])], inPlace: 0 }
      yield { op, operands: [whole(a, [4, n]), whole(a, [n])], inPlace: 0 }
    }
  }
}

/** Both operands in the same bytes, wholly or in part. */
function* sharedMemory(op: BinaryOp, dtype: (typeof floats)[number]): Generator<RowDraft> {
  const x = whole(dtype, [6, 65])
  yield { op, operands: [x, alias(x, 0)], note: 'with itself' }
  const upper = alias(x, 0, [{ slice: [0, 0, 4] }])
  yield {
    op,
    operands: [{ ...x, steps: [{ slice: [0, 2, 6] }] }, upper],
    note: 'overlapping',
  }
}

/** What no device may compute: sizes that do not divide, dtypes without arithmetic. */
function* refused(op: BinaryOp): Generator<RowDraft> {
  yield { op, operands: [whole('f32', [3, 8]), whole('f32', [3, 7])], support: 'refused' }
  yield { op, operands: [whole('f32', [3]), whole('f32', [2, 3])], support: 'refused' }
  yield { op, operands: [whole('f32', [4]), whole('f32', [0])], support: 'refused' }
  yield { op, operands: [whole('q8_0', [64]), whole('f32', [64])], support: 'refused' }
  yield {
    op,
    operands: [whole('i8', [64], 'whole'), whole('i8', [64], 'whole')],
    support: 'refused',
  }
}

/** Sizes that the reference's own test has. */
const referenceShapes = [
  [2, 2, 2, 128],
  [13, 11, 7, 5],
  [2, 2, 2, 10],
  [3, 5, 1, 7],
  [3, 4, 5, 10],
  [10, 10, 10, 10],
] as const

/** An op of one operand: every length, layout and kind of value, in every float dtype. */
function* mapped(op: OpName, params: Params, shapes: readonly (readonly number[])[]) {
  for (const dtype of floats) {
    const row = (x: Operand): RowDraft => ({ op, params, operands: [x] })
    for (const n of dtype === 'f32' ? [...edges, ...longEdges] : fewEdges) {
      yield row(whole(dtype, [3, n]))
    }
    for (const x of layoutsOf(dtype, [2, 3, 5, 37])) yield row(x)
    for (const shape of shapes) {
      yield row(whole(dtype, shape))
      yield row(gaps(dtype, shape))
    }
    for (const values of extremes) yield row(whole(dtype, [5, 77], values))
    for (const high of [4, 25, 120]) {
      yield row(whole(dtype, [3, 257], { low: -high, high }))
    }
    for (const shape of [[0], [3, 0], [0, 3]]) yield row(whole(dtype, shape))
    for (const n of [7, 64, 1025]) yield { ...row(whole(dtype, [2, n])), inPlace: 0 }
  }
  yield { op, params, operands: [whole('i32', [8], 'whole')], support: 'refused' } as const
  yield { op, params, operands: [whole('q8_0', [32])], support: 'refused' } as const
}

const large = [1024, 1024]

function* functions(): Generator<RowDraft> {
  for (const [name, kind] of Object.entries(unaryKinds)) {
    const isRounding = ['floor', 'ceil', 'round', 'trunc'].includes(name)
    const shapes = isRounding ? [...referenceShapes, large] : referenceShapes
    for (const draft of mapped('unary', { kind }, shapes)) yield { ...draft, note: name }
  }
  const ties: Values = { list: [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.25, 8388609, -0] }
  for (const name of ['floor', 'ceil', 'round', 'trunc'] as const) {
    const params = { kind: unaryKinds[name] }
    yield { op: 'unary', params, operands: [whole('f32', [27], ties)], note: name }
  }
  for (const name of ['sin', 'cos'] as const) {
    for (const high of [1e3, 1e6, 1e30]) {
      const params = { kind: unaryKinds[name] }
      const x = whole('f32', [5, 129], { low: -high, high })
      yield { op: 'unary', params, operands: [x], note: name }
    }
  }
  for (const name of ['sqrt', 'log'] as const) {
    const params = { kind: unaryKinds[name] }
    yield { op: 'unary', params, operands: [whole('f32', [5, 257], 'positive')], note: name }
  }
  yield { op: 'unary', params: { kind: 999 }, operands: [whole('f32', [8])], support: 'refused' }
}

const parameters: readonly (readonly [OpName, readonly Params[]])[] = [
  [
    'scale',
    [
      { factor: 2, offset: 0 },
      { factor: 2, offset: 1 },
      { factor: -0.3, offset: 1e-3 },
      { factor: 0, offset: -1 },
    ],
  ],
  [
    'clamp',
    [
      { low: -0.5, high: 0.5 },
      { low: 0, high: Number.POSITIVE_INFINITY },
      { low: Number.NEGATIVE_INFINITY, high: -1 },
    ],
  ],
  ['leaky_relu', [{ slope: 0.1 }, { slope: -2 }]],
  [
    'xielu',
    [
      { alpha_negative: 4, alpha_positive: 20, beta: 0.5, epsilon: 0.0000001 },
      { alpha_negative: 0.8, alpha_positive: 0.8, beta: 0.5, epsilon: -1e-6 },
    ],
  ],
  ['fill', [{ value: 0 }, { value: 2 }, { value: -152 }, { value: 3.5 }]],
]

function* pointwise(): Generator<RowDraft> {
  for (const [op, list] of parameters) {
    for (const params of list) {
      const more = op === 'clamp' || op === 'leaky_relu' ? [large] : []
      yield* mapped(op, params, [...referenceShapes, [10, 10, 10, 100], [16, 512], ...more])
    }
  }
  for (const shape of [
    [3, 11, 207, 303],
    [4, 4, 600, 800],
  ]) {
    yield { op: 'fill', params: { value: 3.5 }, operands: [whole('f32', shape, 'zero')] }
  }
}

const gates: readonly (readonly [OpName, readonly Params[]])[] = [
  ['glu', Object.values(gluKinds).map((kind) => ({ kind }))],
  ['swiglu_oai', [0.5, 1.702].flatMap((alpha) => [2, 7].map((limit) => ({ alpha, limit })))],
  ['swiglu_clamp', [{ limit: 2 }, { limit: 10 }]],
]

function* gated(): Generator<RowDraft> {
  for (const [op, list] of gates) {
    for (const params of list) {
      for (const dtype of floats) yield* gatedBy(op, params, dtype)
      const [gate, up] = [whole('f32', [3, 8]), whole('f32', [1, 8])]
      yield { op, params, operands: [gate, up], support: 'refused' }
    }
  }
  const pair = [whole('f32', [8]), whole('f32', [8])]
  yield { op: 'glu', params: { kind: 77 }, operands: pair, support: 'refused' }
}

function* gatedBy(op: OpName, params: Params, dtype: DType): Generator<RowDraft> {
  const row = (gate: Operand, up: Operand): RowDraft => ({ op, params, operands: [gate, up] })
  for (const n of dtype === 'f32' ? [...edges, ...longEdges] : fewEdges) {
    yield row(whole(dtype, [3, n]), whole(dtype, [3, n]))
  }
  for (const gate of layoutsOf(dtype, [2, 3, 5, 37])) {
    yield row(gate, gaps(dtype, [2, 3, 5, 37]))
    yield row(permuted(dtype, [2, 3, 5, 37], [3, 1, 2, 0]), gate)
  }
  for (const shape of [...referenceShapes, [0], [4, 0], [0, 4]]) {
    yield row(whole(dtype, shape), whole(dtype, shape))
    yield row(narrowGaps(dtype, shape), gaps(dtype, shape))
  }
  for (const values of extremes) {
    yield row(whole(dtype, [9, 131], values), whole(dtype, [9, 131]))
    yield row(whole(dtype, [9, 131]), whole(dtype, [9, 131], values))
  }
  for (const high of [25, 120]) {
    yield row(whole(dtype, [4, 513], { low: -high, high }), whole(dtype, [4, 513]))
  }
  for (const inPlace of [0, 1]) {
    yield { ...row(whole(dtype, [4, 33]), whole(dtype, [4, 33])), inPlace }
  }
  // Gate and up are the halves of one tensor, as a fused projection gives them.
  for (const [gate, up] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const both = whole(dtype, [5, 74])
    const first = { ...both, steps: [{ slice: [1, gate * 37, gate * 37 + 37] as const }] }
    const second = alias(both, 0, [{ slice: [1, up * 37, up * 37 + 37] }])
    yield { ...row(first, second), note: 'halves' }
  }
}

export function* elementwise(): Generator<RowDraft> {
  for (const op of ['add', 'sub', 'mul', 'div'] as const) {
    yield* binary(op)
    yield* refused(op)
  }
  yield* functions()
  yield* pointwise()
  yield* gated()
}
