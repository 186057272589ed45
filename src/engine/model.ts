// A loaded model: what users hold.
import { checkInstance, checkObject, checkSignal } from '../errors/arguments.ts'
import { DisposedError, EmptyPromptError } from '../errors/index.ts'
import type { Tokenizer } from '../text/tokenizer/index.ts'
import { Context, type Row } from './context.ts'
import { type GenerateOptions, Generation, type Prompt } from './generation.ts'
import { type LoadedModel, type LoadOptions, loadModel, type ModelSource } from './load.ts'
import { SequenceDecoder } from './sequence_decoder.ts'

/** What a file says of its model. Sizes are tokens, values or bytes as named. */
export interface ModelInfo {
  readonly name: string
  readonly architecture: string
  readonly parameterCount: number
  readonly weightBytes: number
  /** Weights by type, the most bytes first: `{ q8_0: 2_900_000, f32: 10_000 }`. */
  readonly types: Readonly<Record<string, number>>
  readonly layers: number
  readonly size: number
  readonly vocabularySize: number
  /** Tokens the model was trained for, and tokens one generation can hold here. */
  readonly trainedContext: number
  readonly contextSize: number
  readonly device: string
}

/** Bytes that a model uses on its device. */
export interface MemoryReport {
  readonly weights: number
  readonly cache: number
  readonly compute: number
}

/** Raw logits of every position. */
export interface Logits {
  /** [positions, vocabulary] */
  readonly shape: readonly [number, number]
  readonly data: Float32Array<ArrayBuffer>
}

export interface EvaluateOptions {
  signal?: AbortSignal
}

const contextDefaultMax = 4096
const batchDefault = 512

/**
 * Loads a GGUF model. The file's weights are mapped, not copied, so this takes little more time
 * than reading the vocabulary.
 *
 * ```ts
 * await using model = await load('stories-tiny-q8_0.gguf')
 * const { text } = await model.generate('Once upon a time', { maxTokens: 50 })
 * ```
 *
 * Throws GgufError, UnsupportedModelError or OutOfMemoryError; an aborted load rejects with the
 * signal's reason.
 */
export const load = async (source: ModelSource, options: LoadOptions = {}): Promise<Model> =>
  new Model(await loadModel(source, options), options)

export class Model implements AsyncDisposable {
  readonly tokenizer: Tokenizer
  readonly info: ModelInfo
  private readonly loaded: LoadedModel
  private readonly options: LoadOptions
  private readonly idle: Context[] = []
  private readonly contexts = new Set<Context>()
  private disposed = false

  /** @internal Use `load()`. */
  constructor(loaded: LoadedModel, options: LoadOptions) {
    this.loaded = loaded
    this.options = options
    this.tokenizer = loaded.tokenizer
    this.info = infoOf(loaded, options)
  }

  get memory(): MemoryReport {
    const sum = { cache: 0, compute: 0 }
    for (const { bytes } of this.contexts) {
      sum.cache += bytes.cache
      sum.compute += bytes.compute
    }
    return { weights: this.info.weightBytes, ...sum }
  }

  /**
   * Continues a prompt, which is text or token ids. The result is a promise of the whole and a
   * stream of its parts:
   *
   * ```ts
   * for await (const text of model.generate('Once').text) process.stdout.write(text)
   * ```
   *
   * Generations of one model may run side by side; each has a context of its own.
   */
  generate(prompt: Prompt, options: GenerateOptions = {}): Generation {
    if (this.disposed) throw new DisposedError('model')
    return new Generation(prompt, options, {
      tokenizer: this.tokenizer,
      vocabularySize: this.info.vocabularySize,
      open: () => new SequenceDecoder(this.take(), (context) => this.giveBack(context)),
    })
  }

  /**
   * Raw logits of every position of `tokens`, in one pass without sampling: [positions,
   * vocabulary]. Throws EmptyPromptError, RangeError for an id that is not in the vocabulary, or
   * ContextOverflowError.
   */
  async evaluate(tokens: Int32Array, options: EvaluateOptions = {}): Promise<Logits> {
    const width = this.info.vocabularySize
    const data = await this.runAll(tokens, 'logits', width, options)
    return { shape: [tokens.length, width], data }
  }

  /** @internal Normalised hidden states of every position: [positions, size]. */
  async hiddenStates(tokens: Int32Array, options: EvaluateOptions = {}): Promise<Logits> {
    const data = await this.runAll(tokens, 'hidden', this.info.size, options)
    return { shape: [tokens.length, this.info.size], data }
  }

  /** Frees everything; generations under way end with a DisposedError. */
  dispose(): void {
    if (this.disposed) return
    this.disposed = true
    for (const context of this.contexts) context.dispose()
    this.contexts.clear()
    this.idle.length = 0
    for (const buffer of this.loaded.buffers) buffer.dispose()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose()
  }

  private async runAll(
    tokens: Int32Array,
    kind: 'logits' | 'hidden',
    width: number,
    options: EvaluateOptions,
  ): Promise<Float32Array<ArrayBuffer>> {
    checkInstance('tokens', tokens, Int32Array, 'an Int32Array')
    checkObject('options', options)
    checkSignal(options.signal)
    if (tokens.length === 0) throw new EmptyPromptError()
    this.tokenizer.check(tokens)
    const context = this.take()
    try {
      const data = new Float32Array(tokens.length * width)
      for (let at = 0; at < tokens.length; at += context.batchSize) {
        const rows: Row[] = Array.from(tokens.subarray(at, at + context.batchSize), (token, i) => ({
          token,
          sequence: 0,
          position: at + i,
          output: true,
        }))
        using decoded = await context.decode(rows, { ...options, kind })
        data.set(decoded.values, at * width)
      }
      return data
    } finally {
      await this.giveBack(context)
    }
  }

  /** An empty context that nobody uses. */
  private take(): Context {
    if (this.disposed) throw new DisposedError('model')
    const idle = this.idle.pop()
    if (idle !== undefined) return idle
    const { batchSize = batchDefault, threads, kv } = this.options
    const context = new Context(this.loaded, {
      size: this.info.contextSize,
      batchSize,
      kv: { keys: kv?.type ?? 'f16', values: kv?.type ?? 'f16' },
      threads,
    })
    this.contexts.add(context)
    return context
  }

  private async giveBack(context: Context): Promise<void> {
    if (this.disposed) return
    await context.clear()
    if (!this.disposed) this.idle.push(context)
  }
}

const infoOf = (loaded: LoadedModel, options: LoadOptions): ModelInfo => {
  const { config, gguf } = loaded
  const types: Record<string, number> = {}
  let parameterCount = 0
  for (const { type, shape, sizeBytes } of gguf.tensors) {
    types[type] = (types[type] ?? 0) + sizeBytes
    parameterCount += shape.reduce((a, b) => a * b, 1)
  }
  return {
    name: loaded.name,
    architecture: loaded.architecture.name,
    parameterCount,
    weightBytes: gguf.tensors.reduce((sum, tensor) => sum + tensor.sizeBytes, 0),
    types: Object.fromEntries(Object.entries(types).sort(([, a], [, b]) => b - a)),
    layers: config.layers,
    size: config.size,
    vocabularySize: config.vocabulary,
    trainedContext: config.contextLength,
    contextSize: options.contextSize ?? Math.min(config.contextLength, contextDefaultMax),
    device: loaded.device.id,
  }
}
