// Rows of the storage formats, read into float32 and written from it, outside of any program.
import { ptr } from 'bun:ffi'
import { type DType, rowBytes } from './dtype.ts'
import { native } from './library.ts'
import { dtypes } from './ops.gen.ts'
import { expectOk } from './status.ts'

/** Bytes of a row of `length` values. */
const bytesOf = (dtype: DType, length: number): number => {
  const bytes = rowBytes(dtype, length)
  if (length > 0 && Number.isInteger(bytes)) return bytes
  const { blockLength } = dtypes[dtype]
  throw new RangeError(
    `${dtype}: no rows of ${length} values, only of a multiple of ${blockLength}`,
  )
}

/** How many rows of `size` are in `total`. */
const rowsOf = (dtype: DType, total: number, size: number, unit: string): number => {
  if (total % size === 0) return total / size
  throw new RangeError(`${dtype}: ${total} ${unit} are no whole rows of ${size}`)
}

/**
 * Values of contiguous rows of `length` values each, bit-exact to the reference.
 *
 * @throws RangeError when `bytes` are no whole rows; LeavenError when the dtype cannot be read.
 * @example dequantize('q8_0', new Uint8Array(34), 32) // Float32Array(32)
 */
export const dequantize = (
  dtype: DType,
  bytes: Uint8Array,
  length: number,
): Float32Array<ArrayBuffer> => {
  const rows = rowsOf(dtype, bytes.length, bytesOf(dtype, length), 'bytes')
  const values = new Float32Array(new ArrayBuffer(rows * length * 4))
  if (rows === 0) return values
  const { code } = dtypes[dtype]
  expectOk(native.leaven_dequantize(code, ptr(bytes), ptr(values), rows, length), dtype)
  return values
}

/**
 * Rows of `length` values as bytes of `dtype`, byte-exact to the reference. `importance` holds a
 * weight for each of the `length` columns, larger where errors cost more; iq1_s, iq2_xxs and
 * iq2_xs cannot be written without one.
 *
 * @throws RangeError when `values` are no whole rows or `importance` has another length;
 *   LeavenError when the dtype cannot be written, or not without `importance`.
 * @example quantize('q8_0', new Float32Array(32), 32) // Uint8Array(34)
 */
export const quantize = (
  dtype: DType,
  values: Float32Array,
  length: number,
  importance?: Float32Array | undefined,
): Uint8Array<ArrayBuffer> => {
  const size = bytesOf(dtype, length)
  const rows = rowsOf(dtype, values.length, length, 'values')
  if (importance !== undefined && importance.length !== length) {
    throw new RangeError(`importance: ${importance.length} weights for ${length} columns`)
  }
  const bytes = new Uint8Array(new ArrayBuffer(rows * size))
  if (rows === 0) return bytes
  const weights = importance === undefined ? null : ptr(importance)
  const { code } = dtypes[dtype]
  expectOk(native.leaven_quantize(code, ptr(values), ptr(bytes), rows, length, weights), dtype)
  return bytes
}
