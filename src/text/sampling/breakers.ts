// How far back the last sequence breaker of DRY lies.
import type { TokenHistory } from './history.ts'
import type { SamplerVocabulary } from './infill.ts'

/** The breakers when none are named. */
export const defaultBreakers: readonly string[] = ['\n', ':', '"', '*']

/** Looks for strings in the bytes of the last tokens, across the borders of tokens. */
export class Breakers {
  readonly #needles: readonly Uint8Array[]
  readonly #vocabulary: SamplerVocabulary
  readonly #longest: number

  /** `breakers` are not empty strings. */
  constructor(breakers: readonly string[], vocabulary: SamplerVocabulary) {
    this.#needles = breakers.map((breaker) => new TextEncoder().encode(breaker))
    this.#longest = Math.max(0, ...this.#needles.map((needle) => needle.length))
    this.#vocabulary = vocabulary
  }

  /**
   * How many tokens came after the token that completed the last breaker; all when there is none.
   */
  tokensSince(history: TokenHistory): number {
    const tail: number[] = [] // The first bytes of the text after the token at hand.
    for (let back = 0; back < history.size; back++) {
      const bytes = this.#vocabulary.bytes(history.fromEnd(back))
      const ends = this.#endsWithin(bytes, tail)
      if (ends >= 0) return Math.max(0, this.#tokensAfter(history, back, ends))
      tail.unshift(...bytes.subarray(0, this.#longest))
      tail.length = Math.min(tail.length, this.#longest)
    }
    return history.size
  }

  /**
   * Bytes beyond `bytes` that a breaker which starts inside it needs; -1 when none starts there.
   */
  #endsWithin(bytes: Uint8Array, tail: readonly number[]): number {
    let least = -1
    for (const needle of this.#needles) {
      for (let start = bytes.length - 1; start >= 0; start--) {
        const over = Math.max(0, start + needle.length - bytes.length)
        if (over > tail.length || (least >= 0 && over >= least)) continue
        if (matchesAt(needle, bytes, tail, start)) least = over
      }
    }
    return least
  }

  #tokensAfter(history: TokenHistory, back: number, over: number): number {
    let at = back
    for (let left = over; left > 0 && at > 0; ) {
      at--
      left -= this.#vocabulary.bytes(history.fromEnd(at)).length
    }
    return at
  }
}

function matchesAt(
  needle: Uint8Array,
  bytes: Uint8Array,
  tail: readonly number[],
  start: number,
): boolean {
  for (let i = 0; i < needle.length; i++) {
    const at = start + i
    const byte = at < bytes.length ? bytes[at] : tail[at - bytes.length]
    if (byte !== needle[i]) return false
  }
  return true
}
