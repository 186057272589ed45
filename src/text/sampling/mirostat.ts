// Mirostat: keeps the surprise of the text near a target.
//
// Source: Basu et al., "Mirostat: A Neural Text Decoding Algorithm that Directly Controls
// Perplexity", 2020; version 2 truncates by surprise instead of estimating Zipf's exponent.
import type { Candidates } from './candidates.ts'
import { draw } from './choose.ts'
import type { Mt19937 } from './random.ts'

/** Mirostat's settings. */
export interface MirostatOptions {
  version: 1 | 2
  /** The target surprise in bits, default 5. */
  tau?: number | undefined
  /** The learning rate, default 0.1. */
  eta?: number | undefined
}

/** How many of the likeliest tokens estimate Zipf's exponent in version 1. */
const estimateCount = 100

/** Chooses a candidate and learns from its surprise. */
export class Mirostat {
  readonly #version: 1 | 2
  readonly #tau: number
  readonly #eta: number
  readonly #vocabularySize: number
  readonly #random: Mt19937
  /** The largest surprise let through, in bits. */
  #mu: number

  constructor(options: MirostatOptions, vocabularySize: number, random: Mt19937) {
    this.#version = options.version
    this.#tau = options.tau ?? 5
    this.#eta = options.eta ?? 0.1
    this.#vocabularySize = vocabularySize
    this.#random = random
    this.#mu = 2 * this.#tau
  }

  apply(candidates: Candidates): void {
    candidates.sort()
    candidates.softmax()
    candidates.keepTop(
      this.#version === 1 ? this.#zipfCount(candidates) : this.#countBySurprise(candidates),
    )
    candidates.softmax()
    candidates.selected = draw(candidates, this.#random)
    const surprise = -Math.log2(candidates.probabilities[candidates.selected]!)
    this.#mu -= this.#eta * (surprise - this.#tau)
  }

  reset(): void {
    this.#random.reset()
    this.#mu = 2 * this.#tau
  }

  /** How many tokens have the expected surprise mu, were probabilities to follow Zipf's law. */
  #zipfCount(candidates: Candidates): number {
    const { probabilities, size } = candidates
    let products = 0
    let squares = 0
    for (let i = 0; i + 1 < Math.min(estimateCount, size) && probabilities[i + 1]! > 0; i++) {
      const rank = Math.log((i + 2) / (i + 1))
      products += rank * Math.log(probabilities[i]! / probabilities[i + 1]!)
      squares += rank * rank
    }
    const exponent = squares > 0 ? products / squares : 1
    const epsilon = exponent - 1
    const count =
      ((epsilon * 2 ** this.#mu) / (1 - this.#vocabularySize ** -epsilon)) ** (1 / exponent)
    return Number.isNaN(count) ? size : Math.max(1, Math.floor(count))
  }

  #countBySurprise(candidates: Candidates): number {
    const { probabilities, size } = candidates
    let count = 0
    while (count < size && -Math.log2(probabilities[count]!) <= this.#mu) count++
    return Math.max(1, count)
  }
}
