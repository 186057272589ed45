// Rows of any dtype as numbers and back, without the library's own code.
import type { DType } from '../../../src/native/dtype.ts'
import { rowBytes } from '../../../src/native/dtype.ts'
import { dtypes } from '../../../src/native/ops.gen.ts'
import { blockFormats } from './block_formats.ts'
import { goldenBlocks, keyOf } from './golden_blocks.ts'
import { plainFormats } from './number_formats.ts'
import { quantizers, rowOfActivations } from './quantizers.ts'

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The values of rows without gaps, `length` values each. */
export const decode = (dtype: DType, bytes: Uint8Array, length: number): Float64Array => {
  const view = viewOf(bytes)
  const plain = plainFormats[dtype]
  if (plain !== undefined) {
    const out = new Float64Array(bytes.length / plain.bytes)
    for (let i = 0; i < out.length; i++) out[i] = plain.read(view, i * plain.bytes)
    return out
  }
  if (length === 0) return new Float64Array(0)
  if (dtype === 'q8_row') return decodeActivations(view, bytes.length, length)
  const { blockLength, blockBytes } = dtypes[dtype]
  const count = bytes.length / blockBytes
  const out = new Float64Array(count * blockLength)
  const format = blockFormats[dtype]
  for (let b = 0; b < count; b++) {
    if (format !== undefined) {
      format.decode(view, b * blockBytes, out, b * blockLength)
    } else {
      const block = bytes.subarray(b * blockBytes, (b + 1) * blockBytes)
      const values = goldenBlocks(dtype).read.get(keyOf(block))
      if (values === undefined) throw new Error(`no golden tells what a block of ${dtype} holds`)
      out.set(values, b * blockLength)
    }
  }
  return out
}

/** A row of q8_row: n numbers of 8 bits, then n / 32 scales (zig/dtype.zig). */
const decodeActivations = (view: DataView, size: number, length: number): Float64Array => {
  const bytesEach = rowBytes('q8_row', length)
  const out = new Float64Array((size / bytesEach) * length)
  for (let i = 0; i < out.length; i++) {
    const at = Math.floor(i / length) * bytesEach
    const k = i % length
    out[i] = view.getInt8(at + k) * view.getFloat32(at + length + 4 * (k >> 5), true)
  }
  return out
}

/**
 * Rows of f32 values in a dtype, `length` values each. Blocks are as the reference writes them
 * without an importance matrix; undefined where neither definition nor golden tells.
 */
export const encode = (
  dtype: DType,
  values: Float64Array,
  length: number,
): Uint8Array | undefined => {
  const plain = plainFormats[dtype]
  if (plain !== undefined) {
    const bytes = new Uint8Array(values.length * plain.bytes)
    const view = viewOf(bytes)
    for (let i = 0; i < values.length; i++) plain.write(view, i * plain.bytes, values[i]!)
    return bytes
  }
  const source = Float32Array.from(values)
  if (dtype === 'q8_row') return encodeActivations(source, length)
  const { blockLength, blockBytes } = dtypes[dtype]
  const count = source.length / blockLength
  const bytes = new Uint8Array(count * blockBytes)
  const quantize = quantizers[dtype]
  for (let b = 0; b < count; b++) {
    const block = source.subarray(b * blockLength, (b + 1) * blockLength)
    if (quantize !== undefined) {
      quantize(block, viewOf(bytes), b * blockBytes)
    } else {
      const written = goldenBlocks(dtype).written.get(keyOf(block))
      if (written === undefined) return undefined
      bytes.set(written, b * blockBytes)
    }
  }
  return bytes
}

const encodeActivations = (values: Float32Array, length: number): Uint8Array => {
  const rows = length === 0 ? 0 : values.length / length
  const bytesEach = rowBytes('q8_row', length)
  const bytes = new Uint8Array(rows * bytesEach)
  for (let r = 0; r < rows; r++) {
    const view = new DataView(bytes.buffer, r * bytesEach, bytesEach)
    rowOfActivations(values.subarray(r * length, (r + 1) * length), view)
  }
  return bytes
}
