// Rotary positions (Su et al. 2021, arXiv:2104.09864) with linear scaling and YaRN
// (Peng et al. 2023, arXiv:2309.00071).
import type { Params } from '../../../src/graph/params.ts'
import { placeOf, type Reference } from './reference.ts'

/** x [c, rows, heads, head_dim]; pair i of a head turns by position * frequency(i). */
export const rope: Reference = ([x, positions, factors], params) => {
  const [c, rows, heads] = x!.shape
  const { rotated, style, magnitude: gain } = params as Record<string, number>
  const data = x!.data.slice()
  const magnitude = x!.data.map(Math.abs)
  const frequency = Array.from({ length: rotated! / 2 }, (_, i) =>
    frequencyOf(i, params, factors?.data[i] ?? 1),
  )
  for (let i = 0; i < c; i++) {
    for (let j = 0; j < rows; j++) {
      for (let h = 0; h < heads; h++) {
        const head = placeOf(x!.shape, i, j, h, 0)
        for (let pair = 0; pair < rotated! / 2; pair++) {
          const angle = positions!.data[j]! * frequency[pair]!
          const first = head + (style === 0 ? 2 * pair : pair)
          const second = style === 0 ? first + 1 : first + rotated! / 2
          const a = x!.data[first]!
          const b = x!.data[second]!
          const cosine = Math.cos(angle) * gain!
          const sine = Math.sin(angle) * gain!
          data[first] = a * cosine - b * sine
          data[second] = a * sine + b * cosine
          magnitude[first] = (Math.abs(a) + Math.abs(b)) * Math.abs(gain!)
          magnitude[second] = magnitude[first]!
        }
      }
    }
  }
  return [{ dtype: x!.dtype, shape: x!.shape, data, magnitude }]
}

/** base^(-2i / rotated) / factor, slowed by `scale` as far as YaRN interpolates the pair. */
const frequencyOf = (pair: number, params: Params, factor: number): number => {
  const { rotated, base, scale, extrapolation } = params as Record<string, number>
  const own = base! ** ((-2 * pair) / rotated!)
  const kept = extrapolation === 0 ? 0 : extrapolation! * (1 - rampOf(pair, params))
  return ((own * scale! * (1 - kept) + own * kept) as number) / factor
}

/** 0 for pairs that turn often within the original context, 1 for those that turn seldom. */
const rampOf = (pair: number, params: Params): number => {
  const { rotated, base, original_context, beta_fast, beta_slow } = params as Record<string, number>
  const pairOf = (turns: number) =>
    (rotated! * Math.log(original_context! / (turns * 2 * Math.PI))) / (2 * Math.log(base!))
  const low = Math.max(0, Math.floor(pairOf(beta_fast!)))
  const high = Math.min(rotated! - 1, Math.ceil(pairOf(beta_slow!)))
  return Math.min(1, Math.max(0, (pair - low) / Math.max(0.001, high - low)))
}
