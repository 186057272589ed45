// Sizes of dimensions: numbers, or extents whose value is set for each run within a maximum.
import { checkArray, checkObject } from '../errors/arguments.ts'

/**
 * A size that a program takes anew at each update, up to `max`. A dimension may be a whole
 * multiple of it, as when [rows, heads, size] is seen as [rows * heads, size].
 */
export interface Extent {
  readonly name: string
  readonly index: number
  readonly max: number
  readonly multiple: number
}

export type Dim = number | Extent

/** Throws TypeError unless `dims` are numbers and extents. */
export const checkDims = (dims: readonly Dim[]): void => {
  checkArray('dims', dims)
  for (const dim of dims) if (typeof dim !== 'number') checkObject('a size', dim)
}

/** The largest size that `dim` can have. */
export const maxOf = (dim: Dim): number => (typeof dim === 'number' ? dim : dim.max * dim.multiple)

/** `dim` when the extent `index` has `value`. */
export const sizeAt = (dim: Dim, index: number, value: number): number => {
  if (typeof dim === 'number') return dim
  return (dim.index === index ? value : dim.max) * dim.multiple
}

/** `dim` times a whole number. */
export const times = (dim: Dim, factor: number): Dim =>
  typeof dim === 'number' ? dim * factor : { ...dim, multiple: dim.multiple * factor }

export const sameDim = (a: Dim, b: Dim): boolean => {
  if (typeof a === 'number' || typeof b === 'number') return a === b
  return a.index === b.index && a.multiple === b.multiple
}

/** The product of all sizes, with every extent at its maximum. */
export const countOf = (dims: readonly Dim[]): number => dims.map(maxOf).reduce((a, b) => a * b, 1)

/** The dimension that follows an extent, or -1. */
export const extentAxis = (dims: readonly Dim[]): number =>
  dims.findIndex((dim) => typeof dim !== 'number')

/**
 * Whether only the outermost size may vary. Memory is laid out for the largest sizes, so that
 * elsewhere a smaller one leaves gaps.
 */
export const variesOutside = (dims: readonly Dim[]): boolean =>
  countOf(dims.slice(0, Math.max(0, extentAxis(dims)))) === 1

/** Tensors have fewer values than this; native code holds to it as well. */
const countMax = 2 ** 48

/** What is wrong with the sizes of a tensor whose rows are whole blocks of `blockLength` values. */
export const complaintOf = (dims: readonly Dim[], blockLength: number): string | undefined => {
  if (dims.length < 1 || dims.length > 4) return 'one to four sizes are needed'
  if (!dims.every((dim) => Number.isSafeInteger(maxOf(dim)) && maxOf(dim) >= 0)) {
    return 'sizes are whole numbers'
  }
  if (dims.filter((dim) => typeof dim !== 'number').length > 1) return 'two sizes follow extents'
  if (!(countOf(dims.map((dim) => Math.max(1, maxOf(dim)))) < countMax)) return 'too many values'
  const last = dims.at(-1)!
  const whole = typeof last === 'number' ? last : last.multiple
  if (whole % blockLength !== 0) return 'a row is whole blocks'
  return undefined
}
