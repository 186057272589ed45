// Rotary positions (Su et al. 2021, arXiv:2104.09864) with linear scaling and YaRN
// (Peng et al. 2023, arXiv:2309.00071), and other embeddings of positions and times.
import type { Params } from '../../../src/graph/params.ts'
import type { TensorValue } from '../tensor_value.ts'
import { type Expected, eachIndex, placeOf, type Reference } from './reference.ts'

/** Where the two values of a pair lie, counted from the head's first. */
type PairPlace = (pair: number) => readonly [number, number]

/** Turns pairs of every head of x [c, rows, heads, head_dim] by the angles that `angleOf` gives. */
const turned = (
  x: TensorValue,
  turn: {
    pairs: number
    placeOf: PairPlace
    angleOf: (row: number, pair: number) => number
    gain: number
  },
): Expected[] => {
  const [c, rows, heads] = x.shape
  const data = x.data.slice()
  const magnitude = x.data.map(Math.abs)
  eachIndex([c, rows, heads, turn.pairs], ([i, row, h, pair]) => {
    const head = placeOf(x.shape, i, row, h, 0)
    const [first, second] = turn.placeOf(pair).map((place) => head + place) as [number, number]
    const a = x.data[first]!
    const b = x.data[second]!
    const angle = turn.angleOf(row, pair)
    const cosine = Math.cos(angle) * turn.gain
    const sine = Math.sin(angle) * turn.gain
    data[first] = a * cosine - b * sine
    data[second] = a * sine + b * cosine
    magnitude[first] = (Math.abs(a) + Math.abs(b)) * Math.abs(turn.gain)
    magnitude[second] = magnitude[first]!
  })
  return [{ dtype: x.dtype, shape: x.shape, data, magnitude }]
}

/** One position for each row; `direction` -1 turns back. */
const byPosition =
  (direction: number): Reference =>
  ([x, positions, factors], params) => {
    const { rotated, style, magnitude } = params as Record<string, number>
    const pairs = rotated! / 2
    const frequency = Array.from({ length: pairs }, (_, i) =>
      frequencyOf(i, params, factors?.data[i] ?? 1),
    )
    return turned(x!, {
      pairs,
      placeOf: (pair) => (style === 0 ? [2 * pair, 2 * pair + 1] : [pair, pair + pairs]),
      angleOf: (row, pair) => direction * positions!.data[row]! * frequency[pair]!,
      gain: magnitude!,
    })
  }

export const rope = byPosition(1)
export const ropeBack = byPosition(-1)

/** Which of a row's four positions turns a pair, and the pair whose frequency it has. */
const sectionOf = (pair: number, params: Params): { position: number; own: number } => {
  const p = params as Record<string, number>
  const sections = [p.section0!, p.section1!, p.section2!, p.section3!]
  const sector = pair % sections.reduce((a, b) => a + b, 0)
  if (p.kind === 1) {
    // Time, height and width take turns as far as their sections go.
    const turn = sector % 3
    return { position: sector < 3 * sections[turn]! ? turn : 3, own: pair }
  }
  let first = 0
  const position = sections.findIndex((section) => {
    const isHere = sector < first + section
    if (!isHere) first += section
    return isHere
  })
  // In vision frequencies start anew in each section.
  return { position, own: p.kind === 2 ? sector - first : pair }
}

/** By several positions at once (Wang et al. 2024, arXiv:2409.12191); positions [4, rows]. */
export const ropeMulti: Reference = ([x, positions, factors], params) => {
  const { kind, rotated, magnitude } = params as Record<string, number>
  const pairs = kind === 2 ? rotated! : rotated! / 2
  const rows = positions!.shape[3]
  const sections = Array.from({ length: pairs }, (_, pair) => {
    const { position, own } = sectionOf(pair, params)
    return { position, frequency: frequencyOf(own, params, factors?.data[pair] ?? 1) }
  })
  return turned(x!, {
    pairs,
    placeOf: (pair) => [pair, pair + pairs],
    angleOf: (row, pair) => {
      const { position, frequency } = sections[pair]!
      return positions!.data[position * rows + row]! * frequency
    },
    gain: magnitude!,
  })
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

/** Cosines, then sines, of time * period^(-i / (dim / 2)); an odd dim ends with 0. */
export const timestepEmbedding: Reference = ([times], { dim, period }) => {
  const half = Math.floor(dim! / 2)
  const shape = [1, 1, times!.data.length, dim!]
  const data = new Float64Array(times!.data.length * dim!)
  for (const [row, time] of times!.data.entries()) {
    for (let i = 0; i < half; i++) {
      const angle = time * period! ** (-i / half)
      data[row * dim! + i] = Math.cos(angle)
      data[row * dim! + half + i] = Math.sin(angle)
    }
  }
  return [{ dtype: 'f32', shape, data, magnitude: data.map(() => 1) }]
}

/** start + i step, up to but not including stop. */
export const arange: Reference = (_, { start, stop, step }) => {
  const count = Math.ceil((stop! - start!) / step!)
  const data = Float64Array.from({ length: count }, (_, i) => start! + i * step!)
  const magnitude = data.map((_, i) => Math.abs(start!) + Math.abs(i * step!))
  return [{ dtype: 'f32', shape: [1, 1, 1, count], data, magnitude }]
}
