// The loop of a generation: prompt, then token by token until there is a reason to end.
import { ContextOverflowError, EmptyPromptError } from '../errors/index.ts'
import type { Sampler } from '../text/sampling/index.ts'
import { type StopMatcher, TextStream } from '../text/stream/index.ts'
import type { Tokenizer } from '../text/tokenizer/index.ts'
import type { CheckedGenerateOptions, Prompt } from './generate_options.ts'
import type { FinishReason, Part, Result, Timings } from './generation_result.ts'

/** One sequence of a model, which grows. */
export interface Decoder {
  /** Tokens that the sequence can hold. */
  readonly contextSize: number
  /** Tokens that it holds. */
  readonly length: number
  /**
   * Adds tokens. Gives the logits [vocabularySize] after the last one: a view that is valid until
   * the next call. `tokens` may change once the promise has settled. Rejects with the signal's
   * reason when it is aborted.
   */
  extend(tokens: Int32Array, signal?: AbortSignal): Promise<Float32Array>
  /** Called once, when no call of `extend` is under way. */
  release(): void | Promise<void>
}

/** What a generation needs of a tokenizer. */
export type GenerationTokenizer = Pick<
  Tokenizer,
  'vocabularySize' | 'encodeAsync' | 'check' | 'pieceBytes' | 'isEndOfGeneration'
>

/** A model, as a generation sees it. */
export interface GenerationSource {
  readonly tokenizer: GenerationTokenizer
  /** Logits of a token; may be more than the tokenizer knows. */
  readonly vocabularySize: number
  /** Called once the prompt is known not to be empty; may wait for a sequence to become free. */
  open(signal: AbortSignal): Decoder | Promise<Decoder>
}

/** The reason of aborts that end a generation with what there is, not with an error. */
export const QUIET = Symbol('ended quietly')

export interface GenerationJob {
  readonly prompt: Prompt
  readonly options: CheckedGenerateOptions
  readonly sampler: Sampler
  readonly source: GenerationSource
  readonly matcher: StopMatcher
  /** Aborts with the user's reason, or with QUIET. */
  readonly signal: AbortSignal
  emit(part: Part): void
}

const NOTHING = new Uint8Array(0)

export class GenerationRun {
  readonly #job: GenerationJob
  readonly #stream = new TextStream()
  readonly #tokens: number[] = []
  /** How many of the tokens are in parts. */
  #emitted = 0
  #text = ''
  #stopString: string | undefined
  #promptTokens = 0
  readonly #started = performance.now()
  #promptStarted = this.#started
  #promptEnded: number | undefined
  #firstToken: number | undefined
  #ended: number | undefined

  constructor(job: GenerationJob) {
    this.#job = job
  }

  /** Rejects with the user's reason when aborted, else with what went wrong. */
  async run(): Promise<Result> {
    const { signal } = this.#job
    try {
      signal.throwIfAborted()
      return this.#finish(await this.#generate())
    } catch (error) {
      if (!signal.aborted) throw error
      // What an abort breaks on its way down may look like anything.
      if (signal.reason !== QUIET) throw signal.reason
      return this.#finish('abort')
    }
  }

  async #generate(): Promise<FinishReason> {
    const prompt = await this.#encode()
    const decoder = await this.#job.source.open(this.#job.signal)
    try {
      this.#job.signal.throwIfAborted()
      return await this.#decode(decoder, prompt)
    } finally {
      this.#ended = performance.now()
      await decoder.release()
    }
  }

  async #encode(): Promise<Int32Array> {
    const { prompt, options, source, signal } = this.#job
    const { parseSpecial } = options
    const tokens =
      typeof prompt === 'string'
        ? await source.tokenizer.encodeAsync(prompt, { parseSpecial, signal })
        : Int32Array.from(prompt)
    signal.throwIfAborted()
    if (tokens.length === 0) throw new EmptyPromptError()
    this.#promptTokens = tokens.length
    return tokens
  }

  async #decode(decoder: Decoder, prompt: Int32Array): Promise<FinishReason> {
    const { sampler, signal, source } = this.#job
    const { maxTokens } = this.#job.options
    const needed = decoder.length + prompt.length
    if (needed > decoder.contextSize) throw new ContextOverflowError(needed, decoder.contextSize)
    this.#promptStarted = performance.now()
    let logits = await decoder.extend(prompt, signal)
    signal.throwIfAborted()
    this.#promptEnded = performance.now()
    for (const token of prompt) sampler.accept(token)
    const next = new Int32Array(1)
    while (this.#tokens.length < maxTokens) {
      const token = sampler.sample(logits)
      sampler.accept(token)
      this.#firstToken ??= performance.now()
      if (source.tokenizer.isEndOfGeneration(token)) return 'stop'
      this.#add(token)
      if (this.#stopString !== undefined) return 'stop-string'
      if (this.#tokens.length === maxTokens || decoder.length >= decoder.contextSize) break
      next[0] = token
      logits = await decoder.extend(next, signal)
      signal.throwIfAborted()
    }
    return 'length'
  }

  #add(token: number): void {
    this.#tokens.push(token)
    const { tokenizer } = this.#job.source
    const bytes = token < tokenizer.vocabularySize ? tokenizer.pieceBytes(token) : NOTHING
    const { text, stop } = this.#job.matcher.push(this.#stream.push(bytes))
    this.#stopString = stop
    if (text !== '') this.#emit(text)
  }

  #emit(text: string): void {
    this.#text += text
    this.#job.emit({ type: 'text', text, tokens: this.#tokens.slice(this.#emitted) })
    this.#emitted = this.#tokens.length
  }

  /** Gives out what was held back, and the result. */
  #finish(reason: FinishReason): Result {
    const { matcher, sampler } = this.#job
    if (this.#stopString === undefined) {
      const { text, stop } = matcher.push(this.#stream.flush())
      this.#stopString = stop
      const rest = stop === undefined ? text + matcher.flush() : text
      if (rest !== '') this.#emit(rest)
    }
    if (this.#emitted < this.#tokens.length) this.#emit('')
    const usage = { promptTokens: this.#promptTokens, completionTokens: this.#tokens.length }
    this.#job.emit({ type: 'usage', usage })
    return {
      text: this.#text,
      tokens: this.#tokens,
      usage,
      timings: this.#timings(),
      finishReason: this.#stopString === undefined ? reason : 'stop-string',
      ...(this.#stopString === undefined ? {} : { stopString: this.#stopString }),
      seed: sampler.seed,
    }
  }

  #timings(): Timings {
    const ended = this.#ended ?? performance.now()
    const promptEnded = this.#promptEnded ?? ended
    const promptMs = promptEnded - this.#promptStarted
    const generateMs = ended - promptEnded
    const perSecond = (count: number, ms: number) => (count > 0 && ms > 0 ? (count * 1000) / ms : 0)
    return {
      promptMs,
      generateMs,
      promptTokensPerSecond: perSecond(this.#promptTokens, promptMs),
      tokensPerSecond: perSecond(this.#tokens.length - 1, generateMs),
      timeToFirstTokenMs: (this.#firstToken ?? ended) - this.#started,
    }
  }
}
