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
  const { probabilities, size } = candidates
  candidates.softmax()
  candidates.selected = size - 1
  if (size <= 1) return
  const target = random.nextDouble()
  let sum = 0
  for (let i = 0; i < size; i++) {
    sum += probabilities[i]!
    if (sum >= target && probabilities[i]! > 0) {
      candidates.selected = i
      return
    }
  }
  candidates.selected = lastPossible(candidates)
}

/** Rounding can leave the whole sum just below the target; an impossible token is never chosen. */
function lastPossible(candidates: Candidates): number {
  let i = candidates.size - 1
  while (i > 0 && candidates.probabilities[i] === 0) i--
  return i
}
