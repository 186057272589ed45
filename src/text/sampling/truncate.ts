// Samplers that keep only some of the candidates.
import type { Candidates } from './candidates.ts'

/** Keeps the `k` best, sorted; 0 keeps all as they are. */
export function topK(candidates: Candidates, k: number): void {
  if (k > 0) candidates.keepTop(k)
}

/**
 * Keeps the fewest best candidates whose probabilities sum to at least `p`, and at least `minKeep`.
 * `p` of 1 keeps all. Source: Holtzman et al., "The Curious Case of Neural Text Degeneration", 2019.
 */
export function topP(candidates: Candidates, p: number, minKeep = 1): void {
  if (p >= 1) return
  candidates.sort()
  candidates.softmax()
  const { probabilities, size } = candidates
  let sum = 0
  for (let i = 0; i < size; i++) {
    sum += probabilities[i]!
    if (sum >= p && i + 1 >= minKeep) {
      candidates.size = i + 1
      return
    }
  }
}

/**
 * Keeps candidates at least `p` times as likely as the likeliest, and at least `minKeep`.
 * `p` of 0 keeps all. Source: Nguyen et al., "Turning Up the Heat: Min-p Sampling", 2024.
 */
export function minP(candidates: Candidates, p: number, minKeep = 1): void {
  if (p <= 0 || candidates.size === 0) return
  const threshold = minPThreshold(candidates, p)
  const count = candidates.countFrom(threshold)
  if (count >= minKeep) {
    candidates.keepFrom(threshold)
  } else {
    candidates.sort()
    candidates.size = Math.min(minKeep, candidates.size)
  }
}

/**
 * `topP` and then `minP`, without sorting what min-p drops anyway: for large vocabularies when
 * top-k is off. Both keep a prefix of the sorted candidates, so the shorter prefix is the result.
 */
export function topPMinP(candidates: Candidates, p: number, pOfBest: number): void {
  if (p >= 1 || pOfBest <= 0 || candidates.size === 0) {
    topP(candidates, p)
    minP(candidates, pOfBest)
    return
  }
  const max = candidates.logits[candidates.indexOfMax()]!
  const target = p * sumOfWeights(candidates, max)
  candidates.keepFrom(minPThreshold(candidates, pOfBest))
  candidates.sort()
  const { logits, size } = candidates
  let sum = 0
  for (let i = 0; i < size; i++) {
    sum += logits[i] === max ? 1 : Math.exp(logits[i]! - max)
    if (sum >= target) {
      candidates.size = i + 1
      return
    }
  }
}

function minPThreshold(candidates: Candidates, p: number): number {
  const max = candidates.logits[candidates.indexOfMax()]!
  return Math.fround(max + Math.fround(Math.log(p)))
}

function sumOfWeights(candidates: Candidates, max: number): number {
  const { logits, size } = candidates
  let sum = 0
  for (let i = 0; i < size; i++) sum += logits[i] === max ? 1 : Math.exp(logits[i]! - max)
  return sum
}
