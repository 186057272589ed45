// Ranks of scores: a sort that pauses, since a large vocabulary takes some milliseconds.
import type { Steps } from './steps.ts'

/** Scores between two yields. */
const SLICE = 1 << 12
const RADIX_BITS = 11
const BUCKETS = 1 << RADIX_BITS

/**
 * By index: how many distinct scores are better. The best scores have rank 0, and a score that is
 * no number is the worst. Radix sort of the numbers' bits, least significant digit first.
 */
export function* scoreRanks(scores: Float32Array): Steps<Int32Array> {
  const { length } = scores
  const keys = new Uint32Array(length)
  const bits = new Uint32Array(scores.buffer, scores.byteOffset, length)
  for (let i = 0; i < length; i++) {
    const score = scores[i]!
    // Bits of floats order like integers, backwards below zero; 0 and -0 are the same score.
    const up = score > 0 ? bits[i]! | 0x80000000 : score === 0 ? 0x80000000 : ~bits[i]!
    keys[i] = Number.isNaN(score) ? 0xffffffff : ~up
    if (i % SLICE === SLICE - 1) yield
  }
  let order = new Uint32Array(length)
  let sorted = new Uint32Array(length)
  for (let i = 0; i < length; i++) order[i] = i
  for (let shift = 0; shift < 32; shift += RADIX_BITS) {
    const starts = new Uint32Array(BUCKETS + 1)
    for (let i = 0; i < length; i++) {
      starts[((keys[i]! >>> shift) & (BUCKETS - 1)) + 1]!++
      if (i % SLICE === SLICE - 1) yield
    }
    for (let bucket = 0; bucket < BUCKETS; bucket++) starts[bucket + 1]! += starts[bucket]!
    for (let i = 0; i < length; i++) {
      const index = order[i]!
      sorted[starts[(keys[index]! >>> shift) & (BUCKETS - 1)]!++] = index
      if (i % SLICE === SLICE - 1) yield
    }
    const swapped = order
    order = sorted
    sorted = swapped
  }
  const ranks = new Int32Array(length)
  let rank = 0
  for (let i = 0; i < length; i++) {
    if (i > 0 && keys[order[i]!] !== keys[order[i - 1]!]) rank++
    ranks[order[i]!] = rank
    if (i % SLICE === SLICE - 1) yield
  }
  return ranks
}
