// Norms over the last dimension.
import { countOf, type Reference } from './reference.ts'

/** x / sqrt(mean(x^2) + epsilon) * weight (Zhang and Sennrich 2019, arXiv:1910.07467). */
export const rmsNorm: Reference = ([x, weight], { epsilon }) => {
  const n = x!.shape[3]
  const data = new Float64Array(countOf(x!.shape))
  for (let first = 0; first < data.length; first += n) {
    let sum = 0
    for (let i = first; i < first + n; i++) sum += x!.data[i]! ** 2
    const scale = 1 / Math.sqrt(sum / n + epsilon!)
    for (let i = 0; i < n; i++) {
      data[first + i] = x!.data[first + i]! * scale * (weight === undefined ? 1 : weight.data[i]!)
    }
  }
  return [{ dtype: x!.dtype, shape: x!.shape, data }]
}
