// Adaptive-p: prefers tokens near a target probability, so that the average of chosen tokens meets
// it.
//
// Source: MrJackSpade, "Adaptive-P" (2025), whose transformation constants are used.
import type { Candidates } from './candidates.ts'
import { draw } from './choose.ts'
import type { Mt19937 } from './random.ts'

/** Adaptive-p's settings. */
export interface AdaptivePOptions {
  /** The wanted average probability of chosen tokens, in [0, 1]. */
  target: number
  /** How slowly the average forgets, in [0, 0.99], default 0.9. */
  decay?: number | undefined
}

const peakLogit = 5
const width = 0.3
const sharpness = 10

/** Chooses a candidate near the adapted target; `accept` moves the average. */
export class AdaptiveP {
  readonly #target: number
  readonly #decay: number
  readonly #random: Mt19937
  #weightedSum = 0
  #totalWeight = 0
  #pendingToken = -1
  #pendingProbability = 0
  #original = new Float32Array(0)

  constructor(options: AdaptivePOptions, random: Mt19937) {
    this.#target = options.target
    this.#decay = options.decay ?? 0.9
    this.#random = random
    this.#restart()
  }

  apply(candidates: Candidates): void {
    candidates.softmax()
    const { logits, probabilities, size } = candidates
    if (this.#original.length < size) this.#original = new Float32Array(candidates.ids.length)
    const original = this.#original
    const wanted = 2 * this.#target - this.#weightedSum / this.#totalWeight
    const target = Math.min(1, Math.max(0, wanted))
    for (let i = 0; i < size; i++) {
      original[i] = probabilities[i]!
      if (logits[i] === Number.NEGATIVE_INFINITY) continue
      // Quadratic near the target, linear far from it.
      const distance = Math.abs(probabilities[i]! - target) / width
      logits[i] = peakLogit - (sharpness * distance * distance) / (1 + distance)
    }
    candidates.sorted = false
    candidates.softmax()
    candidates.selected = draw(candidates, this.#random)
    this.#pendingToken = candidates.ids[candidates.selected]!
    this.#pendingProbability = original[candidates.selected]!
  }

  accept(token: number): void {
    if (token === this.#pendingToken) {
      this.#weightedSum = this.#pendingProbability + this.#decay * this.#weightedSum
      this.#totalWeight = 1 + this.#decay * this.#totalWeight
    }
    this.#pendingToken = -1
  }

  reset(): void {
    this.#random.reset()
    this.#restart()
  }

  #restart(): void {
    this.#totalWeight = 1 / (1 - this.#decay)
    this.#weightedSum = this.#target * this.#totalWeight
    this.#pendingToken = -1
  }
}
