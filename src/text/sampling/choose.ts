// Samplers that choose one candidate.
import type { Candidates } from './candidates.ts'
import type { Mt19937 } from './random.ts'

/** Chooses the likeliest candidate, the first (in id order: the lowest id) on ties. */
export function greedy(candidates: Candidates): void {
  candidates.selected = candidates.indexOfMax()
}

/**
 * Draws one candidate by its probability: the first at which the running sum reaches a uniform
 * number in [0, 1). A single candidate costs no random number.
 */
export function distribution(candidates: Candidates, random: Mt19937): void {
  candidates.softmax()
  candidates.selected = candidates.size - 1
  if (candidates.size > 1) candidates.selected = draw(candidates, random)
}

/** Draws an index by `probabilities`; an impossible candidate is never drawn. */
export function draw(candidates: Candidates, random: Mt19937): number {
  const { probabilities, size } = candidates
  const target = random.nextDouble()
  let sum = 0
  for (let i = 0; i < size; i++) {
    sum += probabilities[i]!
    if (sum >= target && probabilities[i]! > 0) return i
  }
  // Rounding can leave the whole sum just below the target.
  let last = size - 1
  while (last > 0 && probabilities[last] === 0) last--
  return last
}
