// One value, or an order, of many.
import { plainFormats } from './number_formats.ts'
import { countOf, type Expected, type Reference } from './reference.ts'

/** One result per `size` values that lie together, of the sum and the sum of magnitudes. */
const summed =
  (
    rowOf: (shape: readonly number[]) => { size: number; shape: number[] },
    isMean = false,
  ): Reference =>
  ([x]) => {
    const { size, shape } = rowOf(x!.shape)
    const count = countOf(shape)
    const data = new Float64Array(count)
    const magnitude = new Float64Array(count)
    const divisor = isMean ? size : 1
    for (let row = 0; row < count; row++) {
      for (const value of x!.data.subarray(row * size, (row + 1) * size)) {
        data[row]! += value
        magnitude[row]! += Math.abs(value)
      }
      data[row]! /= divisor
      magnitude[row]! /= divisor
    }
    return [{ dtype: x!.dtype, shape, data, magnitude }]
  }

const lastRows = (shape: readonly number[]) => ({
  size: shape[3]!,
  shape: [...shape.slice(0, 3), 1],
})

export const sum = summed((shape) => ({ size: countOf(shape), shape: [1, 1, 1, 1] }))
export const sumRows = summed(lastRows)
export const mean = summed(lastRows, true)

/** y[i] = x[0] + … + x[i] along each row. */
export const cumsum: Reference = ([x]) => {
  const { dtype, shape } = x!
  const data = new Float64Array(x!.data.length)
  const magnitude = new Float64Array(data.length)
  let total = 0
  let size = 0
  for (const [i, value] of x!.data.entries()) {
    if (i % shape[3] === 0) {
      total = 0
      size = 0
    }
    total += value
    size += Math.abs(value)
    data[i] = total
    magnitude[i] = size
  }
  return [{ dtype, shape, data, magnitude }]
}

/** Rows of x as lists of numbers, each made something of that becomes i32. */
const positions = (
  x: { shape: readonly number[]; data: Float64Array },
  width: number,
  find: (row: Float64Array) => readonly number[],
): Float64Array => {
  const n = x.shape[3]!
  const rows = countOf(x.shape.slice(0, 3))
  const data = new Float64Array(rows * width)
  for (let r = 0; r < rows; r++) {
    data.set(find(x.data.subarray(r * n, (r + 1) * n)).slice(0, width), r * width)
  }
  return data
}

const integers = (shape: readonly number[], data: Float64Array): Expected => ({
  dtype: 'i32',
  shape,
  data,
})

/** x [rows, n] gives [rows]: the last position of the largest value; NaN is never the largest. */
export const argmax: Reference = ([x]) => {
  const lastLargest = (row: Float64Array): number => {
    let best = Number.NEGATIVE_INFINITY
    let at = 0
    for (const [i, value] of row.entries()) {
      if (!(value >= best)) continue
      best = value
      at = i
    }
    return at
  }
  const data = positions(x!, 1, (row) => [lastLargest(row)])
  return [integers([1, 1, 1, x!.shape[2]], data)]
}

/** NaN is larger than everything. */
const compare = (a: number, b: number): number => {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  return a < b ? -1 : a > b ? 1 : 0
}

/** Positions in ascending or descending order; equal values keep theirs. */
const orderOf = (row: Float64Array, sign: number): number[] =>
  Array.from(row, (_, i) => i).sort((a, b) => sign * compare(row[a]!, row[b]!) || a - b)

export const argsort: Reference = ([x], { descending }) => {
  const sign = descending === 1 ? -1 : 1
  return [
    integers(
      x!.shape,
      positions(x!, x!.shape[3], (row) => orderOf(row, sign)),
    ),
  ]
}

/** The positions of the k largest, largest first. */
export const topK: Reference = ([x], { k }) => {
  const data = positions(x!, k!, (row) => orderOf(row, -1))
  return [integers([...x!.shape.slice(0, 3), k!], data)]
}

/** How many elements are equal, as i64. */
export const countEqual: Reference = ([a, b]) => {
  const count = a!.data.reduce((n, value, i) => n + Number(value === b!.data[i]), 0)
  const bytes = new Uint8Array(8)
  plainFormats.i64!.write(new DataView(bytes.buffer), 0, count)
  return [{ dtype: 'i64', shape: [1, 1, 1, 1], data: Float64Array.of(count), bytes }]
}
