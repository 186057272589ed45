// From logits to a token id: the chain of samplers that generation uses.
import { GrammarError, LeavenError } from '../../errors/index.ts'
import { AdaptiveP } from './adaptive_p.ts'
import { Breakers, defaultBreakers } from './breakers.ts'
import { Candidates } from './candidates.ts'
import { distribution, greedy } from './choose.ts'
import { TokenHistory } from './history.ts'
import { infill, type SamplerVocabulary } from './infill.ts'
import { Mirostat } from './mirostat.ts'
import {
  type CheckedSamplingOptions,
  checkInteger,
  checkSamplingOptions,
  type SamplingOptions,
} from './options.ts'
import { Dry, logitBias, penalties } from './penalties.ts'
import { Mt19937 } from './random.ts'
import { WeightBands } from './softmax.ts'
import { dynamicTemperature, temperature } from './temperature.ts'
import { loadNucleus, minP, topK, topNSigma, topP, typical, xtc } from './truncate.ts'

/** Chooses tokens; one for each sequence that is generated. */
export interface Sampler {
  /** The seed in use, the random one when none was given. */
  readonly seed: bigint
  /**
   * Chooses a token. `logits` [vocabularySize] is only read; a mask (bit i of word i >> 5 says
   * whether token i is allowed) applies before anything else.
   *
   * @throws GrammarError when the mask allows no token that the logits allow; RangeError when the
   * lengths do not fit the vocabulary; LeavenError `LOGITS_INVALID` when no logit is a number.
   */
  sample(logits: Float32Array, mask?: Uint32Array): number
  /** Tells which token came next: chosen by `sample`, or of a prompt that penalties should see. */
  accept(token: number): void
  /** Back to the state of creation: the same seed, nothing accepted. */
  reset(): void
}

/** One step of a chain. */
export interface Stage {
  apply(candidates: Candidates): void
  accept?(token: number): void
  reset?(): void
}

/**
 * A sampler for the options. With the default ones: top-k, top-p, min-p, temperature, then a seeded
 * draw; at temperature 0 the likeliest token.
 *
 * ```ts
 * const sampler = createSampler({ temperature: 0.7, seed: 42 }, logits.length)
 * const token = sampler.sample(logits)
 * sampler.accept(token)
 * ```
 *
 * `vocabulary` is needed for `infill` and for DRY's breakers.
 *
 * @throws TypeError or RangeError when an option or `vocabularySize` is not valid.
 */
export function createSampler(
  options: SamplingOptions,
  vocabularySize: number,
  vocabulary?: SamplerVocabulary,
): Sampler {
  checkInteger('vocabularySize', vocabularySize, 1, 1 << 30)
  const checked = checkSamplingOptions(options, vocabularySize)
  return new ChainSampler(checked, vocabularySize, {
    editors: makeEditors(checked, vocabulary),
    truncation: makeTruncation(checked),
    choosers: makeChoosers(checked, vocabularySize, vocabulary),
  })
}

/** Stages that change logits and therefore need every candidate. */
function makeEditors(
  options: CheckedSamplingOptions,
  vocabulary: SamplerVocabulary | undefined,
): Stage[] {
  const { bias, penalties: penalty, dry, topNSigma: sigmas } = options
  const stages: Stage[] = []
  if (bias !== undefined && bias.size > 0) {
    stages.push({ apply: (candidates) => logitBias(candidates, bias) })
  }
  if (penalty !== undefined && penalty.lastN !== 0) {
    const history = new TokenHistory(penalty.lastN ?? 64)
    stages.push({
      apply: (candidates) => penalties(candidates, history, penalty),
      accept: (token) => history.push(token),
      reset: () => history.clear(),
    })
  }
  if (dry !== undefined && dry.multiplier > 0) stages.push(makeDry(dry, vocabulary))
  if (sigmas > 0) stages.push({ apply: (candidates) => topNSigma(candidates, sigmas) })
  return stages
}

function makeDry(
  options: NonNullable<SamplingOptions['dry']>,
  vocabulary: SamplerVocabulary | undefined,
): Stage {
  const names = options.breakers ?? (vocabulary === undefined ? [] : defaultBreakers)
  if (names.length > 0 && vocabulary === undefined) {
    throw new TypeError('dry.breakers needs the vocabulary, the third argument of createSampler')
  }
  const breakers = vocabulary && names.length > 0 ? new Breakers(names, vocabulary) : undefined
  const dry = new Dry(options)
  return {
    apply: (candidates) => dry.apply(candidates, breakers?.tokensSince(dry.history)),
    accept: (token) => dry.history.push(token),
    reset: () => dry.history.clear(),
  }
}

/** Stages after truncation, the last of which selects. */
function makeChoosers(
  options: CheckedSamplingOptions,
  vocabularySize: number,
  vocabulary: SamplerVocabulary | undefined,
): Stage[] {
  const { seed, temperature: degree, dynamicTemperature: dynamic, xtc: exclusion } = options
  if (options.infill && vocabulary === undefined) {
    throw new TypeError('infill needs the vocabulary, the third argument of createSampler')
  }
  if (degree === 0) return [{ apply: greedy }]
  const stages: Stage[] = []
  if (exclusion !== undefined && options.mirostat === undefined) {
    const random = new Mt19937(seed)
    stages.push({
      apply: (candidates) => xtc(candidates, exclusion, random),
      reset: () => random.reset(),
    })
  }
  stages.push({
    apply: dynamic
      ? (candidates) => dynamicTemperature(candidates, degree, dynamic)
      : (candidates) => temperature(candidates, degree),
  })
  if (options.infill) stages.push({ apply: (candidates) => infill(candidates, vocabulary!) })
  const random = new Mt19937(seed)
  if (options.mirostat !== undefined) {
    stages.push(new Mirostat(options.mirostat, vocabularySize, random))
  } else if (options.adaptiveP !== undefined) {
    stages.push(new AdaptiveP(options.adaptiveP, random))
  } else {
    stages.push({
      apply: (candidates) => distribution(candidates, random),
      reset: () => random.reset(),
    })
  }
  return stages
}

/** Stages that follow top-k and only drop candidates. */
function makeTruncation(options: CheckedSamplingOptions): Stage[] {
  const { temperature: degree, mirostat, typicalP, topP: p, minP: pOfBest } = options
  const stages: Stage[] = []
  if (degree === 0 || mirostat !== undefined) return stages
  if (typicalP < 1) stages.push({ apply: (candidates) => typical(candidates, typicalP) })
  if (p < 1) stages.push({ apply: (candidates) => topP(candidates, p) })
  if (pOfBest > 0) stages.push({ apply: (candidates) => minP(candidates, pOfBest) })
  return stages
}

interface Stages {
  editors: readonly Stage[]
  truncation: readonly Stage[]
  choosers: readonly Stage[]
}

class ChainSampler implements Sampler {
  readonly #options: CheckedSamplingOptions
  readonly #vocabularySize: number
  readonly #stages: Stages
  readonly #candidates = new Candidates()
  readonly #bands = new WeightBands()
  /** How many of the best are kept first; 0 is all. */
  readonly #count: number
  /** Whether truncation is top-p and min-p alone, which can read the raw logits. */
  readonly #nucleusFirst: boolean

  constructor(options: CheckedSamplingOptions, vocabularySize: number, stages: Stages) {
    const { temperature: degree, topK: k, topP: p, minP: pOfBest, typicalP, mirostat } = options
    this.#options = options
    this.#vocabularySize = vocabularySize
    this.#stages = stages
    this.#count = degree === 0 ? 1 : mirostat === undefined ? k : 0
    this.#nucleusFirst =
      this.#count === 0 && mirostat === undefined && typicalP === 1 && (p < 1 || pOfBest > 0)
  }

  get seed(): bigint {
    return this.#options.seed
  }

  sample(logits: Float32Array, mask?: Uint32Array): number {
    this.#checkLengths(logits, mask)
    const candidates = this.#candidates
    const { editors, truncation, choosers } = this.#stages
    let truncated = false
    if (editors.length > 0) {
      candidates.load(logits, mask)
      for (const stage of editors) stage.apply(candidates)
      topK(candidates, this.#count)
    } else if (this.#count > 0) {
      candidates.loadTop(logits, this.#count, mask)
    } else if (mask === undefined && this.#nucleusFirst) {
      truncated = this.#loadNucleus(logits)
    } else {
      candidates.load(logits, mask)
    }
    checkPossible(candidates, mask !== undefined)
    if (!truncated) for (const stage of truncation) stage.apply(candidates)
    for (const stage of choosers) stage.apply(candidates)
    return candidates.ids[candidates.selected]!
  }

  /** Loads what top-p and min-p keep; false, with all loaded, when no logit is a number. */
  #loadNucleus(logits: Float32Array): boolean {
    const { topP: p, minP: pOfBest } = this.#options
    if (loadNucleus(this.#candidates, logits, this.#bands, p, pOfBest)) return true
    this.#candidates.load(logits)
    return false
  }

  accept(token: number): void {
    checkInteger('token', token, 0, this.#vocabularySize - 1)
    for (const stages of [this.#stages.editors, this.#stages.choosers]) {
      for (const stage of stages) stage.accept?.(token)
    }
  }

  reset(): void {
    for (const stages of [this.#stages.editors, this.#stages.choosers]) {
      for (const stage of stages) stage.reset?.()
    }
  }

  #checkLengths(logits: Float32Array, mask: Uint32Array | undefined): void {
    const size = this.#vocabularySize
    if (logits.length !== size) {
      throw new RangeError(`sample: ${logits.length} logits for ${size} tokens`)
    }
    if (mask !== undefined && mask.length < (size + 31) >>> 5) {
      throw new RangeError(`sample: a mask of ${mask.length} words for ${size} tokens`)
    }
  }
}

function checkPossible(candidates: Candidates, masked: boolean): void {
  const best = candidates.indexOfMax()
  if (best >= 0 && candidates.logits[best]! > Number.NEGATIVE_INFINITY) return
  if (masked) throw new GrammarError('mask', '', 'no token of the vocabulary fits here')
  throw new LeavenError('LOGITS_INVALID', 'sample: no logit is a number above -Infinity')
}
