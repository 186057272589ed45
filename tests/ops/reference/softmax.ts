// Weights from scores, and ALiBi's slopes: shared by soft_max and attention.

/** ALiBi's slope of a head (Press et al. 2021, arXiv:2108.12409), for any number of heads. */
export const alibiSlope = (head: number, heads: number, max: number): number => {
  const n = 2 ** Math.floor(Math.log2(heads))
  return head < n ? 2 ** ((-max * (head + 1)) / n) : 2 ** ((-max * (2 * (head - n) + 1)) / (2 * n))
}

export interface Score {
  readonly score: number
  /** The sum of the magnitudes that made it: what its rounding errors are measured by. */
  readonly size: number
}

/**
 * e^(score - largest) over their sum with the sink's. `error` tells by how many roundings a weight
 * may be wrong: errors of scores are relative ones of weights, and shared by the denominator.
 */
export const softmaxOf = (scores: readonly Score[], sink: number) => {
  const largest = scores.reduce((a, { score }) => Math.max(a, score), sink)
  const powers = scores.map(({ score }) =>
    // Scores that are all minus infinity weigh nothing.
    largest === Number.NEGATIVE_INFINITY ? 0 : Math.exp(score - largest),
  )
  const own = sink === Number.NEGATIVE_INFINITY ? 0 : Math.exp(sink - largest)
  const total = powers.reduce((a, b) => a + b, own)
  // Those that weigh nothing have no say in the denominator's error either.
  const worst = scores.reduce(
    (a, { size }, i) => (powers[i]! > 0 ? Math.max(a, size) : a),
    Number.isFinite(sink) ? Math.abs(sink) : 0,
  )
  return powers.map((power) => ({ weight: total === 0 ? 0 : power / total, error: 1 + worst }))
}
