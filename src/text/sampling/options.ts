// The options of sampling: defaults, and checks before any work.
import { seedMax } from './random.ts'

/** How the next token is chosen. Absent fields take `samplingDefaults`. */
export interface SamplingOptions {
  /** Above 1 flatter, below 1 more peaked; 0 is greedy (the likeliest, the lowest id on ties). */
  temperature?: number | undefined
  /** Only the k likeliest tokens; 0 is off. */
  topK?: number | undefined
  /** Only the likeliest tokens that make up this probability, in [0, 1]; 1 is off. */
  topP?: number | undefined
  /** Only tokens at least this fraction as likely as the likeliest, in [0, 1]; 0 is off. */
  minP?: number | undefined
  /**
   * In [0, 2^64); a number must be a safe integer. The same seed gives the same draws. Without one
   * a random seed is taken, which `Sampler.seed` tells.
   */
  seed?: number | bigint | undefined
}

/** The defaults, those of the reference's command line. */
export const samplingDefaults = Object.freeze({
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
})

/** Options with every field set. */
export interface CheckedSamplingOptions {
  temperature: number
  topK: number
  topP: number
  minP: number
  seed: bigint
}

/**
 * Checks all options and fills in defaults.
 *
 * @throws TypeError for a value of the wrong type, RangeError for one out of range, naming both.
 */
export function checkSamplingOptions(options: SamplingOptions): CheckedSamplingOptions {
  const {
    temperature = samplingDefaults.temperature,
    topK = samplingDefaults.topK,
    topP = samplingDefaults.topP,
    minP = samplingDefaults.minP,
    seed,
  } = options
  return {
    temperature: checkNumber('temperature', temperature),
    topK: checkInteger('topK', topK),
    topP: checkNumber('topP', topP, 0, 1),
    minP: checkNumber('minP', minP, 0, 1),
    seed: seed === undefined ? randomSeed() : checkSeed(seed),
  }
}

/** A finite number in [min, max]. */
export function checkNumber(name: string, value: unknown, min = 0, max = Number.MAX_VALUE): number {
  if (typeof value !== 'number') {
    throw new TypeError(`${name} must be a number, got ${describe(value)}`)
  }
  if (!(value >= min && value <= max)) {
    const range = max === Number.MAX_VALUE ? `a finite number >= ${min}` : `in [${min}, ${max}]`
    throw new RangeError(`${name} must be ${range}, got ${value}`)
  }
  return value
}

/** A whole number in [min, 2^31). */
export function checkInteger(name: string, value: unknown, min = 0): number {
  if (typeof value !== 'number') {
    throw new TypeError(`${name} must be a number, got ${describe(value)}`)
  }
  if (!Number.isInteger(value) || value < min || value > 0x7fffffff) {
    throw new RangeError(`${name} must be a whole number in [${min}, 2147483647], got ${value}`)
  }
  return value
}

/** A seed as 64 bits, never rounded. */
export function checkSeed(value: unknown): bigint {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new RangeError(`seed must be a whole number in [0, 2^53) or a bigint, got ${value}`)
    }
    return BigInt(value)
  }
  if (typeof value !== 'bigint') {
    throw new TypeError(`seed must be a number or a bigint, got ${describe(value)}`)
  }
  if (value < 0n || value > seedMax) {
    throw new RangeError(`seed must lie in [0, ${seedMax}], got ${value}`)
  }
  return value
}

function randomSeed(): bigint {
  return BigInt(crypto.getRandomValues(new Uint32Array(1))[0]!)
}

function describe(value: unknown): string {
  if (typeof value === 'string') return `the string ${JSON.stringify(value)}`
  return value === null || value === undefined ? `${value}` : `a ${typeof value}`
}
