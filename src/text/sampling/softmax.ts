// Softmax, and the sum of a whole vocabulary's weights by distance from the best logit.

// e^-d = decay[step] * e^-r, where step = floor(32 d) and r = d - starts[step] < 1/32: a Taylor
// polynomial of degree 4 in r is within 2.5e-10, far below single precision, and takes half the
// time of Math.exp. The start of a step is read from a table because a conversion of the integer
// back would make each turn of a loop wait for the one before (bench/sampling.ts).
const stepCount = 110 * 32
const starts = Float64Array.from({ length: stepCount }, (_, step) => step / 32)
const decay = starts.map((start) => Math.exp(-start))

/**
 * Writes e^(logit - max) / sum into `probabilities` [size], in single precision.
 * Weights below e^-110, which single precision cannot hold, are 0.
 */
export function softmax(
  probabilities: Float32Array,
  logits: Float32Array,
  size: number,
  max: number,
): void {
  if (max === Number.NEGATIVE_INFINITY) {
    probabilities.fill(1 / size, 0, size)
    return
  }
  const scale = 1 / writeWeights(probabilities, logits, size, max)
  for (let i = 0; i < size; i++) probabilities[i] = probabilities[i]! * scale
}

function writeWeights(
  weights: Float32Array,
  logits: Float32Array,
  size: number,
  max: number,
): number {
  let sum = 0
  for (let i = 0; i < size; i++) {
    const distance = max - logits[i]!
    let weight = 0
    if (distance < 110) {
      const step = (distance * 32) | 0
      const r = distance - starts[step]!
      const tail = 1 - r * (1 - r * (1 / 2 - r * (1 / 6 - r * (1 / 24))))
      weight = Math.fround(decay[step]! * tail)
    }
    weights[i] = weight
    sum += weight
  }
  return sum
}

const bandCount = 32 * 32

/**
 * Weights e^(logit - max) summed in bands of 1/32 below the best logit. Weights under e^-32 of the
 * best are left out: a million of them are less than single precision can tell.
 */
export class WeightBands {
  /** The largest logit. */
  max = Number.NEGATIVE_INFINITY
  /** The sum of all weights. */
  sum = 0
  readonly #bands = new Float64Array(bandCount)

  /** Reads all of `logits`; NaN counts as no weight. */
  measure(logits: Float32Array): void {
    const bands = this.#bands
    const max = largest(logits)
    bands.fill(0)
    sumBands(bands, logits, max)
    let sum = 0
    for (let band = 0; band < bandCount; band++) {
      bands[band]! *= decay[band]!
      sum += bands[band]!
    }
    this.max = max
    this.sum = sum
  }

  /** A logit such that those at or above it have at least the fraction `p` of the weight. */
  threshold(p: number): number {
    const target = p * this.sum * (1 + 1e-9)
    let sum = 0
    for (let band = 0; band < bandCount; band++) {
      sum += this.#bands[band]!
      if (sum >= target) return this.max - (band + 1) / 32
    }
    return Number.NEGATIVE_INFINITY
  }
}

function largest(logits: Float32Array): number {
  let max = Number.NEGATIVE_INFINITY
  for (let i = 0; i < logits.length; i++) if (logits[i]! > max) max = logits[i]!
  return max
}

function sumBands(bands: Float64Array, logits: Float32Array, max: number): void {
  for (let i = 0; i < logits.length; i++) {
    const distance = max - logits[i]!
    if (!(distance < 32)) continue
    const band = (distance * 32) | 0
    const r = distance - starts[band]!
    bands[band] = bands[band]! + (1 - r * (1 - r * (1 / 2 - r * (1 / 6 - r * (1 / 24)))))
  }
}
