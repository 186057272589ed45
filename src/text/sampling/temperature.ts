// Samplers that change how peaked the distribution is.
import type { Candidates } from './candidates.ts'

/** Divides the logits by `temperature`; at 0 only the best candidate (the first on ties) stays possible. */
export function temperature(candidates: Candidates, temperature: number): void {
  const { logits, size } = candidates
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
