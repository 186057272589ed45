// Arithmetic of two tensors, and conversions.
import { dtypeOfCode } from '../../../src/native/dtype.ts'
import type { TensorValue } from '../tensor_value.ts'
import { encode } from './codec.ts'
import { countOf, type Expected, eachIndex, placeOf, type Reference } from './reference.ts'

/** y = f(a, b), where b is repeated along each dimension to a's size. */
const binary =
  (f: (a: number, b: number) => number): Reference =>
  ([a, b]) => {
    const data = new Float64Array(countOf(a!.shape))
    eachIndex(a!.shape, ([i, j, k, l], at) => {
      const [bi, bj, bk, bl] = b!.shape
      data[at] = f(a!.data[at]!, b!.data[placeOf(b!.shape, i % bi, j % bj, k % bk, l % bl)]!)
    })
    return [{ dtype: a!.dtype, shape: a!.shape, data }]
  }

export const add = binary((a, b) => a + b)
export const sub = binary((a, b) => a - b)
export const mul = binary((a, b) => a * b)
export const div = binary((a, b) => a / b)

/** The same values in another dtype. */
export const copy: Reference = ([x], { dtype }) => [converted(x!, dtypeOfCode(dtype!))]

const converted = (x: TensorValue, dtype: TensorValue['dtype']): Expected => {
  const { shape, data } = x
  if (x.dtype === dtype) return { dtype, shape, data, bytes: x.bytes }
  const bytes = encode(dtype, data, shape[3])
  if (bytes === undefined) throw new Error(`no rule tells what ${dtype} becomes of these values`)
  return { dtype, shape, data, bytes }
}
