// Samplers that change how peaked the distribution is.
import type { Candidates } from './candidates.ts'
import { entropyOf } from './truncate.ts'

/**
 * Divides the logits by `temperature`; at 0 only the best candidate (the first on ties) stays
 * possible.
 */
export function temperature(candidates: Candidates, temperature: number): void {
  const { logits, size } = candidates
  if (size === 0) return
  const best = candidates.indexOfMax()
  if (temperature > 0) {
    // Only differences count; subtracting the best keeps a tiny temperature from overflowing.
    const overflows = Math.abs(logits[best]! / temperature) > 3e38
    const shift = overflows ? logits[best]! : 0
    for (let i = 0; i < size; i++) logits[i] = (logits[i]! - shift) / temperature
    return
  }
  for (let i = 0; i < size; i++) if (i !== best) logits[i] = Number.NEGATIVE_INFINITY
}

/** A temperature that follows the entropy. */
export interface DynamicTemperature {
  /** How far it may lie below and above the temperature. */
  range: number
  /** The power of the normalised entropy, default 1. */
  exponent?: number | undefined
}

/**
 * A temperature between `centre - range` (never below 0) at no entropy and `centre + range` at the
 * most; the candidates become sorted, with probabilities. Source: llama.cpp, pull request 4972.
 */
export function dynamicTemperature(
  candidates: Candidates,
  centre: number,
  { range, exponent = 1 }: DynamicTemperature,
): void {
  if (range <= 0) {
    temperature(candidates, centre)
    return
  }
  if (candidates.size <= 1) return
  const low = Math.max(0, centre - range)
  const high = centre + range
  candidates.sort()
  candidates.softmax()
  const normalised = entropyOf(candidates) / Math.log(candidates.size)
  temperature(candidates, low + (high - low) * normalised ** exponent)
  candidates.softmax()
}
