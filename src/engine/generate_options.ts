// The options of a generation: their meaning, and checks before any work.
import { LeavenError } from '../errors/index.ts'
import type { SamplingOptions } from '../text/sampling/index.ts'

/** Text, or token ids when a text is not what is meant exactly. */
export type Prompt = string | Int32Array | readonly number[]

/** What happens when a generation does not fit the context. */
export type Overflow = 'error' | 'shift' | 'truncate-start'

/**
 * @example
 * model.generate('Once upon a time', { maxTokens: 100, temperature: 0.7, seed: 42, stop: ['\n'] })
 */
export interface GenerateOptions extends SamplingOptions {
  /** Ends after so many tokens. Default: when the model ends, or the context is full. */
  maxTokens?: number | undefined
  /** Ends in front of the first of these that the text contains; none may be empty. */
  stop?: readonly string[] | undefined
  /**
   * `error`, the default, refuses a prompt that is longer than the context, and ends a generation
   * with finishReason `length` where the context does. The others are not there yet.
   */
  overflow?: Overflow | undefined
  /**
   * Read control tokens written in the prompt, such as `<|im_end|>`, as those tokens. Default
   * false: what a user writes never becomes one.
   */
  parseSpecial?: boolean | undefined
  /** Ends the generation; what was awaited rejects with its reason, streams throw it. */
  signal?: AbortSignal | undefined
}

/** The options that are not about sampling, checked and whole. */
export interface CheckedGenerateOptions {
  /** Infinity when not given. */
  readonly maxTokens: number
  readonly stop: readonly string[]
  readonly parseSpecial: boolean
  readonly signal: AbortSignal | undefined
}

/**
 * Checks what `createSampler` does not. Stop strings are checked by `StopMatcher`.
 *
 * @throws TypeError, RangeError, or LeavenError `OPTION_UNSUPPORTED`
 */
export function checkGenerateOptions(options: GenerateOptions): CheckedGenerateOptions {
  const { maxTokens = Number.POSITIVE_INFINITY, stop = [], parseSpecial = false } = options
  if (typeof maxTokens !== 'number') {
    throw new TypeError(`maxTokens must be a number, got ${shown(maxTokens)}`)
  }
  if (maxTokens !== Number.POSITIVE_INFINITY && !(Number.isInteger(maxTokens) && maxTokens >= 0)) {
    throw new RangeError(`maxTokens must be a whole number that is not negative, got ${maxTokens}`)
  }
  if (!Array.isArray(stop)) {
    throw new TypeError(`stop must be an array of strings, got ${shown(stop)}`)
  }
  if (typeof parseSpecial !== 'boolean') {
    throw new TypeError(`parseSpecial must be a boolean, got ${shown(parseSpecial)}`)
  }
  const { signal } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError(`signal must be an AbortSignal, got ${shown(signal)}`)
  }
  checkOverflow(options.overflow ?? 'error')
  return { maxTokens, stop, parseSpecial, signal }
}

function checkOverflow(overflow: unknown): void {
  if (overflow === 'error') return
  if (overflow === 'shift' || overflow === 'truncate-start') {
    throw new LeavenError(
      'OPTION_UNSUPPORTED',
      `overflow: '${overflow}' is not supported yet; load() takes a larger contextSize`,
    )
  }
  throw new RangeError(`overflow must be 'error', got ${shown(overflow)}`)
}

const shown = (value: unknown): string => {
  if (typeof value === 'string') return `the string ${JSON.stringify(value)}`
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
