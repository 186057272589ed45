// The default chain: defaults, order, greedy, seeds, and what it refuses.
import { describe, expect, test } from 'bun:test'
import { GrammarError, LeavenError } from '../../../src/errors/index.ts'
import { createSampler, type SamplingOptions } from '../../../src/text/sampling/index.ts'

const four = new Float32Array([3, 2, 1, 0])

function seen(options: SamplingOptions, logits: Float32Array, mask?: Uint32Array): number[] {
  const sampler = createSampler({ seed: 1, ...options }, logits.length)
  const ids = new Set<number>()
  for (let i = 0; i < 2000; i++) ids.add(sampler.sample(logits, mask))
  return [...ids].sort((a, b) => a - b)
}

function draws(options: SamplingOptions, count = 50): number[] {
  const logits = Float32Array.from({ length: 100 }, (_, i) => Math.sin(i) * 2)
  const sampler = createSampler({ topK: 0, ...options }, logits.length)
  return Array.from({ length: count }, () => sampler.sample(logits))
}

describe('truncation', () => {
  const all = { temperature: 1, topK: 0, topP: 1, minP: 0 }

  test('without truncation every token comes with its probability', () => {
    const sampler = createSampler({ ...all, seed: 3 }, 4)
    const counts = [0, 0, 0, 0]
    const total = 40_000
    for (let i = 0; i < total; i++) counts[sampler.sample(four)]!++
    for (const [i, p] of [0.643914, 0.236883, 0.087144, 0.032059].entries()) {
      expect(Math.abs(counts[i]! / total - p)).toBeLessThan(0.01)
    }
  })

  test('top-p keeps the candidate that crosses the border', () => {
    expect(seen({ ...all, topP: 0.65 }, four)).toEqual([0, 1])
    expect(seen({ ...all, topP: 0.64 }, four)).toEqual([0])
    expect(seen({ ...all, topP: 0 }, four)).toEqual([0])
  })

  test('min-p is relative to the likeliest', () => {
    expect(seen({ ...all, minP: 0.1 }, four)).toEqual([0, 1, 2])
    expect(seen({ ...all, minP: 1 }, four)).toEqual([0])
  })

  test('top-p together with min-p keeps what both keep', () => {
    expect(seen({ ...all, topP: 0.95, minP: 0.3 }, four)).toEqual([0, 1])
    expect(seen({ ...all, topP: 0.64, minP: 0.01 }, four)).toEqual([0])
  })

  test('top-k keeps k, and 0 or more than all keeps all', () => {
    expect(seen({ ...all, topK: 2 }, four)).toEqual([0, 1])
    expect(seen({ ...all, topK: 0 }, four)).toEqual([0, 1, 2, 3])
    expect(seen({ ...all, topK: 1000 }, four)).toEqual([0, 1, 2, 3])
  })
})

test('temperature 0 takes the lowest id among the best, whatever else is set', () => {
  const logits = new Float32Array([0, 5, 1, 5, 5])
  expect(seen({ temperature: 0, topK: 0, topP: 1, minP: 0 }, logits)).toEqual([1])
  expect(seen({ temperature: 0 }, logits)).toEqual([1])
})

test('a tiny temperature is as good as greedy and overflows nothing', () => {
  expect(seen({ temperature: 1e-40, topK: 0, topP: 1, minP: 0 }, four)).toEqual([0])
})

test('the logits are left as they were', () => {
  const logits = new Float32Array([1, Number.NaN, 3, Number.NEGATIVE_INFINITY, 5])
  const before = logits.slice()
  for (const topK of [0, 2]) createSampler({ topK, seed: 1 }, 5).sample(logits)
  expect(new Uint8Array(logits.buffer)).toEqual(new Uint8Array(before.buffer))
})

describe('seeds', () => {
  test('the same seed gives the same draws, also after reset', () => {
    expect(draws({ seed: 42 })).toEqual(draws({ seed: 42n }))
    const sampler = createSampler({ seed: 5 }, 4)
    const first = Array.from({ length: 20 }, () => sampler.sample(four))
    sampler.reset()
    expect(Array.from({ length: 20 }, () => sampler.sample(four))).toEqual(first)
  })

  test('no two large seeds are rounded to one', () => {
    const seeds = [2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n, 2n ** 32n, 0n, 1n]
    expect(new Set(seeds.map((seed) => draws({ seed }).join())).size).toBe(seeds.length)
  })

  test('without a seed a random one is used and told', () => {
    const sampler = createSampler({}, 4)
    expect(draws({ seed: sampler.seed })).toEqual(draws({ seed: sampler.seed }))
    expect(
      new Set(Array.from({ length: 8 }, () => createSampler({}, 4).seed)).size,
    ).toBeGreaterThan(1)
  })
})

describe('what is refused', () => {
  const bad: [SamplingOptions, typeof TypeError | typeof RangeError][] = [
    [{ temperature: -1 }, RangeError],
    [{ temperature: Number.NaN }, RangeError],
    [{ temperature: Number.POSITIVE_INFINITY }, RangeError],
    [{ temperature: '0.7' as unknown as number }, TypeError],
    [{ temperature: null as unknown as number }, TypeError],
    [{ topP: 2 }, RangeError],
    [{ topP: -0.1 }, RangeError],
    [{ topP: Number.NaN }, RangeError],
    [{ minP: 1.5 }, RangeError],
    [{ minP: {} as unknown as number }, TypeError],
    [{ topK: -1 }, RangeError],
    [{ topK: 1.5 }, RangeError],
    [{ topK: 2 ** 40 }, RangeError],
    [{ topK: '40' as unknown as number }, TypeError],
    [{ seed: 2 ** 53 }, RangeError],
    [{ seed: -1 }, RangeError],
    [{ seed: 0.5 }, RangeError],
    [{ seed: -1n }, RangeError],
    [{ seed: 2n ** 64n }, RangeError],
    [{ seed: '42' as unknown as number }, TypeError],
  ]
  for (const [options, error] of bad) {
    const [name, value] = Object.entries(options)[0]!
    test(`${name} ${typeof value === 'string' ? JSON.stringify(value) : value}`, () => {
      expect(() => createSampler(options, 4)).toThrow(error)
      expect(() => createSampler(options, 4)).toThrow(name)
    })
  }

  test('logits of another length than the vocabulary', () => {
    expect(() => createSampler({}, 5).sample(four)).toThrow(/4 logits for 5 tokens/)
    expect(() => createSampler({}, 0)).toThrow(RangeError)
  })

  test('logits without a single number', () => {
    for (const value of [Number.NaN, Number.NEGATIVE_INFINITY]) {
      for (const options of [{}, { topK: 0 }, { temperature: 0 }]) {
        const sampler = createSampler(options, 3)
        expect(() => sampler.sample(new Float32Array(3).fill(value))).toThrow(LeavenError)
      }
    }
  })
})

describe('masks', () => {
  test('a mask applies before truncation', () => {
    expect(seen({ topK: 1 }, four, new Uint32Array([0b1000]))).toEqual([3])
    expect(seen({ topK: 0, topP: 1, minP: 0 }, four, new Uint32Array([0b1010]))).toEqual([1, 3])
  })

  test('a mask and top-k leave the best of the allowed, in the order of all their logits', () => {
    const logits = Float32Array.from({ length: 1000 }, (_, i) => Math.fround(Math.sin(i * 7) * 9))
    for (const topK of [1, 5, 40, 200]) {
      const mask = new Uint32Array(32).map((_, i) => Math.imul(i + topK, 0x9e3779b1) >>> 0)
      const allowed = [...logits.keys()].filter((id) => ((mask[id >>> 5]! >>> (id & 31)) & 1) === 1)
      const best = allowed.sort((a, b) => logits[b]! - logits[a]!).slice(0, topK)
      const ids = seen({ topK, topP: 1, minP: 0, temperature: 100 }, logits, mask)
      for (const id of ids) expect(best).toContain(id)
      if (topK <= 40) expect(ids.length).toBe(topK)
    }
  })

  test('bits beyond the vocabulary are ignored, bit 31 counts', () => {
    const logits = new Float32Array(40)
    const all = { topK: 0, topP: 1, minP: 0 }
    expect(seen(all, logits, new Uint32Array([0x80000000, 0xffffff01]))).toEqual([31, 32])
  })

  test('a mask that fits no token is a GrammarError for this call only', () => {
    const sampler = createSampler({}, 4)
    expect(() => sampler.sample(four, new Uint32Array(1))).toThrow(GrammarError)
    expect(sampler.sample(four, new Uint32Array([4]))).toBe(2)
  })
})

test('an infinite logit wins', () => {
  const logits = new Float32Array([1, Number.POSITIVE_INFINITY, 3])
  for (const options of [{}, { topK: 0 }, { topK: 0, topP: 1, minP: 0 }, { temperature: 0 }]) {
    expect(seen(options, logits)).toEqual([1])
  }
})
