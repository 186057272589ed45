// What blocks become of f32 values, for the formats whose rule is short: scale by the largest
// value and round. Steps are f32, in the order that the reference has, so that bytes are exact.
import type { DType } from '../../../src/native/dtype.ts'

const f32 = Math.fround

export type Quantizer = (x: Float32Array, view: DataView, at: number) => void

/** The value whose magnitude is largest, the first of them. */
const extreme = (x: Float32Array): number => {
  let best = 0
  for (const value of x) if (Math.abs(value) > Math.abs(best)) best = value
  return best
}

/** To the nearest whole number, halves away from zero. */
const roundAway = (x: number): number => Math.sign(x) * Math.floor(Math.abs(x) + 0.5)

/** What a conversion to 8 bits keeps; beyond 32 bits it is 0, as where a scale has no inverse. */
const cut = (x: number): number => (Math.abs(x) < 2 ** 31 ? Math.trunc(x) : 0)

const inverse = (d: number): number => (d === 0 ? 0 : f32(1 / d))

/** The scale, as the block stores it, and the numbers of q8_0 and q8_1. */
const bytesOf = (x: Float32Array) => {
  const d = f32(Math.abs(extreme(x)) / 127)
  const id = inverse(d)
  return { d, q: Array.from(x, (value) => cut(roundAway(f32(value * id)))) }
}

const pairs = (q: readonly number[], view: DataView, at: number) => {
  for (let j = 0; j < 16; j++) view.setUint8(at + j, (q[j]! & 15) | ((q[j + 16]! & 15) << 4))
}

const fifthBits = (q: readonly number[]): number =>
  q.reduce((bits, number, j) => (bits | ((number >> 4) << j)) >>> 0, 0)

/** Numbers from 0 to `top` with the largest magnitude at 0: q4_0 and q5_0. */
const signed = (x: Float32Array, top: number) => {
  const half = (top + 1) / 2
  const d = f32(extreme(x) / -half)
  const id = inverse(d)
  const q = Array.from(x, (v) => Math.min(top, cut(f32(f32(v * id) + f32(half + 0.5)))))
  return { d, q }
}

/** Numbers from 0 to `top` between smallest and largest: q4_1 and q5_1. */
const ranged = (x: Float32Array, top: number) => {
  const min = Math.min(...x)
  const d = f32(f32(Math.max(...x) - min) / top)
  const id = inverse(d)
  const q = Array.from(x, (v) => Math.min(top, cut(f32(f32(f32(v - min) * id) + 0.5))))
  return { d, min, q }
}

export const quantizers: Partial<Record<DType, Quantizer>> = {
  q8_0: (x, view, at) => {
    const { d, q } = bytesOf(x)
    view.setFloat16(at, d, true)
    for (const [j, number] of q.entries()) view.setInt8(at + 2 + j, number)
  },
  q8_1: (x, view, at) => {
    const { d, q } = bytesOf(x)
    view.setFloat16(at, d, true)
    view.setFloat16(at + 2, f32(q.reduce((a, b) => a + b, 0) * d), true)
    for (const [j, number] of q.entries()) view.setInt8(at + 4 + j, number)
  },
  q4_0: (x, view, at) => {
    const { d, q } = signed(x, 15)
    view.setFloat16(at, d, true)
    pairs(q, view, at + 2)
  },
  q4_1: (x, view, at) => {
    const { d, min, q } = ranged(x, 15)
    view.setFloat16(at, d, true)
    view.setFloat16(at + 2, min, true)
    pairs(q, view, at + 4)
  },
  q5_0: (x, view, at) => {
    const { d, q } = signed(x, 31)
    view.setFloat16(at, d, true)
    view.setUint32(at + 2, fifthBits(q), true)
    pairs(q, view, at + 6)
  },
  q5_1: (x, view, at) => {
    const { d, min, q } = ranged(x, 31)
    view.setFloat16(at, d, true)
    view.setFloat16(at + 2, min, true)
    view.setUint32(at + 4, fifthBits(q), true)
    pairs(q, view, at + 8)
  },
}

/** To the nearest whole number, halves to even. */
const roundEven = (x: number): number => {
  const below = Math.floor(x)
  const rest = x - below
  if (rest !== 0.5) return Math.round(x)
  return below % 2 === 0 ? below : below + 1
}

/**
 * A row of q8_row: scales of 32 neighbours are largest / 127; a block with an infinity or NaN has
 * it as its scale and zeros; one whose largest is below 2^-120 is zero.
 */
export const rowOfActivations = (x: Float32Array, view: DataView): void => {
  const n = x.length
  for (let b = 0; b < n / 32; b++) {
    const block = x.subarray(b * 32, b * 32 + 32)
    const largest = block.reduce((a, v) => Math.max(a, Math.abs(v)), 0)
    const usable = largest >= 2 ** -120 && largest < Number.POSITIVE_INFINITY
    const scale = usable ? f32(largest / 127) : largest < 1 ? 0 : largest
    const factor = f32(127 / largest)
    const sums = [0, 0]
    for (const [j, value] of block.entries()) {
      const q = usable ? roundEven(f32(value * factor)) : 0
      view.setInt8(b * 32 + j, q)
      sums[j >> 4]! += q
    }
    view.setFloat32(n + b * 4, scale, true)
    view.setInt16(n + n / 8 + b * 4, sums[0]!, true)
    view.setInt16(n + n / 8 + b * 4 + 2, sums[1]!, true)
  }
}
