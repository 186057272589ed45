// From logits to a token id: the chain of samplers that generation uses.
import { GrammarError, LeavenError } from '../../errors/index.ts'
import { Candidates } from './candidates.ts'
import { distribution, greedy } from './choose.ts'
import {
  type CheckedSamplingOptions,
  checkSamplingOptions,
  type SamplingOptions,
} from './options.ts'
import { Mt19937 } from './random.ts'
import { temperature } from './temperature.ts'
import { minP, topP, topPMinP } from './truncate.ts'

/** Chooses tokens; one for each sequence that is generated. */
export interface Sampler {
  /** The seed in use, the random one when none was given. */
  readonly seed: bigint
  /**
   * Chooses a token. `logits` [vocabularySize] is only read; a mask (bit i of word i >> 5 says whether
   * token i is allowed) applies before anything else.
   *
   * @throws GrammarError when the mask allows no token that the logits allow.
   */
  sample(logits: Float32Array, mask?: Uint32Array): number
  /** Tells which token came next, chosen by `sample` or not. */
  accept(token: number): void
  /** Back to the state of creation: the same seed, nothing accepted. */
  reset(): void
}

/**
 * A sampler with the default chain: top-k, top-p, min-p, temperature, then a seeded draw; at
 * temperature 0 the likeliest token.
 *
 * ```ts
 * const sampler = createSampler({ temperature: 0.7, seed: 42 }, logits.length)
 * const token = sampler.sample(logits)
 * sampler.accept(token)
 * ```
 *
 * @throws TypeError or RangeError when an option or `vocabularySize` is not valid.
 */
export function createSampler(options: SamplingOptions, vocabularySize: number): Sampler {
  const checked = checkSamplingOptions(options)
  if (!Number.isInteger(vocabularySize) || vocabularySize < 1 || vocabularySize > 2 ** 30) {
    throw new RangeError(`vocabularySize must be in [1, 2^30], got ${vocabularySize}`)
  }
  return new DefaultSampler(checked, vocabularySize)
}

class DefaultSampler implements Sampler {
  readonly #options: CheckedSamplingOptions
  readonly #candidates: Candidates
  readonly #random: Mt19937
  readonly #vocabularySize: number

  constructor(options: CheckedSamplingOptions, vocabularySize: number) {
    this.#options = options
    this.#vocabularySize = vocabularySize
    this.#candidates = new Candidates(vocabularySize)
    this.#random = new Mt19937(options.seed)
  }

  get seed(): bigint {
    return this.#options.seed
  }

  sample(logits: Float32Array, mask?: Uint32Array): number {
    if (logits.length !== this.#vocabularySize) {
      throw new RangeError(`sample: ${logits.length} logits for ${this.#vocabularySize} tokens`)
    }
    const candidates = this.#candidates
    const { topK: k, topP: p, minP: pOfBest, temperature: t } = this.#options
    const count = t === 0 ? 1 : k
    if (mask !== undefined) {
      candidates.load(logits, mask)
      if (count > 0) candidates.keepTop(count)
    } else if (count > 0) {
      candidates.loadTop(logits, count)
    } else {
      candidates.load(logits)
    }
    checkPossible(candidates, mask !== undefined)
    if (t === 0) {
      greedy(candidates)
    } else {
      if (candidates.sorted) {
        topP(candidates, p)
        minP(candidates, pOfBest)
      } else {
        topPMinP(candidates, p, pOfBest)
      }
      temperature(candidates, t)
      distribution(candidates, this.#random)
    }
    return candidates.ids[candidates.selected]!
  }

  accept(_token: number): void {}

  reset(): void {
    this.#random.reset()
  }
}

function checkPossible(candidates: Candidates, masked: boolean): void {
  const best = candidates.indexOfMax()
  if (best >= 0 && candidates.logits[best]! > Number.NEGATIVE_INFINITY) return
  if (masked) throw new GrammarError('grammar', '', 'no token of the vocabulary fits here')
  throw new LeavenError('LOGITS_INVALID', 'sample: no logit is a number above -Infinity')
}
