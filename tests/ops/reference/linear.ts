// Products with weights.
import { isQuantized } from '../../../src/native/dtype.ts'
import type { TensorValue } from '../tensor_value.ts'
import { countOf, placeOf, type Reference } from './reference.ts'

/** weight [c, b, n, k], x [c', b', m, k], bias [n] give [c', b', m, n] with b | b' and c | c'. */
export const linear: Reference = ([weight, x, bias]) => {
  const [c, b, m, k] = x!.shape
  const [wc, wb, n] = weight!.shape
  const shape = [c, b, m, n]
  const count = countOf(shape)
  const data = new Float64Array(count)
  const magnitude = new Float64Array(count)
  const rounded = isQuantized(weight!.dtype) && x!.dtype === 'f32'
  const errors = rounded ? new ActivationErrors(x!, count) : undefined
  let at = 0
  for (let i = 0; i < c; i++) {
    for (let j = 0; j < b; j++) {
      // Neighbouring slices of x share a slice of the weight.
      const wi = Math.floor(i / (c / wc))
      const wj = Math.floor(j / (b / wb))
      for (let row = 0; row < m; row++) {
        const from = placeOf(x!.shape, i, j, row, 0)
        for (let out = 0; out < n; out++, at++) {
          const w = placeOf(weight!.shape, wi, wj, out, 0)
          const start = bias === undefined ? 0 : bias.data[out]!
          let sum = start
          let size = Math.abs(start)
          for (let e = 0; e < k; e++) {
            const product = weight!.data[w + e]! * x!.data[from + e]!
            sum += product
            size += Math.abs(product)
          }
          data[at] = sum
          magnitude[at] = size
          errors?.add(at, weight!.data.subarray(w, w + k), from)
        }
      }
    }
  }
  const { slack, deviation } = errors ?? {}
  return [{ dtype: 'f32', shape, data, magnitude, ...(slack && { slack, deviation: deviation! }) }]
}

/**
 * What products may be wrong by when 32 neighbouring activations each share a scale of
 * largest / 127: half a scale for each at most, and the deviation of a uniform error.
 */
class ActivationErrors {
  readonly slack: Float64Array
  readonly deviation: Float64Array
  private readonly scales: Float64Array

  constructor(x: TensorValue, count: number) {
    this.slack = new Float64Array(count)
    this.deviation = new Float64Array(count)
    this.scales = new Float64Array(x.data.length)
    for (let first = 0; first < x.data.length; first += 32) {
      let largest = 0
      for (let e = first; e < first + 32; e++) largest = Math.max(largest, Math.abs(x.data[e]!))
      // Below 2^-120 activations count as 0.
      this.scales.fill(largest < 2 ** -120 ? 2 * largest : largest / 127, first, first + 32)
    }
  }

  /** Of one product of a row of weights with the activations from `from` on. */
  add(at: number, weights: Float64Array, from: number): void {
    let most = 0
    let variance = 0
    for (const [e, weight] of weights.entries()) {
      const error = Math.abs(weight) * this.scales[from + e]!
      most += error / 2
      variance += (error * error) / 12
    }
    this.slack[at] = most
    this.deviation[at] = Math.sqrt(variance)
  }
}
