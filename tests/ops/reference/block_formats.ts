// Quantized blocks as numbers, written from the layouts that GGUF files have (the block structs of
// https://github.com/ggml-org/ggml), in f32 steps so that values are exact to the bit. Kernels have
// no part in this.
import type { DType } from '../../../src/native/dtype.ts'
import type { Random } from '../random.ts'

const f32 = Math.fround

export interface BlockFormat {
  /** Adds a block's values to `out` from `to` on. */
  decode(view: DataView, at: number, out: Float64Array, to: number): void
  /** Gives a block of random bytes scales of everyday size. */
  tame(view: DataView, at: number, random: Random): void
}

const setHalf = (view: DataView, at: number, random: Random, unit: number): number => {
  const sign = random.unit() < 0.5 ? -1 : 1
  view.setFloat16(at, sign * unit * random.between(0.25, 2), true)
  return view.getFloat16(at, true)
}

/** 32 numbers of four bits: the lower halves of 16 bytes, then the upper ones. */
const nibbles = (view: DataView, at: number): number[] => {
  const byte = (j: number) => view.getUint8(at + j)
  return Array.from({ length: 32 }, (_, j) => (j < 16 ? byte(j) & 15 : byte(j - 16) >> 4))
}

/** The same with a fifth bit each, from the 32 bits at `high`. */
const fives = (view: DataView, low: number, high: number): number[] => {
  const bits = view.getUint32(high, true)
  return nibbles(view, low).map((q, j) => q | (((bits >>> j) & 1) << 4))
}

const scaled = (list: readonly number[], scale: number, out: Float64Array, to: number) => {
  for (const [j, q] of list.entries()) out[to + j] = f32(scale * q)
}

const shifted = (
  list: readonly number[],
  { scale, min }: { scale: number; min: number },
  out: Float64Array,
  to: number,
) => {
  for (const [j, q] of list.entries()) out[to + j] = f32(f32(scale * q) + min)
}

const scaleAndMin = (view: DataView, at: number) => ({
  scale: view.getFloat16(at, true),
  min: view.getFloat16(at + 2, true),
})

/** The sixteen levels of iq4_nl and iq4_xs. */
export const unevenLevels = [
  -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
]
/**
 * Four-bit floats, by their bits (Open Compute Project, Microscaling Formats v1.0, 2023). The
 * reference reads -0 as 0.
 */
const fp4 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6]

/** The eight 6-bit scales and mins of q4_K and q5_K in their twelve bytes. */
const scalesAndMins = (view: DataView, at: number): { scale: number[]; min: number[] } => {
  const byte = (i: number) => view.getUint8(at + i)
  const scale: number[] = []
  const min: number[] = []
  for (let j = 0; j < 8; j++) {
    if (j < 4) {
      scale.push(byte(j) & 63)
      min.push(byte(j + 4) & 63)
    } else {
      scale.push((byte(j + 4) & 15) | ((byte(j - 4) >> 6) << 4))
      min.push((byte(j + 4) >> 4) | ((byte(j) >> 6) << 4))
    }
  }
  return { scale, min }
}

/** q4_K and q5_K: groups of 32, two of them in the halves of 32 bytes; `high` holds fifth bits. */
const decodeGroups = (
  view: DataView,
  at: number,
  places: { low: number; high?: number },
  out: Float64Array,
  to: number,
) => {
  const d = view.getFloat16(at, true)
  const dmin = view.getFloat16(at + 2, true)
  const { scale, min } = scalesAndMins(view, at + 4)
  for (let i = 0; i < 256; i++) {
    const group = i >> 5
    const byte = view.getUint8(at + places.low + (group >> 1) * 32 + (i & 31))
    let q = group & 1 ? byte >> 4 : byte & 15
    if (places.high !== undefined) {
      q |= ((view.getUint8(at + places.high + (i & 31)) >> group) & 1) << 4
    }
    const step = f32(d * scale[group]!)
    out[to + i] = f32(f32(step * q) - f32(dmin * min[group]!))
  }
}

/** Scales of q3_K: sixteen 6-bit numbers in twelve bytes, less 32. */
const q3Scales = (view: DataView, at: number): number[] =>
  Array.from({ length: 16 }, (_, j) => {
    const low = (view.getUint8(at + (j & 7)) >> (j < 8 ? 0 : 4)) & 15
    const high = (view.getUint8(at + 8 + (j & 3)) >> (2 * (j >> 2))) & 3
    return (low | (high << 4)) - 32
  })

export const blockFormats: Partial<Record<DType, BlockFormat>> = {
  q4_0: {
    decode: (v, at, out, to) => {
      const numbers = nibbles(v, at + 2).map((q) => q - 8)
      scaled(numbers, v.getFloat16(at, true), out, to)
    },
    tame: (v, at, random) => void setHalf(v, at, random, 1 / 8),
  },
  q4_1: {
    decode: (v, at, out, to) => shifted(nibbles(v, at + 4), scaleAndMin(v, at), out, to),
    tame: (v, at, random) => {
      setHalf(v, at, random, 1 / 8)
      setHalf(v, at + 2, random, 1)
    },
  },
  q5_0: {
    decode: (v, at, out, to) => {
      const numbers = fives(v, at + 6, at + 2).map((q) => q - 16)
      scaled(numbers, v.getFloat16(at, true), out, to)
    },
    tame: (v, at, random) => void setHalf(v, at, random, 1 / 16),
  },
  q5_1: {
    decode: (v, at, out, to) => shifted(fives(v, at + 8, at + 4), scaleAndMin(v, at), out, to),
    tame: (v, at, random) => {
      setHalf(v, at, random, 1 / 16)
      setHalf(v, at + 2, random, 1)
    },
  },
  q8_0: {
    decode: (v, at, out, to) => {
      const d = v.getFloat16(at, true)
      for (let j = 0; j < 32; j++) out[to + j] = f32(d * v.getInt8(at + 2 + j))
    },
    tame: (v, at, random) => void setHalf(v, at, random, 1 / 127),
  },
  q8_1: {
    decode: (v, at, out, to) => {
      const d = v.getFloat16(at, true)
      for (let j = 0; j < 32; j++) out[to + j] = f32(d * v.getInt8(at + 4 + j))
    },
    tame: (v, at, random) => {
      const d = setHalf(v, at, random, 1 / 127)
      let sum = 0
      for (let j = 0; j < 32; j++) sum += v.getInt8(at + 4 + j)
      v.setFloat16(at + 2, f32(d * sum), true)
    },
  },
  q2_K: {
    decode: (v, at, out, to) => {
      const d = v.getFloat16(at + 80, true)
      const dmin = v.getFloat16(at + 82, true)
      for (let i = 0; i < 256; i++) {
        const scales = v.getUint8(at + (i >> 4))
        const byte = v.getUint8(at + 16 + (i >> 7) * 32 + (i & 31))
        const q = (byte >> (2 * ((i >> 5) & 3))) & 3
        out[to + i] = f32(f32(f32(d * (scales & 15)) * q) - f32(dmin * (scales >> 4)))
      }
    },
    tame: (v, at, random) => {
      setHalf(v, at + 80, random, 1 / 16)
      setHalf(v, at + 82, random, 1 / 16)
    },
  },
  q3_K: {
    decode: (v, at, out, to) => {
      const d = v.getFloat16(at + 108, true)
      const scale = q3Scales(v, at + 96)
      for (let i = 0; i < 256; i++) {
        const byte = v.getUint8(at + 32 + (i >> 7) * 32 + (i & 31))
        const low = (byte >> (2 * ((i >> 5) & 3))) & 3
        const high = (v.getUint8(at + (i & 31)) >> (i >> 5)) & 1
        out[to + i] = f32(f32(d * scale[i >> 4]!) * ((low | (high << 2)) - 4))
      }
    },
    tame: (v, at, random) => void setHalf(v, at + 108, random, 1 / 64),
  },
  q4_K: {
    decode: (v, at, out, to) => decodeGroups(v, at, { low: 16 }, out, to),
    tame: (v, at, random) => {
      setHalf(v, at, random, 1 / 256)
      setHalf(v, at + 2, random, 1 / 32)
    },
  },
  q5_K: {
    decode: (v, at, out, to) => decodeGroups(v, at, { low: 48, high: 16 }, out, to),
    tame: (v, at, random) => {
      setHalf(v, at, random, 1 / 512)
      setHalf(v, at + 2, random, 1 / 32)
    },
  },
  q6_K: {
    decode: (v, at, out, to) => {
      const d = v.getFloat16(at + 208, true)
      for (let i = 0; i < 256; i++) {
        const half = i >> 7
        const plane = (i >> 5) & 3
        const byte = v.getUint8(at + half * 64 + (plane & 1) * 32 + (i & 31))
        const low = plane < 2 ? byte & 15 : byte >> 4
        const high = (v.getUint8(at + 128 + half * 32 + (i & 31)) >> (2 * plane)) & 3
        const scale = v.getInt8(at + 192 + (i >> 4))
        out[to + i] = f32(f32(d * scale) * ((low | (high << 4)) - 32))
      }
    },
    tame: (v, at, random) => void setHalf(v, at + 208, random, 1 / 2048),
  },
  q8_K: {
    decode: (v, at, out, to) => {
      const d = v.getFloat32(at, true)
      for (let i = 0; i < 256; i++) out[to + i] = f32(d * v.getInt8(at + 4 + i))
    },
    tame: (v, at, random) => {
      v.setFloat32(at, random.between(0.25, 2) / 127, true)
      for (let group = 0; group < 16; group++) {
        let sum = 0
        for (let j = 0; j < 16; j++) sum += v.getInt8(at + 4 + group * 16 + j)
        v.setInt16(at + 260 + group * 2, sum, true)
      }
    },
  },
  iq4_nl: {
    decode: (v, at, out, to) => {
      const levels = nibbles(v, at + 2).map((q) => unevenLevels[q]!)
      scaled(levels, v.getFloat16(at, true), out, to)
    },
    tame: (v, at, random) => void setHalf(v, at, random, 1 / 127),
  },
  iq4_xs: {
    decode: (v, at, out, to) => {
      const d = v.getFloat16(at, true)
      const high = v.getUint16(at + 2, true)
      for (let group = 0; group < 8; group++) {
        const low = (v.getUint8(at + 4 + (group >> 1)) >> (4 * (group & 1))) & 15
        const scale = (low | (((high >> (2 * group)) & 3) << 4)) - 32
        const levels = nibbles(v, at + 8 + group * 16).map((q) => unevenLevels[q]!)
        scaled(levels, f32(d * scale), out, to + group * 32)
      }
    },
    tame: (v, at, random) => void setHalf(v, at, random, 1 / 2048),
  },
  mxfp4: {
    decode: (v, at, out, to) => {
      // The specification reads 255 as NaN, the reference and leaven as 2^128.
      const scale = 2 ** (v.getUint8(at) - 127)
      for (const [j, q] of nibbles(v, at + 1).entries()) out[to + j] = f32(scale * fp4[q]!)
    },
    tame: (v, at, random) => v.setUint8(at, 123 + random.below(6)),
  },
}
