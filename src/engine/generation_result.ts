// What a generation gives: parts while it runs, and a result at its end.

/** Text that is certain: whole characters, and none that may belong to a stop string. */
export interface TextPart {
  type: 'text'
  text: string
  /** The tokens since the last part; those of all parts together are those of the result. */
  tokens: number[]
}

/** The last part. */
export interface UsagePart {
  type: 'usage'
  usage: Usage
}

export type Part = TextPart | UsagePart

/** Counts of tokens. */
export interface Usage {
  promptTokens: number
  /** Without the token that ends a generation. */
  completionTokens: number
}

export interface Timings {
  /** From the first to the last token of the prompt, after it was tokenized. */
  promptMs: number
  /** From the end of the prompt to the end. */
  generateMs: number
  promptTokensPerSecond: number
  /** Of the tokens after the first, which comes out of the prompt. */
  tokensPerSecond: number
  /** From the start, tokenizing and waiting for a context included. */
  timeToFirstTokenMs: number
}

/**
 * `stop`: the model ended. `length`: maxTokens, or the end of the context. `stop-string`: see
 * `stopString`. `abort`: the generation was disposed of, or nobody read on.
 */
export type FinishReason = 'stop' | 'length' | 'stop-string' | 'abort'

export interface Result {
  /** Everything generated, up to the stop string. A character that was cut shows as U+FFFD. */
  text: string
  /** Ids of everything generated, for `tokenizer.decodeBytes` too where characters were cut. */
  tokens: number[]
  usage: Usage
  timings: Timings
  finishReason: FinishReason
  stopString?: string
  /** The seed of the draws; the same again gives the same text. */
  seed: bigint
}
