// Plain dtypes as numbers, written from their definitions: IEEE 754 for f64, f32 and f16, the upper
// half of an f32 for bf16, two's complement for integers.
import type { DType } from '../../../src/native/dtype.ts'

export interface PlainFormat {
  bytes: number
  read(view: DataView, at: number): number
  /** Rounds to nearest, ties to even; integers are cut off and held inside their range. */
  write(view: DataView, at: number, value: number): void
}

const words = new DataView(new ArrayBuffer(4))

const bf16OfNumber = (value: number): number => {
  words.setFloat32(0, value)
  const bits = words.getUint32(0)
  if (Number.isNaN(value)) return (bits >>> 16) | 0x40
  // Half of what is dropped, less one where the kept part is even.
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) / 2 ** 16) & 0xffff
}

const numberOfBf16 = (bits: number): number => {
  words.setUint32(0, (bits << 16) >>> 0)
  return words.getFloat32(0)
}

const cut = (value: number, low: number, high: number): number =>
  Number.isNaN(value) ? 0 : Math.min(high, Math.max(low, Math.trunc(value)))

const cutLong = (value: number): bigint => {
  if (Number.isNaN(value)) return 0n
  if (value >= 2 ** 63) return 2n ** 63n - 1n
  if (value <= -(2 ** 63)) return -(2n ** 63n)
  return BigInt(Math.trunc(value))
}

export const plainFormats: Partial<Record<DType, PlainFormat>> = {
  f64: {
    bytes: 8,
    read: (v, at) => v.getFloat64(at, true),
    write: (v, at, x) => v.setFloat64(at, x, true),
  },
  f32: {
    bytes: 4,
    read: (v, at) => v.getFloat32(at, true),
    write: (v, at, x) => v.setFloat32(at, x, true),
  },
  f16: {
    bytes: 2,
    read: (v, at) => v.getFloat16(at, true),
    write: (v, at, x) => v.setFloat16(at, x, true),
  },
  bf16: {
    bytes: 2,
    read: (v, at) => numberOfBf16(v.getUint16(at, true)),
    write: (v, at, x) => v.setUint16(at, bf16OfNumber(x), true),
  },
  i8: {
    bytes: 1,
    read: (v, at) => v.getInt8(at),
    write: (v, at, x) => v.setInt8(at, cut(x, -128, 127)),
  },
  u8: {
    bytes: 1,
    read: (v, at) => v.getUint8(at),
    write: (v, at, x) => v.setUint8(at, cut(x, 0, 255)),
  },
  i16: {
    bytes: 2,
    read: (v, at) => v.getInt16(at, true),
    write: (v, at, x) => v.setInt16(at, cut(x, -(2 ** 15), 2 ** 15 - 1), true),
  },
  i32: {
    bytes: 4,
    read: (v, at) => v.getInt32(at, true),
    write: (v, at, x) => v.setInt32(at, cut(x, -(2 ** 31), 2 ** 31 - 1), true),
  },
  u32: {
    bytes: 4,
    read: (v, at) => v.getUint32(at, true),
    write: (v, at, x) => v.setUint32(at, cut(x, 0, 2 ** 32 - 1), true),
  },
  i64: {
    bytes: 8,
    read: (v, at) => Number(v.getBigInt64(at, true)),
    write: (v, at, x) => v.setBigInt64(at, cutLong(x), true),
  },
}

/** The significand's bits, the exponent of the smallest normal, and the largest number. */
export interface Precision {
  readonly bits: number
  readonly lowest: number
  readonly max: number
}

export const precisions: Partial<Record<DType, Precision>> = {
  f64: { bits: 53, lowest: -1022, max: Number.MAX_VALUE },
  f32: { bits: 24, lowest: -126, max: (2 - 2 ** -23) * 2 ** 127 },
  f16: { bits: 11, lowest: -14, max: 65504 },
  bf16: { bits: 8, lowest: -126, max: (2 - 2 ** -7) * 2 ** 127 },
}

/** The distance of neighbouring numbers of a dtype at `value`; that of subnormals near 0. */
export const unitAt = ({ bits, lowest }: Precision, value: number): number => {
  const magnitude = Math.abs(value)
  if (!(magnitude >= 2 ** lowest)) return 2 ** (lowest - bits + 1)
  if (magnitude === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  let exponent = Math.floor(Math.log2(magnitude))
  // Math.log2 may round up to the next power.
  if (2 ** exponent > magnitude) exponent -= 1
  return 2 ** (exponent - bits + 1)
}
