// Single samplers, and the whole chain of options, against independent calculations.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  AdaptiveP,
  Breakers,
  Candidates,
  createSampler,
  Dry,
  infill,
  Mt19937,
  minP,
  type SamplingOptions,
  TokenHistory,
  topK,
  topP,
} from '../../../src/text/sampling/index.ts'

function load(logits: ArrayLike<number>): Candidates {
  const candidates = new Candidates()
  candidates.load(Float32Array.from(logits))
  return candidates
}

const idsOf = (candidates: Candidates) => [...candidates.ids.subarray(0, candidates.size)]

function randomLogits(length: number, seed: bigint, step = 0): Float32Array {
  const random = new Mt19937(seed)
  return Float32Array.from({ length }, () => {
    const value = (random.nextDouble() - 0.5) * 20
    return step > 0 ? Math.round(value / step) * step : value
  })
}

/** The chain by definition: sort everything, in plain double arithmetic. */
function nucleusByDefinition(
  logits: Float32Array,
  k: number,
  p: number,
  pOfBest: number,
): number[] {
  const order = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]! || a - b)
  const kept = k > 0 ? order.slice(0, k) : order
  const max = logits[kept[0]!]!
  const weights = kept.map((id) => Math.exp(logits[id]! - max))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let sum = 0
  return kept.filter((_, i) => {
    const before = sum
    sum += weights[i]!
    return (p >= 1 || before < p * total) && weights[i]! >= pOfBest
  })
}

describe('ordering', () => {
  const arrays = fc.array(fc.float({ noNaN: true, min: -50, max: 50 }), {
    minLength: 1,
    maxLength: 400,
  })

  test('top-k keeps the k largest in descending order, for heap and radix alike', () => {
    fc.assert(
      fc.property(arrays, fc.integer({ min: 1, max: 300 }), (logits, k) => {
        const candidates = load(logits)
        topK(candidates, k)
        const kept = [...candidates.logits.subarray(0, candidates.size)]
        const wanted = [...Float32Array.from(logits)].sort((a, b) => b - a).slice(0, k)
        expect(kept.map((x) => x + 0)).toEqual(wanted.map((x) => x + 0))
        for (const [i, id] of idsOf(candidates).entries())
          expect(kept[i]).toBe(Math.fround(logits[id]!))
        expect(new Set(idsOf(candidates)).size).toBe(candidates.size)
      }),
    )
  })

  test('a full sort is stable, also for zeros of both signs', () => {
    const candidates = load([0, -0, 1, 0, -1, 1])
    candidates.sort()
    expect(idsOf(candidates)).toEqual([2, 5, 0, 1, 3, 4])
    const many = load(randomLogits(1000, 1n, 2))
    many.sort()
    const { ids, logits } = many
    for (let i = 1; i < 1000; i++) {
      const ordered =
        logits[i - 1]! > logits[i]! || (logits[i - 1] === logits[i] && ids[i - 1]! < ids[i]!)
      expect(ordered).toBe(true)
    }
  })

  test('memory is made for what is kept, not for the vocabulary', () => {
    const candidates = new Candidates()
    candidates.loadTop(randomLogits(50_000, 2n), 40)
    expect(candidates.ids.length).toBe(40)
  })
})

describe('top-p and min-p over the raw logits', () => {
  test('keep what the two samplers keep one after the other', () => {
    for (let seed = 0; seed < 60; seed++) {
      const logits = randomLogits(3000, BigInt(seed))
      const p = [0.3, 0.9, 0.99, 0.999, 1][seed % 5]!
      const pOfBest = [0, 0.001, 0.05, 0.5][seed % 4]!
      const wanted = nucleusByDefinition(logits, 0, p, pOfBest)
      const chain = load(logits)
      topP(chain, p)
      minP(chain, pOfBest)
      expect(idsOf(chain).sort((a, b) => a - b)).toEqual(wanted.toSorted((a, b) => a - b))
      if (p === 1 && pOfBest === 0) continue
      const seen = new Set<number>()
      const sampler = createSampler(
        { topK: 0, topP: p, minP: pOfBest, temperature: 50, seed },
        3000,
      )
      for (let i = 0; i < 300; i++) seen.add(sampler.sample(logits))
      for (const id of seen) expect(wanted).toContain(id)
      if (wanted.length < 20) expect(seen.size).toBe(wanted.length)
    }
  })
})

describe('options', () => {
  const logits = new Float32Array([5, 4, 3, 2, 1, 0])
  const open: SamplingOptions = { topK: 0, topP: 1, minP: 0, temperature: 1, seed: 1 }

  function seen(options: SamplingOptions, before: number[] = []): number[] {
    const ids = new Set<number>()
    const sampler = createSampler({ ...open, ...options }, logits.length, vocabulary)
    for (let i = 0; i < 500; i++) {
      sampler.reset()
      for (const token of before) sampler.accept(token)
    }
    for (let i = 0; i < 3000; i++) ids.add(sampler.sample(logits))
    return [...ids].sort()
  }
  const vocabulary = {
    bytes: (token: number) => new TextEncoder().encode('abcdef'[token]!),
    isEndOfGeneration: (token: number) => token === 5,
  }

  test('a bias forbids and favours, also at temperature 0', () => {
    const bias = new Map([
      [0, Number.NEGATIVE_INFINITY],
      [3, 10],
    ])
    expect(seen({ bias, temperature: 0 })).toEqual([3])
    expect(seen({ bias: new Map([[0, Number.NEGATIVE_INFINITY]]) })).not.toContain(0)
  })

  test('penalties count the last tokens and forget on reset', () => {
    expect(seen({ temperature: 0, penalties: { presence: 2 } }, [0, 0])).toEqual([1])
    expect(seen({ temperature: 0, penalties: { frequency: 2 } }, [0, 0, 1])).toEqual([2])
    expect(seen({ temperature: 0, penalties: { repeat: 4, lastN: 1 } }, [0, 1])).toEqual([0])
    expect(seen({ temperature: 0, penalties: { presence: 2, lastN: 0 } }, [0])).toEqual([0])
    const sampler = createSampler({ ...open, temperature: 0, penalties: { presence: 9 } }, 6)
    sampler.accept(0)
    expect(sampler.sample(logits)).toBe(1)
    sampler.reset()
    expect(sampler.sample(logits)).toBe(0)
  })

  test('DRY punishes the token that would continue a repetition', () => {
    const repeated = [1, 2, 0, 4, 1, 2]
    const dry = { multiplier: 10, allowedLength: 2 }
    expect(seen({ temperature: 0, dry: { ...dry, breakers: [] } }, repeated)).toEqual([1])
    expect(seen({ temperature: 0, dry: { ...dry, breakers: ['c'] } }, repeated)).toEqual([0])
    expect(seen({ temperature: 0, dry: { ...dry, breakers: ['bc'] } }, repeated)).toEqual([0])
    expect(seen({ temperature: 0, dry: { ...dry, breakers: ['e'] } }, repeated)).toEqual([1])
  })

  test('XTC takes the top choices away, all but the least likely', () => {
    expect(seen({ xtc: { probability: 1, threshold: 0.08 } })).toEqual([2, 3, 4, 5])
    expect(seen({ xtc: { probability: 0, threshold: 0.08 } })).toEqual([0, 1, 2, 3, 4, 5])
    const half = createSampler({ ...open, xtc: { probability: 0.5, threshold: 0.08 } }, 6)
    let excluded = 0
    for (let i = 0; i < 2000; i++) if (half.sample(logits) > 1) excluded++
    expect(excluded / 2000).toBeGreaterThan(0.5)
    expect(excluded / 2000).toBeLessThan(0.65)
  })

  test('top-n-sigma and typical sampling narrow the choice', () => {
    expect(seen({ topNSigma: 1 })).toEqual([0, 1])
    expect(seen({ typicalP: 0.2 })).toEqual([1])
  })

  test('dynamic temperature stays near the temperature when the range is 0', () => {
    const fixed = createSampler({ ...open, dynamicTemperature: { range: 0 } }, 6)
    const plain = createSampler(open, 6)
    for (let i = 0; i < 50; i++) expect(fixed.sample(logits)).toBe(plain.sample(logits))
  })

  test('mirostat lets more surprise through the higher its target', () => {
    const wide = randomLogits(5000, 9n)
    const best = wide.indexOf(Math.max(...wide))
    for (const version of [1, 2] as const) {
      const distances = [0.5, 3, 8].map((tau) => {
        const sampler = createSampler({ ...open, mirostat: { version, tau } }, wide.length)
        let sum = 0
        for (let i = 0; i < 300; i++) sum += wide[best]! - wide[sampler.sample(wide)]!
        return sum / 300
      })
      expect(distances[0]!).toBeLessThan(0.1)
      expect(distances[1]!).toBeGreaterThan(2 * distances[0]!)
      expect(distances[2]!).toBeGreaterThan(1.2 * distances[1]!)
    }
  })

  test('infill keeps the end when nothing is likely, else what is likely', () => {
    const unsure = load([1, 1, 1, 1, 1, 1])
    infill(unsure, vocabulary)
    expect(idsOf(unsure)).toEqual([5])
    const sure = load([9, 1, 1, 1, 1, -20])
    infill(sure, vocabulary)
    expect(idsOf(sure)).toEqual([0, 5])
    expect(() => createSampler({ infill: true }, 6)).toThrow(TypeError)
  })

  test('infill gives the probability of a longer token to the likelier of the two', () => {
    const texts = ['x', 'xy', 'z', '']
    const vocab = {
      bytes: (token: number) => new TextEncoder().encode(texts[token]!),
      isEndOfGeneration: (token: number) => token === 3,
    }
    const candidates = load([Math.log(0.25), Math.log(0.35), Math.log(0.4), -30])
    infill(candidates, vocab)
    expect(idsOf(candidates)).toEqual([1, 2, 3])
    expect(candidates.probabilities[0]).toBeCloseTo(0.6, 5)
  })

  test('adaptive-p moves the average probability of what it chooses to the target', () => {
    const stage = new AdaptiveP({ target: 0.2 }, new Mt19937(4n))
    const candidates = new Candidates()
    const own = Float32Array.from([0.5, 0.25, 0.15, 0.06, 0.04], Math.log)
    let sum = 0
    for (let i = 0; i < 2000; i++) {
      candidates.load(own)
      stage.apply(candidates)
      const token = candidates.ids[candidates.selected]!
      stage.accept(token)
      sum += Math.exp(own[token]!)
    }
    expect(Math.abs(sum / 2000 - 0.2)).toBeLessThan(0.03)
  })

  test('nested options are checked too, and named', () => {
    const bad: [SamplingOptions, string][] = [
      [{ penalties: { repeat: 0 } }, 'penalties.repeat'],
      [{ penalties: { lastN: -1 } }, 'penalties.lastN'],
      [{ dry: { multiplier: Number.NaN } }, 'dry.multiplier'],
      [{ dry: { multiplier: 1, breakers: [''] } }, 'dry.breakers'],
      [{ dry: { multiplier: 1, breakers: ['x'] } }, 'dry.breakers'],
      [{ xtc: { probability: 2, threshold: 0.1 } }, 'xtc.probability'],
      [{ xtc: null as never }, 'xtc'],
      [{ mirostat: { version: 3 as never } }, 'mirostat.version'],
      [{ adaptiveP: { target: 0.5, decay: 1 } }, 'adaptiveP.decay'],
      [{ bias: new Map([[9, 1]]) }, 'bias'],
      [{ bias: new Map([[1, Number.NaN]]) }, 'bias'],
      [{ bias: { 1: 1 } as never }, 'bias'],
      [{ infill: 1 as never }, 'infill'],
      [{ typicalP: -1 }, 'typicalP'],
    ]
    for (const [options, name] of bad) expect(() => createSampler(options, 6)).toThrow(name)
    expect(() => createSampler({}, 6).accept(6)).toThrow(RangeError)
  })
})

describe('DRY', () => {
  /** Length of the longest earlier occurrence of the end of the text that `token` followed. */
  function longestByDefinition(text: number[], token: number, limit: number): number {
    let best = 0
    for (let at = 0; at + 1 < text.length; at++) {
      if (text[at + 1] !== token) continue
      let length = 0
      while (length <= at && text[at - length] === text[text.length - 1 - length]) length++
      best = Math.max(best, Math.min(length, limit))
    }
    return best
  }

  test('the penalty grows with the length of the repetition', () => {
    const texts = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 3, maxLength: 40 })
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 8 }), (text, limit) => {
        const dry = new Dry({ multiplier: 1, base: 2, allowedLength: 2 })
        for (const token of text) dry.history.push(token)
        const candidates = load([0, 0, 0])
        dry.apply(candidates, limit)
        for (const token of [0, 1, 2]) {
          const length = longestByDefinition(text, token, limit)
          const applies = length >= 2 && limit >= 2 && text.length > 2
          expect(candidates.logits[token]! + 0).toBe(applies ? -(2 ** (length - 2)) : 0)
        }
      }),
    )
  })

  test('breakers are found across the borders of tokens', () => {
    const texts = ['ab', 'c', 'd\n', '日', 'x']
    const vocabulary = {
      bytes: (token: number) => new TextEncoder().encode(texts[token]!),
      isEndOfGeneration: () => false,
    }
    const since = (tokens: number[], ...breakers: string[]) => {
      const history = new TokenHistory(10)
      for (const token of tokens) history.push(token)
      return new Breakers(breakers, vocabulary).tokensSince(history)
    }
    expect(since([4, 2, 4, 4], '\n')).toBe(2)
    expect(since([4, 0, 1, 4], 'bc')).toBe(1)
    expect(since([0, 1, 2], 'bcd')).toBe(0)
    expect(since([4, 4], 'q')).toBe(2)
    expect(since([3, 4, 4, 4], '日x')).toBe(2)
  })
})

test('MT19937 gives the published numbers', () => {
  const random = new Mt19937(5489n)
  let value = 0
  for (let i = 0; i < 10_000; i++) value = random.nextU32()
  expect(value).toBe(4123659995)
  const copy = random.clone()
  expect(copy.nextU32()).toBe(random.nextU32())
})

test('sampling allocates nothing of size', () => {
  const logits = randomLogits(32_000, 3n)
  const sampler = createSampler({ seed: 1 }, logits.length)
  for (let i = 0; i < 100; i++) sampler.sample(logits)
  Bun.gc(true)
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 2000; i++) sampler.sample(logits)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2000 * 64)
})
