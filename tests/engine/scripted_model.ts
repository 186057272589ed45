// A model that says what it is told to, token by token, and counts what is asked of it.
import { type GenerateOptions, Generation, type Prompt } from '../../src/engine/generation.ts'

export const END = 0
const FIRST_PIECE = 1

const encoder = new TextEncoder()

/** Bytes of a piece, from a text or from numbers. */
export const bytesOf = (piece: string | readonly number[]): Uint8Array =>
  typeof piece === 'string' ? encoder.encode(piece) : Uint8Array.from(piece)

export interface ScriptOptions {
  /** Tokens that the tokenizer knows, when those are not all. */
  vocabularySize?: number
  contextSize?: number
  /** After the last piece: the end token (default), or the pieces again and again. */
  repeat?: boolean
  /** Called before each step; what it gives is waited for. */
  beforeStep?(tokens: number[], signal: AbortSignal | undefined): unknown
  open?(): unknown
  release?(): unknown
}

/**
 * Token 0 ends; token 1 + i is piece i. A prompt has one token for each of its UTF-16 code units.
 * The other logits are lower, so that every sampler at a low temperature says the same.
 */
export class ScriptedModel {
  /** What each step was given. */
  readonly steps: number[][] = []
  openCount = 0
  releaseCount = 0
  readonly #pieces: readonly Uint8Array[]
  readonly #options: ScriptOptions
  readonly #logits: Float32Array

  constructor(pieces: readonly (string | readonly number[])[], options: ScriptOptions = {}) {
    this.#pieces = pieces.map(bytesOf)
    this.#options = options
    this.#logits = new Float32Array(FIRST_PIECE + Math.max(1, pieces.length))
  }

  generate(prompt: Prompt = 'prompt', options: GenerateOptions = {}): Generation {
    return new Generation(prompt, { temperature: 0, ...options }, this.#source())
  }

  #source() {
    const vocabularySize = this.#options.vocabularySize ?? this.#logits.length
    return {
      vocabularySize: this.#logits.length,
      open: async () => {
        await this.#options.open?.()
        this.openCount++
        return this.#decoder()
      },
      tokenizer: {
        vocabularySize,
        encodeAsync: async (text: string) => new Int32Array(text.length).fill(FIRST_PIECE),
        check: (ids: ArrayLike<number>) => {
          const bad = Array.from(ids).findIndex((id) => !(id >= 0 && id < vocabularySize))
          if (bad >= 0) throw new RangeError(`token ${bad} is ${ids[bad]}`)
        },
        pieceBytes: (id: number) => {
          if (id >= vocabularySize) throw new RangeError(`token ${id} is unknown`)
          return this.#pieces[id - FIRST_PIECE] ?? new Uint8Array(0)
        },
        isEndOfGeneration: (id: number) => id === END,
      },
    }
  }

  #decoder() {
    const model = this
    let step = 0
    return {
      contextSize: this.#options.contextSize ?? 1_000,
      length: 0,
      async extend(tokens: Int32Array, signal?: AbortSignal): Promise<Float32Array> {
        await model.#options.beforeStep?.([...tokens], signal)
        model.steps.push([...tokens])
        this.length += tokens.length
        const count = model.#pieces.length
        const piece = model.#options.repeat ? step % count : step
        step++
        model.#logits.fill(0)
        model.#logits[piece < count ? FIRST_PIECE + piece : END] = 1
        return model.#logits
      },
      release: async () => {
        model.releaseCount++
        await model.#options.release?.()
      },
    }
  }
}
