// Rows, or groups of planes, brought to a common size.
import { countOf, eachIndex, placeOf, type Reference } from './reference.ts'
import { alibiSlope, softmaxOf } from './softmax.ts'

/** x / sqrt(mean(x^2) + epsilon) * weight (Zhang and Sennrich 2019, arXiv:1910.07467). */
export const rmsNorm: Reference = ([x, weight], { epsilon }) => {
  const n = x!.shape[3]
  const data = new Float64Array(countOf(x!.shape))
  for (let first = 0; first < data.length; first += n) {
    let sum = 0
    for (let i = first; i < first + n; i++) sum += x!.data[i]! ** 2
    const scale = 1 / Math.sqrt(sum / n + epsilon!)
    for (let i = 0; i < n; i++) {
      data[first + i] = x!.data[first + i]! * scale * (weight === undefined ? 1 : weight.data[i]!)
    }
  }
  return [{ dtype: x!.dtype, shape: x!.shape, data }]
}

/** (x - mean) / sqrt(variance + epsilon) of the values at `first` to `end`, with magnitudes. */
const standardize = (
  x: Float64Array,
  [first, end]: readonly [number, number],
  epsilon: number,
  put: (i: number, value: number, magnitude: number) => void,
) => {
  const count = end - first
  let sum = 0
  for (let i = first; i < end; i++) sum += x[i]!
  const mean = sum / count
  let squares = 0
  for (let i = first; i < end; i++) squares += (x[i]! - mean) ** 2
  const scale = 1 / Math.sqrt(squares / count + epsilon)
  for (let i = first; i < end; i++) {
    // A subnormal mean is rounded as coarsely as the smallest normal number.
    const size = Math.max(Math.abs(x[i]!) + Math.abs(mean), 2 ** -126)
    put(i, (x[i]! - mean) * scale, size * scale)
  }
}

/** Times weight, plus bias, over each row (Ba et al. 2016, arXiv:1607.06450). */
export const layerNorm: Reference = ([x, weight, bias], { epsilon }) => {
  const { dtype, shape } = x!
  const n = shape[3]
  const data = new Float64Array(countOf(shape))
  const magnitude = new Float64Array(data.length)
  for (let first = 0; first < data.length; first += n) {
    standardize(x!.data, [first, first + n], epsilon!, (i, value, size) => {
      const w = weight === undefined ? 1 : weight.data[i - first]!
      const b = bias === undefined ? 0 : bias.data[i - first]!
      data[i] = value * w + b
      magnitude[i] = size * Math.abs(w) + Math.abs(b)
    })
  }
  return [{ dtype, shape, data, magnitude }]
}

/** x / max(|x|, epsilon) for each row. */
export const l2Norm: Reference = ([x], { epsilon }) => {
  const { dtype, shape } = x!
  const n = shape[3]
  const data = new Float64Array(countOf(shape))
  for (let first = 0; first < data.length; first += n) {
    const row = x!.data.subarray(first, first + n)
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0))
    for (const [i, value] of row.entries()) data[first + i] = value / Math.max(length, epsilon!)
  }
  return [{ dtype, shape, data }]
}

/**
 * x [images, channels, height, width] in groups of ceil(channels / groups) channels, of which the
 * last may be smaller (Wu and He 2018, arXiv:1803.08494).
 */
export const groupNorm: Reference = ([x], { groups, epsilon }) => {
  const { dtype, shape } = x!
  const [images, channels, height, width] = shape
  const each = Math.ceil(channels / groups!)
  const data = new Float64Array(countOf(shape))
  const magnitude = new Float64Array(data.length)
  const plane = height * width
  for (let image = 0; image < images; image++) {
    for (let channel = 0; channel < channels; channel += each) {
      const first = (image * channels + channel) * plane
      const end = (image * channels + Math.min(channel + each, channels)) * plane
      standardize(x!.data, [first, end], epsilon!, (i, value, size) => {
        data[i] = value
        magnitude[i] = size
      })
    }
  }
  return [{ dtype, shape, data, magnitude }]
}

/**
 * softmax(scale x + slope mask) of each row of x [batches, heads, rows, keys]. A sink joins its
 * head's denominator; a row that is masked throughout gives zeros.
 */
export const softMax: Reference = ([x, mask, sinks], { scale, alibi_max }) => {
  const { dtype, shape } = x!
  const [, heads, rows, n] = shape
  const data = new Float64Array(countOf(shape))
  const magnitude = new Float64Array(data.length)
  eachIndex([...shape.slice(0, 3), 1], ([batch, head, row], r) => {
    const slope = alibi_max === 0 ? 1 : alibiSlope(head, heads, alibi_max!)
    const maskRow = mask && placeOf(mask.shape, batch % mask.shape[0], head % mask.shape[1], row, 0)
    const scores = Array.from(x!.data.subarray(r * n, (r + 1) * n), (value, i) => {
      const bias = maskRow === undefined ? 0 : mask!.data[maskRow + i]! * slope
      return { score: value * scale! + bias, size: Math.abs(value * scale!) + Math.abs(bias) }
    })
    const sink = sinks === undefined ? Number.NEGATIVE_INFINITY : sinks.data[head]!
    for (const [i, { weight, error }] of softmaxOf(scores, sink).entries()) {
      data[r * n + i] = weight
      magnitude[r * n + i] = weight * error
    }
  })
  return [{ dtype, shape: [shape[0], heads, rows, n], data, magnitude }]
}
