// The options of sampling: defaults, and checks before any work.
import type { AdaptivePOptions } from './adaptive_p.ts'
import type { MirostatOptions } from './mirostat.ts'
import type { DryOptions, PenaltyOptions } from './penalties.ts'
import { seedMax } from './random.ts'
import type { DynamicTemperature } from './temperature.ts'
import type { XtcOptions } from './truncate.ts'

/**
 * How the next token is chosen. Absent fields take `samplingDefaults`, absent samplers are off.
 *
 * The order is fixed: mask, bias, penalties, DRY, top-n-sigma, top-k, typical, top-p, min-p, XTC,
 * temperature, and then a seeded draw, adaptive-p or infill. Mirostat replaces all truncation.
 */
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
  /** Locally typical sampling, in [0, 1]; 1 is off. */
  typicalP?: number | undefined
  /** Only tokens within this many standard deviations of the best logit; 0 is off. */
  topNSigma?: number | undefined
  /** Lets the temperature follow the entropy. */
  dynamicTemperature?: DynamicTemperature | undefined
  xtc?: XtcOptions | undefined
  penalties?: PenaltyOptions | undefined
  dry?: DryOptions | undefined
  /** Token id to what is added to its logit; -Infinity forbids the token. */
  bias?: ReadonlyMap<number, number> | undefined
  mirostat?: MirostatOptions | undefined
  adaptiveP?: AdaptivePOptions | undefined
  /** For filling gaps in code: ends when unsure. */
  infill?: boolean | undefined
}

/** The defaults, those of the reference's command line. */
export const samplingDefaults = Object.freeze({
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  typicalP: 1,
  topNSigma: 0,
})

/** Options with every number set. */
export interface CheckedSamplingOptions extends SamplingOptions {
  temperature: number
  topK: number
  topP: number
  minP: number
  typicalP: number
  topNSigma: number
  seed: bigint
}

/**
 * Checks all options and fills in defaults.
 *
 * @throws TypeError for a value of the wrong type, RangeError for one out of range, naming both.
 */
export function checkSamplingOptions(
  options: SamplingOptions,
  vocabularySize: number,
): CheckedSamplingOptions {
  checkObject('options', options)
  const given = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  )
  const all = { ...samplingDefaults, ...given } as typeof samplingDefaults & SamplingOptions
  checkNumber('temperature', all.temperature)
  checkInteger('topK', all.topK)
  checkNumber('topP', all.topP, 0, 1)
  checkNumber('minP', all.minP, 0, 1)
  checkNumber('typicalP', all.typicalP, 0, 1)
  checkNumber('topNSigma', all.topNSigma)
  checkGroups(all)
  if (all.bias !== undefined) checkBias(all.bias, vocabularySize)
  if (all.infill !== undefined && typeof all.infill !== 'boolean') {
    throw new TypeError(`infill must be a boolean, got ${describe(all.infill)}`)
  }
  return { ...all, seed: all.seed === undefined ? randomSeed() : checkSeed(all.seed) }
}

const lastNMax = 1 << 20

function checkGroups(options: SamplingOptions): void {
  const { dynamicTemperature, xtc, penalties, dry, mirostat, adaptiveP } = options
  checkGroup('dynamicTemperature', dynamicTemperature, {
    range: [0, Number.MAX_VALUE],
    exponent: [0, Number.MAX_VALUE, 1],
  })
  checkGroup('xtc', xtc, { probability: [0, 1], threshold: [0, 1] })
  checkGroup('penalties', penalties, {
    repeat: [Number.MIN_VALUE, Number.MAX_VALUE, 1],
    frequency: [-Number.MAX_VALUE, Number.MAX_VALUE, 0],
    presence: [-Number.MAX_VALUE, Number.MAX_VALUE, 0],
  })
  if (penalties !== undefined) checkInteger('penalties.lastN', penalties.lastN ?? 0, 0, lastNMax)
  checkGroup('dry', dry, { multiplier: [0, Number.MAX_VALUE], base: [1, Number.MAX_VALUE, 1] })
  if (dry !== undefined) {
    checkInteger('dry.allowedLength', dry.allowedLength ?? 2, 1)
    checkInteger('dry.lastN', dry.lastN ?? 0, 0, lastNMax)
    checkBreakers(dry.breakers ?? [])
  }
  checkGroup('mirostat', mirostat, {
    version: [1, 2],
    tau: [0, Number.MAX_VALUE, 5],
    eta: [0, Number.MAX_VALUE, 0.1],
  })
  if (mirostat !== undefined) checkInteger('mirostat.version', mirostat.version, 1, 2)
  checkGroup('adaptiveP', adaptiveP, { target: [0, 1], decay: [0, 0.99, 0.9] })
}

/** Checks numbers of a group of options: least and largest value, and a default if not required. */
function checkGroup(
  name: string,
  group: object | undefined,
  fields: Record<string, readonly [number, number, number?]>,
): void {
  if (group === undefined) return
  checkObject(name, group)
  for (const [field, [min, max, fallback]] of Object.entries(fields)) {
    const value = (group as Record<string, unknown>)[field]
    checkNumber(`${name}.${field}`, value === undefined ? fallback : value, min, max)
  }
}

function checkBreakers(breakers: unknown): void {
  if (!Array.isArray(breakers)) {
    throw new TypeError(`dry.breakers must be an array of strings, got ${describe(breakers)}`)
  }
  for (const breaker of breakers) {
    if (typeof breaker !== 'string') {
      throw new TypeError(`dry.breakers must hold strings, got ${describe(breaker)}`)
    }
    if (breaker === '') throw new RangeError('dry.breakers must not hold an empty string')
  }
}

function checkBias(bias: unknown, vocabularySize: number): void {
  if (!(bias instanceof Map)) throw new TypeError(`bias must be a Map, got ${describe(bias)}`)
  for (const [token, addend] of bias) {
    checkInteger('a token of bias', token, 0, vocabularySize - 1)
    if (addend !== Number.NEGATIVE_INFINITY) {
      checkNumber(`bias of token ${token}`, addend, -Number.MAX_VALUE)
    }
  }
}

function checkObject(name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) {
    throw new TypeError(`${name} must be an object, got ${describe(value)}`)
  }
}

/** A finite number in [min, max]. */
export function checkNumber(name: string, value: unknown, min = 0, max = Number.MAX_VALUE): void {
  if (typeof value !== 'number') {
    throw new TypeError(`${name} must be a number, got ${describe(value)}`)
  }
  if (!(value >= min && value <= max)) {
    const range = max === Number.MAX_VALUE ? `a finite number >= ${min}` : `in [${min}, ${max}]`
    throw new RangeError(`${name} must be ${range}, got ${value}`)
  }
}

/** A whole number in [min, max]. */
export function checkInteger(name: string, value: unknown, min = 0, max = 0x7fffffff): void {
  if (typeof value !== 'number') {
    throw new TypeError(`${name} must be a number, got ${describe(value)}`)
  }
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new RangeError(`${name} must be a whole number in [${min}, ${max}], got ${value}`)
  }
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
