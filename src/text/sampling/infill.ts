// Infill: for filling a gap in code, ends rather than guesses, and merges tokens that begin alike.
//
// Source: llama.cpp, pull request 9896, whose thresholds are used.
import type { Candidates } from './candidates.ts'

/** What infill and DRY need to know of the tokens. */
export interface SamplerVocabulary {
  /** The bytes of a token's text; empty for control tokens. */
  bytes(token: number): Uint8Array
  /** Whether the token ends a generation. */
  isEndOfGeneration(token: number): boolean
}

const likelyThreshold = 0.2

/**
 * If ending is likely enough, keeps only the tokens that end; else keeps the tokens above 0.2, then
 * above 1 / (count + 1), with the probability of a token given to the likelier of two of which one
 * begins like the other. The candidates become sorted, with probabilities that sum to 1; logits are
 * their logarithms.
 */
export function infill(candidates: Candidates, vocabulary: SamplerVocabulary): void {
  const { size } = candidates
  if (size === 0) return
  candidates.sort()
  candidates.softmax()
  const { ids, probabilities } = candidates
  let ending = 0
  let going = 0
  for (let i = 0; i < size; i++) {
    if (vocabulary.isEndOfGeneration(ids[i]!)) ending += probabilities[i]!
    else going += probabilities[i]!
  }
  if (3 * ending * size > going) {
    keepWhere(candidates, (i) => vocabulary.isEndOfGeneration(ids[i]!))
  } else {
    mergeAlike(candidates, vocabulary)
    const ends = (i: number) => vocabulary.isEndOfGeneration(ids[i]!)
    let count = 0
    for (let i = 0; i < size; i++) if (probabilities[i]! >= likelyThreshold && !ends(i)) count++
    if (count === 0) {
      keepWhere(candidates, ends)
    } else {
      keepWhere(candidates, (i) => probabilities[i]! >= likelyThreshold || ends(i))
      keepWhere(candidates, (i) => probabilities[i]! >= 1 / (count + 1) || ends(i))
    }
  }
  normalise(candidates)
}

/** Gives the probability of each token to the likelier of two of which one is a prefix. */
function mergeAlike(candidates: Candidates, vocabulary: SamplerVocabulary): void {
  const { ids, probabilities, size } = candidates
  const texts = Array.from({ length: Math.min(size, mergeMax) }, (_, i) =>
    vocabulary.bytes(ids[i]!),
  )
  for (let a = 0; a < texts.length; a++) {
    for (let b = 0; b < texts.length; b++) {
      if (a === b || probabilities[a] === 0 || probabilities[b] === 0) continue
      if (!isPrefix(texts[a]!, texts[b]!)) continue
      const [to, from] = probabilities[b]! > probabilities[a]! ? [b, a] : [a, b]
      probabilities[to] = probabilities[to]! + probabilities[from]!
      probabilities[from] = 0
    }
  }
}

/** Merging looks at pairs; tokens beyond this rank are too unlikely to matter. */
const mergeMax = 256

function isPrefix(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length === 0 || a.length > b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Keeps entries by index; with none left, all stay. */
function keepWhere(candidates: Candidates, wanted: (i: number) => boolean): void {
  const { ids, logits, probabilities, size } = candidates
  let kept = 0
  for (let i = 0; i < size; i++) {
    if (!wanted(i)) continue
    ids[kept] = ids[i]!
    logits[kept] = logits[i]!
    probabilities[kept++] = probabilities[i]!
  }
  if (kept > 0) candidates.size = kept
}

function normalise(candidates: Candidates): void {
  const { logits, probabilities, size } = candidates
  let sum = 0
  for (let i = 0; i < size; i++) sum += probabilities[i]!
  for (let i = 0; i < size; i++) {
    probabilities[i] = probabilities[i]! / sum
    logits[i] = Math.log(probabilities[i]!)
  }
  candidates.sorted = false
  candidates.sort()
}
