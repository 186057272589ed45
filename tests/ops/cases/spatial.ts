// Pooling, resizing and convolution: windows, strides, paddings and dilations of every kind.
import type { OpName, Params } from '../../../src/graph/params.ts'
import type { DType } from '../../../src/native/dtype.ts'
import { dtypes } from '../../../src/native/ops.gen.ts'
import { gaps, type Operand, permuted, type RowDraft, type Values, whole } from '../row.ts'
import { floats, layoutsOf } from './sizes.ts'

const supportOf = (dtype: DType) => (dtype === 'f32' ? ('required' as const) : 'optional')

function* pools(): Generator<RowDraft> {
  const pool1d = (x: Operand, params: Params): RowDraft => ({
    op: 'pool_1d',
    operands: [x],
    params,
    support: supportOf(x.dtype),
  })
  for (const kind of [0, 1]) {
    for (const shape of [
      [2, 3, 10],
      [2, 3, 1, 11],
      [3, 1, 2, 128],
    ]) {
      for (const kernel of [1, 2, 3]) {
        for (const stride of [1, 2, 3]) {
          for (const padding of [0, 1, 2, 3]) {
            yield pool1d(whole('f32', shape), { kind, kernel, stride, padding })
          }
        }
      }
    }
    const params = { kind, kernel: 5, stride: 3, padding: 2 }
    for (const dtype of floats) {
      for (const x of layoutsOf(dtype, [2, 3, 5, 37])) yield pool1d(x, params)
      yield pool1d(whole(dtype, [3, 77], 'special'), params)
    }
    yield pool1d(whole('f32', [3, 0]), params)
    yield pool1d(whole('f32', [3, 2]), { kind, kernel: 7, stride: 1, padding: 0 })
    yield { ...pool1d(whole('f32', [8]), { ...params, kernel: 0 }), support: 'refused' }
    yield { ...pool1d(whole('f32', [8]), { ...params, stride: 0 }), support: 'refused' }
    yield { ...pool1d(whole('f32', [8]), { ...params, kind: 2 }), support: 'refused' }
    yield* planes(kind)
  }
}

function* planes(kind: number): Generator<RowDraft> {
  const pool2d = (x: Operand, [k0, k1, s0, s1, p0, p1]: readonly number[]): RowDraft => ({
    op: 'pool_2d',
    operands: [x],
    params: {
      kind,
      ...{ kernel0: k0!, kernel1: k1!, stride0: s0!, stride1: s1!, padding0: p0!, padding1: p1! },
    },
    support: supportOf(x.dtype),
  })
  for (let bits = 0; bits < 64; bits++) {
    const pick = (bit: number, low: number, high: number) => ((bits >> bit) & 1 ? high : low)
    const kernels = [pick(0, 1, 3), pick(1, 1, 3)]
    const rest = [pick(2, 1, 2), pick(3, 1, 2), pick(4, 0, 1), pick(5, 0, 1)]
    yield pool2d(whole('f32', [1, 3, 10, 10]), [...kernels, ...rest])
  }
  for (const dtype of floats) {
    for (const x of layoutsOf(dtype, [2, 3, 9, 13])) yield pool2d(x, [4, 3, 2, 1, 2, 1])
  }
  for (const values of ['special', 'huge', 'tiny'] as const) {
    yield pool2d(whole('f32', [1, 2, 9, 13], values), [3, 2, 2, 1, 1, 1])
  }
  yield pool2d(whole('f32', [1, 1, 2, 2]), [1, 1, 1, 1, 5, 5])
  yield pool2d(whole('f32', [2, 0, 3, 3]), [2, 2, 1, 1, 0, 0])
}

const resized = (
  x: Operand,
  to: readonly number[],
  kind: number,
  flags: Params = {},
): RowDraft => ({
  op: 'upscale',
  operands: [x],
  params: {
    ...{ n0: to[3]!, n1: to[2]!, n2: to[1]!, n3: to[0]! },
    ...{ kind, align_corners: 0, antialias: 0, ...flags },
  },
})

const pairs: [number[], number[]][] = [
  [
    [2, 3, 16, 12],
    [2, 3, 32, 24],
  ],
  [
    [11, 7, 5, 2],
    [11, 7, 11, 5],
  ],
  [
    [11, 7, 11, 5],
    [11, 7, 5, 2],
  ],
  [
    [2, 3, 4, 1],
    [2, 3, 8, 2],
  ],
  [
    [2, 3, 1, 4],
    [2, 3, 1, 1],
  ],
  [
    [1, 1, 9, 8],
    [1, 1, 3, 4],
  ],
  [
    [1, 2, 1, 1],
    [1, 2, 5, 7],
  ],
  [
    [1, 2, 7, 5],
    [1, 2, 1, 1],
  ],
]
const kinds: [number, Params][] = [
  [0, {}],
  [1, {}],
  [2, {}],
  [1, { align_corners: 1 }],
  [2, { align_corners: 1 }],
  [1, { antialias: 1 }],
]

function* resizes(): Generator<RowDraft> {
  for (const [kind, flags] of kinds) {
    for (const [from, to] of pairs) {
      yield resized(whole('f32', from), to, kind, flags)
      yield resized(permuted('f32', from, [0, 1, 3, 2]), to, kind, flags)
    }
    for (const x of layoutsOf('f32', [2, 3, 5, 7])) yield resized(x, [2, 3, 8, 9], kind, flags)
    yield resized(whole('f32', [1, 1, 4, 5], 'whole'), [1, 1, 4, 5], kind, flags)
    yield resized(whole('f32', [1, 1, 4, 5]), [1, 1, 0, 5], kind, flags)
  }
  yield resized(whole('f32', [2, 3, 4, 5]), [5, 7, 9, 11], 0)
  yield resized(whole('f32', [5, 7, 9, 11]), [2, 3, 4, 5], 0)
  yield { ...resized(whole('f32', [2, 3, 4, 5]), [2, 4, 4, 5], 1), support: 'refused' }
  yield { ...resized(whole('f32', [2, 3, 4, 5]), [2, 3, 4, 5], 3), support: 'refused' }
  const flags = { antialias: 1 }
  yield { ...resized(whole('f32', [1, 1, 4, 5]), [1, 1, 8, 9], 2, flags), support: 'refused' }
  yield { ...resized(whole('f32', [1, 1, 0, 5]), [1, 1, 8, 9], 0), support: 'refused' }
  // Nobody says what the two together are.
  const both = { antialias: 1, align_corners: 1 }
  yield { ...resized(whole('f32', [1, 1, 4, 5]), [1, 1, 8, 9], 1, both), support: 'refused' }
}

/** stride, padding and dilation of [horizontal, vertical]. */
interface Filter {
  stride?: readonly [number, number]
  padding?: readonly [number, number]
  dilation?: readonly [number, number]
}

const filterParams = ({
  stride = [1, 1],
  padding = [0, 0],
  dilation = [1, 1],
}: Filter): Params => ({
  stride0: stride[0],
  stride1: stride[1],
  padding0: padding[0],
  padding1: padding[1],
  dilation0: dilation[0],
  dilation1: dilation[1],
})

const filters: readonly Filter[] = [
  {},
  { padding: [1, 1] },
  { stride: [2, 3], padding: [1, 2] },
  { dilation: [2, 4], padding: [5, 5] },
  { stride: [3, 5], padding: [5, 1], dilation: [2, 1] },
  { stride: [1, 2], padding: [0, 3], dilation: [3, 2] },
]

/** x [images, channels, h, w] and kernel [out, channels, kh, kw]. */
const convolved = (op: OpName, kernel: Operand, x: Operand, filter: Filter): RowDraft => ({
  op,
  dtype: kernel.dtype,
  operands: [kernel, x],
  params: filterParams(filter),
  support: kernel.dtype === 'bf16' || x.dtype !== 'f32' ? 'optional' : 'required',
})

function* convolutions(): Generator<RowDraft> {
  const op = 'conv_2d'
  for (const dtype of floats) {
    for (const filter of filters) {
      for (const [kh, kw] of [
        [1, 1],
        [1, 2],
        [3, 3],
        [3, 11],
        [2, 1],
      ] as const) {
        for (const [channels, out] of [
          [1, 1],
          [3, 5],
          [4, 12],
        ] as const) {
          const kernel = whole(dtype, [out, channels, kh, kw])
          yield convolved(op, kernel, whole('f32', [2, channels, 13, 17]), filter)
        }
      }
      for (const x of layoutsOf('f32', [2, 3, 9, 11])) {
        yield convolved(op, whole(dtype, [4, 3, 2, 3]), x, filter)
      }
    }
    for (const kernel of layoutsOf(dtype, [4, 3, 2, 3])) {
      yield convolved(op, kernel, whole('f32', [1, 3, 9, 11]), { padding: [1, 1] })
    }
    for (const [h, w] of [
      [1, 141],
      [133, 1],
      [33, 41],
      [1, 1],
      [7, 64],
      [3, 65],
    ] as const) {
      yield convolved(op, whole(dtype, [3, 25, 1, 1]), whole('f32', [2, 25, h, w]), {})
      yield convolved(op, whole(dtype, [12, 2, 3, 3]), whole('f32', [2, 2, h, w]), {
        padding: [1, 1],
      })
    }
    for (const values of ['special', 'huge', 'tiny'] as const) {
      yield convolved(op, whole(dtype, [2, 2, 3, 3]), whole('f32', [1, 2, 6, 7], values), {})
    }
    yield convolved(op, whole(dtype, [65, 40, 3, 3]), whole('f32', [1, 40, 5, 6]), {})
    yield convolved(op, whole(dtype, [4, 3, 5, 5]), whole('f32', [1, 3, 2, 2]), {})
    yield convolved(op, whole(dtype, [4, 3, 2, 2]), whole('f32', [0, 3, 5, 5]), {})
    yield convolved(op, whole(dtype, [4, 3, 2, 2]), whole('f16', [1, 3, 5, 5]), {})
  }
  const kernel = whole('f32', [4, 3, 2, 2])
  const x = whole('f32', [1, 2, 5, 5])
  yield { ...convolved(op, kernel, x, {}), support: 'refused' }
  const still = { stride: [0, 1] as const }
  yield { ...convolved(op, kernel, whole('f32', [1, 3, 5, 5]), still), support: 'refused' }
}

/** Channels last in memory, as some frameworks keep images. */
const channelsLast = (dtype: DType, shape: readonly number[], values?: Values): Operand =>
  permuted(dtype, shape, [0, 3, 1, 2], values)

function* depthwise(): Generator<RowDraft> {
  const op = 'conv_2d_dw'
  for (const dtype of floats) {
    for (const stride of [1, 2] as const) {
      for (const padding of [0, 1] as const) {
        const filter = { stride: [stride, stride], padding: [padding, padding] } as const
        for (const make of [whole, gaps, channelsLast]) {
          yield convolved(op, whole(dtype, [9, 1, 3, 3]), make('f32', [1, 9, 34, 17]), filter)
          yield convolved(op, whole(dtype, [64, 1, 3, 3]), make('f32', [1, 64, 8, 32]), filter)
        }
      }
    }
    for (const filter of filters) {
      yield convolved(op, whole(dtype, [5, 1, 2, 4]), whole('f32', [3, 5, 13, 21]), filter)
    }
  }
  const kernel = whole('f32', [4, 2, 2, 2])
  yield { ...convolved(op, kernel, whole('f32', [1, 4, 5, 5]), {}), support: 'refused' }
}

function* columns(): Generator<RowDraft> {
  const row = (kernel: Operand, x: Operand, to: DType, filter: Filter, two = 1): RowDraft => ({
    op: 'im2col',
    dtype: to,
    operands: [kernel, x],
    params: { ...filterParams(filter), two_dimensional: two, dtype: dtypes[to].code },
    support: to === 'bf16' || x.dtype !== 'f32' ? 'optional' : 'required',
  })
  for (const to of floats) {
    for (const kernelType of ['f32', 'f16'] as const) {
      for (const filter of filters) {
        yield row(whole(kernelType, [2, 3, 3, 3]), whole('f32', [2, 3, 10, 12]), to, filter)
        const flat = { ...filter, stride: [filter.stride?.[0] ?? 1, 0] as const }
        yield row(whole(kernelType, [2, 3, 3]), whole('f32', [4, 3, 20]), to, flat, 0)
      }
      yield row(whole(kernelType, [4, 2, 1, 1]), whole('f32', [1, 2, 5, 33]), to, {})
      yield row(
        whole(kernelType, [3, 128, 3]),
        whole('f32', [128, 300]),
        to,
        { padding: [1, 0] },
        0,
      )
    }
    for (const x of layoutsOf('f32', [2, 3, 7, 9])) {
      yield row(whole('f16', [2, 3, 2, 3]), x, to, { padding: [1, 1] })
    }
    yield row(whole('f32', [2, 3, 2, 3]), whole('f32', [1, 3, 6, 7], 'special'), to, {})
    yield row(whole('f32', [2, 3, 5, 5]), whole('f32', [1, 3, 2, 2]), to, {})
    yield row(whole('f32', [2, 3, 2, 2]), whole('f16', [1, 3, 6, 7]), to, {})
  }
  const kernel = whole('f32', [2, 4, 2, 2])
  yield { ...row(kernel, whole('f32', [1, 3, 6, 7]), 'f32', {}), support: 'refused' }
}

function* transposes(): Generator<RowDraft> {
  const row = (op: OpName, kernel: Operand, x: Operand, stride: number): RowDraft => ({
    op,
    dtype: kernel.dtype,
    operands: [kernel, x],
    params: { stride },
    support: kernel.dtype === 'bf16' || x.dtype !== 'f32' ? 'optional' : 'required',
  })
  for (const dtype of floats) {
    for (const stride of [1, 2, 3]) {
      for (const width of [1, 2, 13]) {
        for (const kw of [1, 3, 1337]) {
          for (const channels of [1, 7]) {
            const kernel = whole(dtype, [channels, 1, kw])
            yield row('conv_transpose_1d', kernel, whole('f32', [channels, width]), stride)
          }
        }
      }
      yield row('conv_transpose_1d', whole(dtype, [32, 16, 16]), whole('f32', [32, 97]), stride)
      yield row('conv_transpose_1d', whole(dtype, [2, 3, 2]), whole('f32', [2, 3]), stride)
      for (const x of layoutsOf('f32', [3, 5])) {
        yield row('conv_transpose_1d', gaps(dtype, [3, 2, 4]), x, stride)
      }
      for (const [kernel, x] of [
        [
          [3, 1, 2, 2],
          [1, 3, 2, 3],
        ],
        [
          [9, 1, 3, 3],
          [1, 9, 10, 10],
        ],
        [
          [5, 8, 3, 3],
          [1, 5, 9, 17],
        ],
        [
          [3, 4, 2, 5],
          [3, 3, 4, 6],
        ],
      ] as const) {
        for (const make of [whole, gaps]) {
          yield row('conv_transpose_2d', whole(dtype, kernel), make('f32', x), stride)
          yield row('conv_transpose_2d', make(dtype, kernel), whole('f32', x), stride)
        }
      }
    }
    const special = whole('f32', [1, 3, 4, 4], 'special')
    yield row('conv_transpose_2d', whole(dtype, [3, 2, 2, 2]), special, 2)
    yield row('conv_transpose_2d', whole(dtype, [3, 2, 2, 2]), whole('f32', [1, 3, 0, 4]), 2)
  }
  const kernel = whole('f32', [3, 2, 2, 2])
  const x = whole('f32', [1, 2, 4, 4])
  yield { ...row('conv_transpose_2d', kernel, x, 1), support: 'refused' }
  const good = whole('f32', [1, 3, 4, 4])
  yield { ...row('conv_transpose_2d', kernel, good, 0), support: 'refused' }
}

export function* spatial(): Generator<RowDraft> {
  yield* pools()
  yield* resizes()
  yield* convolutions()
  yield* depthwise()
  yield* columns()
  yield* transposes()
}
