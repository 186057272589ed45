// What a reference is: an op's definition, computed in f64 from the values that a kernel reads.
import type { Params } from '../../../src/graph/params.ts'
import type { DType } from '../../../src/native/dtype.ts'
import type { TensorValue } from '../tensor_value.ts'

export interface Expected {
  readonly dtype: DType
  /** Four sizes, outermost first. */
  readonly shape: readonly number[]
  readonly data: Float64Array
  /**
   * What rounding errors are measured by, for each element: the sum of the magnitudes that were
   * added up, for example. Without it, the element's own.
   */
  readonly magnitude?: Float64Array
  /** The most that the op's definition allows beside rounding, as for 8-bit activations. */
  readonly slack?: Float64Array
  /** The standard deviation of what it allows, where that is the sum of many independent errors. */
  readonly deviation?: Float64Array
  /** The very bytes, where the op moves or writes them by a fixed rule. */
  readonly bytes?: Uint8Array
}

/** `params` are as the kernel reads them: f32 values are rounded. One result per output. */
export type Reference = (
  operands: readonly (TensorValue | undefined)[],
  params: Params,
) => Expected[]

/** Visits every index of four sizes with its place in a tensor without gaps. */
export const eachIndex = (
  shape: readonly number[],
  visit: (index: readonly [number, number, number, number], at: number) => void,
): void => {
  const [a, b, c, d] = shape as [number, number, number, number]
  let at = 0
  for (let i = 0; i < a; i++) {
    for (let j = 0; j < b; j++) {
      for (let k = 0; k < c; k++) for (let l = 0; l < d; l++) visit([i, j, k, l], at++)
    }
  }
}

/** The place of an index in a tensor without gaps. */
export const placeOf = (shape: readonly number[], i: number, j: number, k: number, l: number) =>
  ((i * shape[1]! + j) * shape[2]! + k) * shape[3]! + l

export const countOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1)
