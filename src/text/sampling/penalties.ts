// Samplers that change the logits of single tokens: bias, penalties for repetition, DRY.
import type { Candidates } from './candidates.ts'
import { TokenHistory } from './history.ts'

/** Adds `bias` (token id to addend; -Infinity forbids the token) to the logits. */
export function logitBias(candidates: Candidates, bias: ReadonlyMap<number, number>): void {
  if (bias.size === 0) return
  const { logits } = candidates
  bias.forEach((addend, token) => {
    const i = candidates.indexOf(token)
    if (i >= 0) logits[i] = logits[i]! + addend
  })
  candidates.sorted = false
}

/** Penalties for tokens among the last `lastN`. */
export interface PenaltyOptions {
  /** How many tokens are looked at, default 64; 0 is off. */
  lastN?: number | undefined
  /** Divides positive logits and multiplies negative ones, default 1 (off). */
  repeat?: number | undefined
  /** Subtracted once for each occurrence, default 0. */
  frequency?: number | undefined
  /** Subtracted once if the token occurred, default 0. */
  presence?: number | undefined
}

/** Sources: Keskar et al., "CTRL", 2019 (repeat); OpenAI's API reference (frequency, presence). */
export function penalties(
  candidates: Candidates,
  history: TokenHistory,
  { repeat = 1, frequency = 0, presence = 0 }: PenaltyOptions,
): void {
  const { counts } = history
  if (counts.size === 0) return
  const { logits } = candidates
  const factor = Math.fround(repeat)
  const perCount = Math.fround(frequency)
  const once = Math.fround(presence)
  counts.forEach((count, token) => {
    const i = candidates.indexOf(token)
    if (i < 0) return
    const logit = logits[i]!
    const scaled = Math.fround(logit <= 0 ? logit * factor : logit / factor)
    logits[i] = scaled - Math.fround(Math.fround(count * perCount) + once)
  })
  candidates.sorted = false
}

/** Don't repeat yourself. */
export interface DryOptions {
  /** The penalty of a repetition of the allowed length; 0 is off. */
  multiplier: number
  /** The factor for each further token, default 1.75. */
  base?: number | undefined
  /** Longest repetition without a penalty of more than the multiplier, default 2. */
  allowedLength?: number | undefined
  /** How many tokens are looked at, default 4096. */
  lastN?: number | undefined
  /**
   * Strings that no repetition reaches across; default newline, colon, double quote and asterisk.
   */
  breakers?: readonly string[] | undefined
}

/**
 * Punishes tokens that would continue a repetition of what came before: a token that followed an
 * earlier occurrence of the last n tokens loses `multiplier * base^(n - allowedLength)`.
 * Source: text-generation-webui, pull request 5677 (p-e-w).
 */
export class Dry {
  readonly history: TokenHistory
  readonly #options: DryOptions
  readonly #longest = new Map<number, number>()
  #matches = new Int32Array(0)

  constructor(options: DryOptions) {
    this.#options = options
    this.history = new TokenHistory(options.lastN ?? 4096)
  }

  /** `limit` is how many tokens came since the last breaker. */
  apply(candidates: Candidates, limit = this.history.size): void {
    const { multiplier, base = 1.75, allowedLength = 2 } = this.#options
    if (
      multiplier <= 0 ||
      base < 1 ||
      limit < allowedLength ||
      this.history.size <= allowedLength
    ) {
      return
    }
    this.#findRepetitions(limit, allowedLength)
    if (this.#longest.size === 0) return
    const { logits } = candidates
    // Single precision ends near e^88.7.
    const exponentMax =
      base > 1.000001 ? Math.floor(88.7 / Math.log(base)) : Number.MAX_SAFE_INTEGER
    this.#longest.forEach((length, token) => {
      const i = candidates.indexOf(token)
      if (i < 0) return
      logits[i] = logits[i]! - multiplier * base ** Math.min(length - allowedLength, exponentMax)
    })
    candidates.sorted = false
  }

  /** For each token, the longest earlier occurrence of the end of the text that it followed. */
  #findRepetitions(limit: number, allowedLength: number): void {
    const { history } = this
    this.#longest.clear()
    const matches = this.#matchEnd()
    for (let back = 1; back < history.size; back++) {
      const length = Math.min(matches[back]!, limit)
      if (length < allowedLength) continue
      const next = history.fromEnd(back - 1)
      if (length > (this.#longest.get(next) ?? 0)) this.#longest.set(next, length)
    }
  }

  /**
   * For each place before the end, how many tokens up to it equal the last tokens of the text: the
   * Z function of the text read backwards (Gusfield, "Algorithms on Strings", 1.4), in linear time.
   */
  #matchEnd(): Int32Array {
    const { history } = this
    const { size } = history
    if (this.#matches.length < size) this.#matches = new Int32Array(Math.max(64, 2 * size))
    const matches = this.#matches
    let left = 0
    let right = 0
    for (let i = 1; i < size; i++) {
      let length = i < right ? Math.min(right - i, matches[i - left]!) : 0
      while (i + length < size && history.fromEnd(length) === history.fromEnd(i + length)) length++
      matches[i] = length
      if (i + length > right) {
        left = i
        right = i + length
      }
    }
    return matches
  }
}
