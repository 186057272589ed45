// Planes: pooling, resizing and convolution. Shapes read [images, channels, height, width].
import type { Params } from '../../../src/graph/params.ts'
import { dtypeOfCode } from '../../../src/native/dtype.ts'
import type { TensorValue } from '../tensor_value.ts'
import { countOf, type Expected, eachIndex, placeOf, type Reference } from './reference.ts'

/** How often a window of `kernel` elements, `dilation` apart, fits. */
const windows = (n: number, kernel: number, stride: number, padding: number, dilation = 1) => {
  const reach = dilation * (kernel - 1) + 1
  return n + 2 * padding < reach ? 0 : Math.floor((n + 2 * padding - reach) / stride) + 1
}

/** Sums and what their errors are measured by. */
class Sums {
  readonly shape: readonly number[]
  readonly data: Float64Array
  readonly magnitude: Float64Array

  constructor(shape: readonly number[]) {
    this.shape = shape
    this.data = new Float64Array(countOf(shape))
    this.magnitude = new Float64Array(this.data.length)
  }

  add(at: number, value: number): void {
    this.data[at]! += value
    this.magnitude[at]! += Math.abs(value)
  }

  expected(dtype: TensorValue['dtype'] = 'f32'): Expected {
    const { shape, data, magnitude } = this
    return { dtype, shape, data, magnitude }
  }
}

interface Window {
  readonly kernel: number
  readonly stride: number
  readonly padding: number
}

/** The largest or the average under a window; averages divide by what `divisor` says. */
const pooled = (
  x: TensorValue,
  kind: number,
  [vertical, horizontal]: readonly [Window, Window],
  divisor: (existing: number) => number,
): Expected[] => {
  const [images, channels, height, width] = x.shape
  const v = vertical
  const h = horizontal
  const oh = windows(height, v.kernel, v.stride, v.padding)
  const ow = windows(width, h.kernel, h.stride, h.padding)
  const sums = new Sums([images, channels, oh, ow])
  eachIndex(sums.shape, ([i, c, j, k], at) => {
    const found: number[] = []
    for (let dj = 0; dj < v.kernel; dj++) {
      for (let dk = 0; dk < h.kernel; dk++) {
        const y = j * v.stride - v.padding + dj
        const z = k * h.stride - h.padding + dk
        if (y < 0 || y >= height || z < 0 || z >= width) continue
        found.push(x.data[placeOf(x.shape, i, c, y, z)]!)
      }
    }
    if (kind === 1) {
      for (const value of found) sums.add(at, value)
      sums.data[at]! /= divisor(found.length)
    } else {
      // As the reference has it, where nothing is under the window.
      sums.add(at, found.length === 0 ? -((2 - 2 ** -23) * 2 ** 127) : Math.max(...found))
    }
  })
  return [sums.expected(x.dtype)]
}

/** Averages are over the elements that exist. */
export const pool1d: Reference = ([x], { kind, kernel, stride, padding }) =>
  pooled(
    x!,
    kind!,
    [
      { kernel: 1, stride: 1, padding: 0 },
      { kernel: kernel!, stride: stride!, padding: padding! },
    ],
    (existing) => Math.max(1, existing),
  )

/** Averages are over the whole window, padding included. */
export const pool2d: Reference = ([x], params) => {
  const p = params as Record<string, number>
  const vertical = { kernel: p.kernel1!, stride: p.stride1!, padding: p.padding1! }
  const horizontal = { kernel: p.kernel0!, stride: p.stride0!, padding: p.padding0! }
  return pooled(x!, p.kind!, [vertical, horizontal], () => p.kernel0! * p.kernel1!)
}

interface Weighted {
  readonly index: number
  readonly weight: number
}

const clampTo = (i: number, n: number): number => Math.min(n - 1, Math.max(0, i))

/** Keys 1981, with a = -0.75. */
const cubicWeight = (distance: number): number => {
  const a = -0.75
  const x = Math.abs(distance)
  if (x <= 1) return (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1
  return x < 2 ? a * x ** 3 - 5 * a * x ** 2 + 8 * a * x - 4 * a : 0
}

/** Which elements of an axis make element `i` of its new size, and how much of each. */
const weightsOf = (i: number, to: number, from: number, params: Params): readonly Weighted[] => {
  const { kind, align_corners, antialias } = params
  if (kind === 0) {
    // The reference divides in f32, and so decides ties.
    const scale = Math.fround(to / from)
    const index = Math.floor(Math.fround(i / scale))
    return [{ index: Math.min(index, from - 1), weight: 1 }]
  }
  const corners = align_corners === 1
  const scale = corners && to > 1 && from > 1 ? (to - 1) / (from - 1) : to / from
  const offset = corners ? 0 : 0.5
  const place = (i + offset) / scale - offset
  if (antialias === 1) return trianglesAt(place, from, { scale, offset })
  const first = Math.floor(place)
  if (kind === 1) {
    const part = Math.min(1, Math.max(0, place - clampTo(first, from)))
    return [
      { index: clampTo(first, from), weight: 1 - part },
      { index: clampTo(first + 1, from), weight: part },
    ]
  }
  return [-1, 0, 1, 2].map((step) => ({
    index: clampTo(first + step, from),
    weight: cubicWeight(place - (first + step)),
  }))
}

/** A triangle over as many elements as become one, or two. */
const trianglesAt = (
  place: number,
  from: number,
  { scale, offset }: { scale: number; offset: number },
): readonly Weighted[] => {
  const support = Math.max(1, 1 / scale)
  const list = Array.from({ length: from }, (_, index) => ({
    index,
    weight: Math.max(0, 1 - Math.abs(index - (place + offset) + offset) / support),
  })).filter(({ weight }) => weight > 0)
  const total = list.reduce((sum, { weight }) => sum + weight, 0)
  return list.map(({ index, weight }) => ({ index, weight: weight / total }))
}

export const upscale: Reference = ([x], params) => {
  const p = params as Record<string, number>
  const sums = new Sums([p.n3!, p.n2!, p.n1!, p.n0!])
  const nearest = { ...params, kind: 0 }
  const axes = sums.shape.map((to, axis) => {
    const kind = axis < 2 ? nearest : params
    return Array.from({ length: to }, (_, i) => weightsOf(i, to, x!.shape[axis]!, kind))
  })
  eachIndex(sums.shape, ([i, c, j, k], at) => {
    const image = axes[0]![i]![0]!.index
    const channel = axes[1]![c]![0]!.index
    for (const line of axes[2]![j]!) {
      for (const column of axes[3]![k]!) {
        const value = x!.data[placeOf(x!.shape, image, channel, line.index, column.index)]!
        sums.add(at, value * line.weight * column.weight)
      }
    }
    // An error of a place in x moves weight between neighbours.
    const reach = 1 + x!.shape[2] + x!.shape[3]
    if (p.kind !== 0) sums.magnitude[at]! += reach * neighbourhood(x!, axes, [i, c, j, k])
  })
  const { data, magnitude } = sums
  return [{ dtype: x!.dtype, shape: sums.shape, data, ...(p.kind !== 0 && { magnitude }) }]
}

/** The largest magnitude among the elements that make one. */
const neighbourhood = (
  x: TensorValue,
  axes: readonly (readonly (readonly Weighted[])[])[],
  [i, c, j, k]: readonly [number, number, number, number],
): number => {
  let largest = 0
  const image = axes[0]![i]![0]!.index
  const channel = axes[1]![c]![0]!.index
  for (const line of axes[2]![j]!) {
    for (const column of axes[3]![k]!) {
      const at = placeOf(x.shape, image, channel, line.index, column.index)
      largest = Math.max(largest, Math.abs(x.data[at]!))
    }
  }
  return largest
}

/** Windows of a convolution, [vertical, horizontal]. */
const filterOf = (params: Params) => {
  const p = params as Record<string, number>
  return [
    { stride: p.stride1!, padding: p.padding1!, dilation: p.dilation1! },
    { stride: p.stride0!, padding: p.padding0!, dilation: p.dilation0! },
  ] as const
}

/** The element of x under weight (kh, kw) of the window at (j, k); 0 outside. */
const under = (
  x: TensorValue,
  [image, channel]: readonly [number, number],
  [v, h]: ReturnType<typeof filterOf>,
  [j, k, kh, kw]: readonly [number, number, number, number],
): number => {
  const y = j * v.stride - v.padding + kh * v.dilation
  const z = k * h.stride - h.padding + kw * h.dilation
  if (y < 0 || y >= x.shape[2] || z < 0 || z >= x.shape[3]) return 0
  return x.data[placeOf(x.shape, image, channel, y, z)]!
}

/** Sizes of the result's planes. */
const planeOf = (
  [height, width]: readonly [number, number],
  [kh, kw]: readonly [number, number],
  [v, h]: ReturnType<typeof filterOf>,
) =>
  [
    windows(height, kh, v.stride, v.padding, v.dilation),
    windows(width, kw, h.stride, h.padding, h.dilation),
  ] as const

/** kernel [out, in, kh, kw] and x [images, in, h, w] give [images, out, oh, ow]. */
export const conv2d: Reference = ([kernel, x], params) => {
  const [out, channels, kh, kw] = kernel!.shape
  const filter = filterOf(params)
  const [oh, ow] = planeOf([x!.shape[2], x!.shape[3]], [kh, kw], filter)
  const sums = new Sums([x!.shape[0], out, oh, ow])
  eachIndex(sums.shape, ([i, o, j, k], at) => {
    for (let c = 0; c < channels; c++) {
      for (let a = 0; a < kh; a++) {
        for (let b = 0; b < kw; b++) {
          const weight = kernel!.data[placeOf(kernel!.shape, o, c, a, b)]!
          sums.add(at, weight * under(x!, [i, c], filter, [j, k, a, b]))
        }
      }
    }
  })
  return [sums.expected()]
}

/** kernel [channels, 1, kh, kw]: each channel by itself. */
export const conv2dDw: Reference = ([kernel, x], params) => {
  const [channels, , kh, kw] = kernel!.shape
  const filter = filterOf(params)
  const [oh, ow] = planeOf([x!.shape[2], x!.shape[3]], [kh, kw], filter)
  const sums = new Sums([x!.shape[0], channels, oh, ow])
  eachIndex(sums.shape, ([i, c, j, k], at) => {
    for (let a = 0; a < kh; a++) {
      for (let b = 0; b < kw; b++) {
        const weight = kernel!.data[placeOf(kernel!.shape, c, 0, a, b)]!
        sums.add(at, weight * under(x!, [i, c], filter, [j, k, a, b]))
      }
    }
  })
  return [sums.expected()]
}

/**
 * Rows of what each weight sees: kernel [out, in, kh, kw] and x [images, in, h, w] give
 * [images, oh, ow, in * kh * kw]; in one dimension kernel [out, in, kw] and x [images, in, w] give
 * [images, ow, in * kw].
 */
export const im2col: Reference = ([kernel, x], params) => {
  const dtype = dtypeOfCode(params.dtype!)
  const two = params.two_dimensional === 1
  // One dimension is two with lines of one.
  const k = two ? kernel!.shape : [kernel!.shape[1], kernel!.shape[2], 1, kernel!.shape[3]]
  const plane: TensorValue = two ? x! : { ...x!, shape: [x!.shape[1], x!.shape[2], 1, x!.shape[3]] }
  const [v, h] = filterOf(params)
  const filter = [two ? v : { stride: 1, padding: 0, dilation: 1 }, h] as const
  const [, channels, kh, kw] = k as [number, number, number, number]
  const [oh, ow] = planeOf([plane.shape[2], plane.shape[3]], [kh, kw], filter)
  const images = plane.shape[0]
  const shape = [images, oh, ow, channels * kh * kw]
  const data = new Float64Array(countOf(shape))
  eachIndex(shape, ([i, line, column, weight], at) => {
    const c = Math.floor(weight / (kh * kw))
    const a = Math.floor(weight / kw) % kh
    data[at] = under(plane, [i, c], filter, [line, column, a, weight % kw])
  })
  return [{ dtype, shape: two ? shape : [1, images, ow, channels * kw], data }]
}

/** Every element of x adds a kernel's worth, `stride` apart. */
const transposed = (
  x: TensorValue,
  { kernel, shape, stride }: { kernel: TensorValue; shape: readonly number[]; stride: number },
  isHigh: boolean,
): Expected[] => {
  // kernel [in, out, kh, kw], where one dimension has no height.
  const sums = new Sums(shape)
  const [, out, kh, kw] = kernel.shape
  eachIndex(x.shape, ([i, c, j, k], from) => {
    for (let o = 0; o < out; o++) {
      for (let a = 0; a < kh; a++) {
        for (let b = 0; b < kw; b++) {
          const weight = kernel.data[placeOf(kernel.shape, c, o, a, b)]!
          const line = isHigh ? j * stride + a : 0
          const to = placeOf(shape, i, o, line, k * stride + b)
          sums.add(to, weight * x.data[from]!)
        }
      }
    }
  })
  return [sums.expected()]
}

const spread = (n: number, kernel: number, stride: number): number =>
  n === 0 || kernel === 0 ? 0 : (n - 1) * stride + kernel

/** kernel [in, out, kw] and x [in, w] give [out, (w - 1) * stride + kw]. */
export const convTranspose1d: Reference = ([kernel, x], { stride }) => {
  const [, channels, out, kw] = kernel!.shape
  const width = x!.shape[3]
  const shape = [1, out, 1, spread(width, kw, stride!)]
  const flat = {
    kernel: { ...kernel!, shape: [channels, out, 1, kw] } satisfies TensorValue,
    shape,
    stride: stride!,
  }
  const plane: TensorValue = { ...x!, shape: [1, channels, 1, width] }
  const [sums] = transposed(plane, flat, false)
  return [{ ...sums!, shape: [1, 1, out, shape[3]!] }]
}

/** kernel [in, out, kh, kw], x [images, in, h, w] give [images, out, (h - 1) * stride + kh, …]. */
export const convTranspose2d: Reference = ([kernel, x], { stride }) => {
  const [, out, kh, kw] = kernel!.shape
  const [images, , height, width] = x!.shape
  const shape = [images, out, spread(height, kh, stride!), spread(width, kw, stride!)]
  return transposed(x!, { kernel: kernel!, shape, stride: stride! }, true)
}
