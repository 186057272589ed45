// Random weights in any weight type of GGUF: valid blocks whose values have a wanted deviation.
// Every code of a block is drawn; its scale is set so that the values come out right.
import { type GgufTensorType, ggufTensorTypes } from '../src/files/index.ts'

/** A generator of 32-bit numbers: xoshiro128** of Blackman and Vigna, seeded by SplitMix32. */
export class Random {
  readonly #state = new Uint32Array(4)

  constructor(seed: number) {
    let mix = seed >>> 0
    for (let index = 0; index < 4; index++) {
      mix = (mix + 0x9e3779b9) >>> 0
      let bits = Math.imul(mix ^ (mix >>> 16), 0x21f0aaad)
      bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97)
      this.#state[index] = bits ^ (bits >>> 15)
    }
  }

  u32(): number {
    const state = this.#state
    const [a, b, c, d] = state as unknown as [number, number, number, number]
    const five = Math.imul(b, 5)
    const result = Math.imul((five << 7) | (five >>> 25), 9) >>> 0
    const mixed = c ^ a
    const last = d ^ b
    state[1] = b ^ mixed
    state[0] = a ^ last
    state[2] = mixed ^ (b << 9)
    state[3] = (last << 11) | (last >>> 21)
    return result
  }

  /** In [0, 1). */
  float(): number {
    return this.u32() / 2 ** 32
  }

  /** An integer in [0, count). */
  below(count: number): number {
    return Math.floor(this.float() * count)
  }

  bytes(count: number): Uint8Array {
    const words = new Uint32Array(Math.ceil(count / 4))
    for (let index = 0; index < words.length; index++) words[index] = this.u32()
    return new Uint8Array(words.buffer, 0, count)
  }

  /** Normally distributed with the given deviation (Box and Muller). */
  gaussian(count: number, deviation: number): Float32Array {
    const values = new Float32Array(count)
    for (let index = 0; index < count; index += 2) {
      const radius = deviation * Math.sqrt(-2 * Math.log(1 - this.float()))
      const angle = 2 * Math.PI * this.float()
      values[index] = radius * Math.cos(angle)
      if (index + 1 < count) values[index + 1] = radius * Math.sin(angle)
    }
    return values
  }
}

// Where the f16 scales of a block lie, and what a deviation of 1 needs there: one over the
// deviation of the values at scale 1. A minimum (second field) takes the mean away.
const halfScales: Partial<Record<GgufTensorType, readonly (readonly [number, number])[]>> = {
  q4_0: [[0, 1 / 4.6]],
  q4_1: [
    [0, 1 / 4.6],
    [2, -7.5 / 4.6],
  ],
  q5_0: [[0, 1 / 9.2]],
  q5_1: [
    [0, 1 / 9.2],
    [2, -15.5 / 9.2],
  ],
  q8_0: [[0, 1 / 73.9]],
  q2_K: [
    [80, 1 / 14],
    [82, 1.5 / 14],
  ],
  q3_K: [[108, 1 / 43]],
  q4_K: [
    [0, 1 / 258],
    [2, 7.5 / 258],
  ],
  q5_K: [
    [0, 1 / 527],
    [2, 15.5 / 527],
  ],
  q6_K: [[208, 1 / 1367]],
  iq2_xxs: [[0, 1 / 60]],
  iq2_xs: [[0, 1 / 60]],
  iq2_s: [[0, 1 / 60]],
  iq3_xxs: [[0, 1 / 160]],
  iq3_s: [[0, 1 / 160]],
  iq1_s: [[0, 1 / 7.5]],
  iq4_nl: [[0, 1 / 70]],
  iq4_xs: [[0, 1 / 1295]],
  tq1_0: [[52, 1 / 0.8]],
  tq2_0: [[64, 1 / 1.2]],
  q1_0: [[0, 1]],
  q2_0: [[0, 1 / 1.2]],
}

/** Weight types that `randomBlocks` can make: all but those for activations and integers. */
export const randomTypes = Object.keys(ggufTensorTypes).filter(
  (type) => !/^(q8_1|q8_K|f64|i\d+)$/.test(type),
) as readonly GgufTensorType[]

/**
 * `blockCount` blocks of `type` whose values have about the deviation given and a mean near 0.
 * Scales differ from block to block and half of them are negative, which leaves no format a mean.
 */
export const randomBlocks = (
  type: GgufTensorType,
  blockCount: number,
  deviation: number,
  random: Random,
): Uint8Array => {
  if (!randomTypes.includes(type)) throw new RangeError(`no random weights of type ${type}`)
  const { blockBytes } = ggufTensorTypes[type]
  if (type === 'f32' || type === 'f16' || type === 'bf16') {
    return randomFloats(type, random.gaussian(blockCount, deviation))
  }
  const blocks = random.bytes(blockCount * blockBytes)
  const view = new DataView(blocks.buffer)
  const fields = halfScales[type] ?? []
  for (let start = 0; start < blocks.length; start += blockBytes) {
    const bits = random.u32()
    const scale = (bits & 1 ? 1 : -1) * deviation * (0.75 + (bits >>> 8) / 2 ** 25)
    for (const [at, factor] of fields) view.setFloat16(start + at, scale * factor, true)
    if (type === 'iq1_m') setIq1mScale(view, start, scale / 7.5)
    // Powers of two, by the deviation 2.93 of the fp4 codes (0, 0.5, 1, 1.5, 2, 3, 4, 6).
    if (type === 'mxfp4') blocks[start] = 127 + Math.round(Math.log2(Math.abs(scale) / 2.93))
    if (type === 'nvfp4') for (let at = 0; at < 4; at++) blocks[start + at] = e4m3(scale / 2.93)
  }
  return blocks
}

const randomFloats = (type: 'f32' | 'f16' | 'bf16', values: Float32Array): Uint8Array => {
  if (type === 'f32') return new Uint8Array(values.buffer)
  if (type === 'f16') return new Uint8Array(new Float16Array(values).buffer)
  // The upper half of the float, cut off: rounding does not matter to random numbers.
  const upper = new Uint16Array(new Uint32Array(values.buffer).map((bits) => bits >>> 16))
  return new Uint8Array(upper.buffer)
}

// The f16 scale lies in the upper four bits of each of four u16.
const setIq1mScale = (view: DataView, start: number, scale: number): void => {
  const half = new Uint16Array(new Float16Array([scale]).buffer)[0]!
  for (let part = 0; part < 4; part++) {
    const at = start + 48 + 2 * part
    const nibble = (half >>> (4 * part)) & 0xf
    view.setUint16(at, (view.getUint16(at, true) & 0x0fff) | (nibble << 12), true)
  }
}

// The nearest unsigned e4m3 (bias 7) at or below a small positive value, at least the smallest.
const e4m3 = (value: number): number => {
  const size = Math.min(Math.abs(value), 400)
  const exponent = Math.max(-6, Math.floor(Math.log2(size)))
  const steps = Math.floor((size / 2 ** exponent) * 8)
  // Below 2^-6 the numbers are subnormal: no leading one, and the exponent field is 0.
  if (steps < 8) return Math.max(1, steps)
  return ((exponent + 7) << 3) | (steps & 7)
}
