// A generation under way: a stream, a promise and a response at once.
import { checkAttached, checkObject, shown } from '../errors/arguments.ts'
import { createSampler } from '../text/sampling/index.ts'
import { StopMatcher } from '../text/stream/index.ts'
import { checkGenerateOptions, type GenerateOptions, type Prompt } from './generate_options.ts'
import { eventStream, textStream } from './generation_response.ts'
import type { Part, Result } from './generation_result.ts'
import {
  type GenerationJob,
  GenerationRun,
  type GenerationSource,
  QUIET,
} from './generation_run.ts'
import { PartLog } from './part_log.ts'

export type { GenerateOptions, Overflow, Prompt } from './generate_options.ts'
export type { FinishReason, Part, Result, TextPart, Timings, Usage } from './generation_result.ts'
export type { Decoder, GenerationSource, GenerationTokenizer } from './generation_run.ts'

export interface ResponseOptions {
  /** `sse`, the default: parts and errors as server-sent events. `text`: the text alone. */
  format?: 'sse' | 'text'
}

/**
 * What `model.generate` returns. It may be awaited, iterated over and streamed, also several times
 * and in several ways: there is one run, and everyone gets all of it from its beginning.
 *
 * - The run starts when it is first awaited or read, and goes at the model's own speed: what a slow
 *   reader has not read yet is kept, at most a context full.
 * - It stops when the last reader goes before the end (`break`, a cancelled stream), unless someone
 *   awaits it; and with `dispose()`. Both are quiet: awaiting then gives what there is, with
 *   finishReason `abort`.
 * - An AbortSignal makes it fail with the signal's reason.
 *
 * @example
 * const { text } = await model.generate('Once', { maxTokens: 50 })
 * for await (const piece of model.generate('Once').text) process.stdout.write(piece)
 */
export class Generation implements AsyncIterable<Part>, PromiseLike<Result>, Disposable {
  /** Pieces of text: whole characters, nothing of a stop string, never empty. */
  readonly text: AsyncIterable<string>
  readonly #job: GenerationJob
  readonly #log: PartLog<Part>
  readonly #controller = new AbortController()
  readonly #result = Promise.withResolvers<Result>()
  #isStarted = false
  #readers = 0

  /**
   * Checks everything that can be checked without the model.
   *
   * @throws TypeError or RangeError for a prompt or an option that is not valid
   */
  constructor(prompt: Prompt, options: GenerateOptions, source: GenerationSource) {
    const { tokenizer, vocabularySize } = source
    const sampler = createSampler(options, vocabularySize, {
      bytes: (token) =>
        token < tokenizer.vocabularySize ? tokenizer.pieceBytes(token) : new Uint8Array(0),
      isEndOfGeneration: (token) => tokenizer.isEndOfGeneration(token),
    })
    const checked = checkGenerateOptions(options)
    this.#log = new PartLog<Part>({ joined: () => this.#join(), left: () => this.#leave() })
    this.#job = {
      prompt: checkPrompt(prompt, source),
      options: checked,
      sampler,
      source,
      matcher: new StopMatcher(checked.stop),
      signal: this.#controller.signal,
      emit: (part) => this.#log.push(part),
    }
    // A failure belongs to those who await or read; without any it is nobody's.
    this.#result.promise.catch(() => {})
    this.text = { [Symbol.asyncIterator]: () => this.#log.read(textOf) }
  }

  [Symbol.asyncIterator](): AsyncIterator<Part> {
    return this.#log.read((part) => part)
  }

  // biome-ignore lint/suspicious/noThenProperty: a generation is awaitable by design.
  then<A = Result, B = never>(
    onFulfilled?: ((result: Result) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#join()
    return this.#result.promise.then(onFulfilled, onRejected)
  }

  /** The text as UTF-8. Cancelling it is like `break`. */
  toReadableStream(): ReadableStream<Uint8Array> {
    return textStream(this.text[Symbol.asyncIterator]())
  }

  /**
   * A response that streams. Of server-sent events, each part is a message, and the last one is
   * `event: result` or `event: error`.
   *
   * @example Bun.serve({ routes: { '/story': () => model.generate('Once').toResponse() } })
   */
  toResponse(options: ResponseOptions = {}): Response {
    checkObject('options', options)
    const { format = 'sse' } = options
    if (format === 'text') return respond(this.toReadableStream(), 'text/plain')
    if (format !== 'sse')
      throw new RangeError(`format must be 'sse' or 'text', got ${shown(format)}`)
    return respond(
      eventStream(this[Symbol.asyncIterator](), this.#result.promise),
      'text/event-stream',
    )
  }

  /** Ends the run quietly; the sequence is free again as soon as the step under way has ended. */
  dispose(): void {
    this.#controller.abort(QUIET)
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  #join(): void {
    this.#readers++
    if (!this.#isStarted) this.#start()
  }

  #leave(): void {
    this.#readers--
    if (this.#readers === 0) this.#controller.abort(QUIET)
  }

  #start(): void {
    this.#isStarted = true
    const { signal } = this.#job.options
    const abort = () => this.#controller.abort(signal?.reason)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
    new GenerationRun(this.#job)
      .run()
      .finally(() => signal?.removeEventListener('abort', abort))
      .then(
        (result) => {
          this.#log.end()
          this.#result.resolve(result)
        },
        (error) => {
          this.#log.fail(error)
          this.#result.reject(error)
        },
      )
  }
}

const textOf = (part: Part): string | undefined =>
  part.type === 'text' && part.text !== '' ? part.text : undefined

const respond = (body: ReadableStream<Uint8Array>, type: string): Response =>
  new Response(body, {
    headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-cache' },
  })

/** A copy of ids, so that it does not matter what becomes of the caller's. */
function checkPrompt(prompt: Prompt, { tokenizer }: GenerationSource): Prompt {
  if (typeof prompt === 'string') return prompt
  if (!(prompt instanceof Int32Array) && !Array.isArray(prompt)) {
    throw new TypeError('the prompt must be a string or an array of token ids')
  }
  if (prompt instanceof Int32Array) checkAttached('the prompt', prompt)
  tokenizer.check(prompt)
  return Int32Array.from(prompt)
}
