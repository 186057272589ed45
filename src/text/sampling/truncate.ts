// Samplers that keep only some of the candidates.
import type { Candidates } from './candidates.ts'
import type { Mt19937 } from './random.ts'
import type { WeightBands } from './softmax.ts'

/** Keeps the `k` best, sorted; 0 keeps all as they are. */
export function topK(candidates: Candidates, k: number): void {
  if (k > 0) candidates.keepTop(k)
}

/**
 * Keeps the fewest best candidates whose probabilities sum to at least `p`, and at least `minKeep`.
 * `p` of 1 keeps all. Source: Holtzman et al., "The Curious Case of Neural Text Degeneration",
 * 2019.
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
  const threshold = minPThreshold(candidates.logits[candidates.indexOfMax()]!, p)
  const { logits, size } = candidates
  let count = 0
  for (let i = 0; i < size; i++) if (logits[i]! >= threshold) count++
  if (count >= minKeep) {
    candidates.keepFrom(threshold)
  } else {
    candidates.sort()
    candidates.size = Math.min(minKeep, size)
  }
}

/**
 * Loads what `topP` and then `minP` (`pOfBest`) keep of all tokens, sorted; one of them must be on.
 *
 * Both keep a prefix of the sorted candidates. The bands tell where the prefix of top-p ends to
 * within 1/32 of a logit, min-p tells its end exactly, and only the candidates above are sorted.
 *
 * Returns false, having loaded nothing, when no finite best logit exists.
 */
export function loadNucleus(
  candidates: Candidates,
  logits: Float32Array,
  bands: WeightBands,
  p: number,
  pOfBest: number,
): boolean {
  bands.measure(logits)
  const { max } = bands
  if (!Number.isFinite(max)) return false
  const lowest = pOfBest > 0 ? minPThreshold(max, pOfBest) : Number.NEGATIVE_INFINITY
  candidates.loadFrom(logits, p < 1 ? Math.max(lowest, bands.threshold(p)) : lowest)
  candidates.sort()
  if (p >= 1) return true
  const own = candidates.logits
  const target = p * bands.sum
  let sum = 0
  for (let i = 0; i < candidates.size; i++) {
    sum += Math.exp(own[i]! - max)
    if (sum >= target) candidates.size = i + 1
  }
  return true
}

function minPThreshold(max: number, p: number): number {
  return Math.fround(max + Math.fround(Math.log(p)))
}

/**
 * Locally typical sampling: keeps the candidates whose surprise is nearest to the entropy, up to a
 * total probability above `p`, in that order. `p` of 1 keeps all.
 * Source: Meister et al., "Locally Typical Sampling", 2022.
 */
export function typical(candidates: Candidates, p: number, minKeep = 1): void {
  if (p >= 1 || candidates.size === 0) return
  candidates.softmax()
  const { probabilities, size } = candidates
  const entropy = entropyOf(candidates)
  const distances = distancesFor(size)
  for (let i = 0; i < size; i++) {
    distances[i] = Math.abs(-Math.log(probabilities[i]!) - entropy)
  }
  candidates.sortBy(distances)
  let sum = 0
  for (let i = 0; i < size; i++) {
    sum += probabilities[i]!
    if (sum > p && i + 1 >= minKeep) {
      candidates.size = i + 1
      return
    }
  }
}

/** The entropy of the candidates' probabilities, in nats. */
export function entropyOf(candidates: Candidates): number {
  const { probabilities, size } = candidates
  let entropy = 0
  for (let i = 0; i < size; i++) {
    const p = probabilities[i]!
    if (p > 0) entropy -= p * Math.log(p)
  }
  return entropy
}

let distanceScratch = new Float32Array(0)

function distancesFor(size: number): Float32Array {
  if (distanceScratch.length < size) distanceScratch = new Float32Array(size)
  return distanceScratch
}

/**
 * Makes candidates impossible whose logit lies more than `n` standard deviations below the best;
 * 0 is off. Source: Tang et al., "Top-nσ: Not All Logits Are You Need", 2024.
 */
export function topNSigma(candidates: Candidates, n: number): void {
  const { logits, size } = candidates
  if (n <= 0 || size <= 1) return
  let max = Number.NEGATIVE_INFINITY
  let sum = 0
  let count = 0
  for (let i = 0; i < size; i++) {
    const logit = logits[i]!
    if (logit === Number.NEGATIVE_INFINITY) continue
    if (logit > max) max = logit
    sum += logit
    count++
  }
  if (count === 0) return
  const mean = sum / count
  let squares = 0
  for (let i = 0; i < size; i++) {
    if (logits[i] !== Number.NEGATIVE_INFINITY) squares += (logits[i]! - mean) ** 2
  }
  const threshold = max - n * Math.sqrt(squares / count)
  for (let i = 0; i < size; i++) if (logits[i]! < threshold) logits[i] = Number.NEGATIVE_INFINITY
}

/** Exclude top choices. */
export interface XtcOptions {
  /** How often it acts, in [0, 1]; 0 is off. */
  probability: number
  /** Probability from which a token is a top choice; above 0.5 is off. */
  threshold: number
}

/**
 * Now and then removes all candidates of at least `threshold` but the least likely of them.
 * Source: text-generation-webui, pull request 6335 (p-e-w).
 */
export function xtc(
  candidates: Candidates,
  options: XtcOptions,
  random: Mt19937,
  minKeep = 1,
): void {
  const { probability, threshold } = options
  if (probability <= 0 || threshold > 0.5 || candidates.size < 2) return
  if (random.nextFloat() > Math.fround(probability)) return
  candidates.sort()
  candidates.softmax()
  const { probabilities, size } = candidates
  let last = 0
  while (last + 1 < size && probabilities[last + 1]! >= threshold) last++
  if (last > 0 && size - last >= minKeep) candidates.dropFirst(last)
}
