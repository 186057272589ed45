// Sizes of dimensions: numbers, or extents whose value is set for each run within a maximum.

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
