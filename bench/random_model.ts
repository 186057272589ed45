// Writes models of real sizes with random weights, fast, for tests and benchmarks.
//
//   bun bench/random_model.ts --shape 1b --type q4_0 --vocab 128256 out.gguf
//
//   --shape   tiny 135m 0.5b 1b 3b 8b            --type  any weight type of GGUF (q4_0)
//   --vocab   pieces (default: the shape's)      --seed  an integer (1)
import { parseArgs } from 'node:util'
import {
  type GgufTensorInput,
  type GgufTensorType,
  type GgufValueInput,
  ggufTensorTypes,
  writeGguf,
} from '../src/files/index.ts'
import { Random, randomBlocks, randomTypes } from './random_blocks.ts'
import { vocabularyKeys } from './random_vocabulary.ts'

/** Sizes of a model of architecture llama. */
export interface ModelShape {
  readonly embedding: number
  readonly layers: number
  readonly heads: number
  readonly keyHeads: number
  readonly feedForward: number
  readonly vocabulary: number
  /** The output matrix is the token embedding. */
  readonly tied: boolean
  readonly ropeBase: number
}

const shape = (
  [embedding, layers, heads, keyHeads, feedForward, vocabulary]: readonly number[],
  tied: boolean,
  ropeBase: number,
): ModelShape => ({
  embedding: embedding!,
  layers: layers!,
  heads: heads!,
  keyHeads: keyHeads!,
  feedForward: feedForward!,
  vocabulary: vocabulary!,
  tied,
  ropeBase,
})

/** Sizes as published for SmolLM2 135M, Qwen2.5 0.5B, Llama 3.2 1B and 3B, Llama 3 8B. */
export const modelShapes = {
  tiny: shape([256, 2, 4, 2, 512, 512], true, 10_000),
  '135m': shape([576, 30, 9, 3, 1536, 49_152], true, 100_000),
  '0.5b': shape([896, 24, 14, 2, 4864, 151_936], true, 1_000_000),
  '1b': shape([2048, 16, 32, 8, 8192, 128_256], true, 500_000),
  '3b': shape([3072, 28, 24, 8, 8192, 128_256], true, 500_000),
  '8b': shape([4096, 32, 32, 8, 14_336, 128_256], false, 500_000),
} as const satisfies Record<string, ModelShape>

export type ShapeName = keyof typeof modelShapes

export interface RandomModelOptions {
  /** Default: tiny. */
  shape?: ShapeName | ModelShape
  /** Of all matrices (default q4_0); where rows are no multiple of 256, the nearest type of 32. */
  type?: GgufTensorType
  /** Pieces; at least 260. Default: the shape's. */
  vocabulary?: number
  seed?: number
  /** Written as the context length the model was made for. Default: 8192. */
  context?: number
  signal?: AbortSignal
}

export interface RandomModelSummary {
  readonly parameterCount: number
  /** Bytes of all tensors. */
  readonly tensorBytes: number
  /** Bytes of weights that one token reads: every matrix once, of the embedding one row. */
  readonly tokenBytes: number
}

/** Weights of this deviation keep activations of order one through many normed layers. */
const deviation = 0.02
const patternBytes = 2 ** 22

/**
 * Writes a valid model with random weights and a vocabulary of distinct pieces. Weights repeat a
 * random pattern of 4 MiB for each type, from another place for each tensor: the disk is the limit.
 *
 * @example await writeRandomModel('m.gguf', { shape: '1b', type: 'q8_0', vocabulary: 32_000 })
 */
export const writeRandomModel = async (
  path: string,
  options: RandomModelOptions = {},
): Promise<RandomModelSummary> => {
  const { type = 'q4_0', seed = 1, context = 8192, signal } = options
  const named =
    typeof options.shape === 'object' ? options.shape : modelShapes[options.shape ?? 'tiny']
  if (named === undefined) throw new RangeError(`no shape ${options.shape}`)
  const sizes = { ...named, vocabulary: options.vocabulary ?? named.vocabulary }
  const random = new Random(seed)
  const listed = listTensors(sizes, type)
  const patterns = new Patterns(random, Math.min(patternBytes, Math.max(...listed.map(byteCount))))
  const tensors = listed.map((tensor): GgufTensorInput => {
    const data = () =>
      tensor.name.endsWith('norm.weight') ? ones(tensor.shape[0]!) : patterns.fill(tensor)
    return { ...tensor, data }
  })
  const metadata = { ...modelKeys(sizes, context), ...vocabularyKeys(sizes.vocabulary) }
  await writeGguf(path, { metadata, tensors }, signal ? { signal } : {})
  return summarize(tensors, sizes.tied)
}

type Listed = Omit<GgufTensorInput, 'data'>

// Shapes are outermost first: [outputs, inputs].
const listTensors = (sizes: ModelShape, type: GgufTensorType): Listed[] => {
  const { embedding, layers, heads, keyHeads, feedForward, vocabulary, tied } = sizes
  const keyWidth = (embedding / heads) * keyHeads
  const matrix = (name: string, outputs: number, inputs: number): Listed => ({
    name: `${name}.weight`,
    type: fittingType(type, inputs),
    shape: [outputs, inputs],
  })
  const norm = (name: string): Listed => ({
    name: `${name}.weight`,
    type: 'f32',
    shape: [embedding],
  })
  const layer = (index: number): Listed[] => [
    norm(`blk.${index}.attn_norm`),
    matrix(`blk.${index}.attn_q`, embedding, embedding),
    matrix(`blk.${index}.attn_k`, keyWidth, embedding),
    matrix(`blk.${index}.attn_v`, keyWidth, embedding),
    matrix(`blk.${index}.attn_output`, embedding, embedding),
    norm(`blk.${index}.ffn_norm`),
    matrix(`blk.${index}.ffn_gate`, feedForward, embedding),
    matrix(`blk.${index}.ffn_up`, feedForward, embedding),
    matrix(`blk.${index}.ffn_down`, embedding, feedForward),
  ]
  return [
    matrix('token_embd', vocabulary, embedding),
    ...Array.from({ length: layers }, (_, index) => layer(index)).flat(),
    norm('output_norm'),
    ...(tied ? [] : [matrix('output', vocabulary, embedding)]),
  ]
}

// What quantizers use instead where rows are no multiple of 256: about as many bits a weight.
const narrower: Partial<Record<GgufTensorType, GgufTensorType>> = {
  q4_K: 'q5_0',
  q5_K: 'q5_1',
  q6_K: 'q8_0',
  q2_K: 'q4_0',
  q3_K: 'q4_0',
  tq1_0: 'q4_0',
  tq2_0: 'q4_0',
  q1_0: 'q4_0',
}

const fittingType = (type: GgufTensorType, inputs: number): GgufTensorType => {
  if (inputs % ggufTensorTypes[type].blockLength === 0) return type
  const other = narrower[type] ?? (type.startsWith('iq') ? 'iq4_nl' : 'f16')
  return inputs % ggufTensorTypes[other].blockLength === 0 ? other : 'f16'
}

const ones = (count: number): Float32Array => new Float32Array(count).fill(1)

const countOf = ({ shape }: Listed): number => shape.reduce((product, size) => product * size)

const byteCount = (tensor: Listed): number => {
  const { blockLength, blockBytes } = ggufTensorTypes[tensor.type]
  return (countOf(tensor) / blockLength) * blockBytes
}

/** A piece of random weights for each type, repeated from a random block on. */
class Patterns {
  readonly #random: Random
  readonly #bytes: number
  readonly #known = new Map<GgufTensorType, Uint8Array>()

  constructor(random: Random, bytes: number) {
    this.#random = random
    this.#bytes = bytes
  }

  *fill(tensor: Listed): Generator<Uint8Array> {
    const { blockBytes } = ggufTensorTypes[tensor.type]
    const pattern = this.#pattern(tensor.type)
    let start = this.#random.below(pattern.length / blockBytes) * blockBytes
    for (let left = byteCount(tensor); left > 0; start = 0) {
      const piece = pattern.subarray(start, start + left)
      yield piece
      left -= piece.length
    }
  }

  #pattern(type: GgufTensorType): Uint8Array {
    const known = this.#known.get(type)
    if (known) return known
    const blockCount = Math.ceil(this.#bytes / ggufTensorTypes[type].blockBytes)
    const pattern = randomBlocks(type, blockCount, deviation, this.#random)
    this.#known.set(type, pattern)
    return pattern
  }
}

const u32 = (value: number): GgufValueInput => ({ type: 'u32', value })
const f32 = (value: number): GgufValueInput => ({ type: 'f32', value })

const modelKeys = (sizes: ModelShape, context: number): Record<string, GgufValueInput> => ({
  'general.architecture': 'llama',
  'general.name': 'random weights',
  'general.quantization_version': u32(2),
  'llama.block_count': u32(sizes.layers),
  'llama.context_length': u32(context),
  'llama.embedding_length': u32(sizes.embedding),
  'llama.feed_forward_length': u32(sizes.feedForward),
  'llama.attention.head_count': u32(sizes.heads),
  'llama.attention.head_count_kv': u32(sizes.keyHeads),
  'llama.attention.layer_norm_rms_epsilon': f32(1e-5),
  'llama.rope.dimension_count': u32(sizes.embedding / sizes.heads),
  'llama.rope.freq_base': f32(sizes.ropeBase),
  'llama.vocab_size': u32(sizes.vocabulary),
})

const summarize = (tensors: readonly Listed[], tied: boolean): RandomModelSummary => {
  let [parameterCount, tensorBytes, tokenBytes] = [0, 0, 0]
  for (const tensor of tensors) {
    const bytes = byteCount(tensor)
    parameterCount += countOf(tensor)
    tensorBytes += bytes
    const oneRow = tensor.name === 'token_embd.weight' && !tied
    tokenBytes += oneRow ? bytes / tensor.shape[0]! : bytes
  }
  return { parameterCount, tensorBytes, tokenBytes }
}

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    options: {
      shape: { type: 'string', default: 'tiny' },
      type: { type: 'string', default: 'q4_0' },
      vocab: { type: 'string' },
      seed: { type: 'string', default: '1' },
    },
    allowPositionals: true,
  })
  const [path] = positionals
  if (path === undefined || !Object.hasOwn(modelShapes, values.shape)) {
    throw new RangeError(`a path and one of the shapes ${Object.keys(modelShapes).join(' ')}`)
  }
  if (!(randomTypes as readonly string[]).includes(values.type)) {
    throw new RangeError(`the types are ${randomTypes.join(' ')}`)
  }
  const started = performance.now()
  const summary = await writeRandomModel(path, {
    shape: values.shape as ShapeName,
    type: values.type as GgufTensorType,
    seed: Number(values.seed),
    ...(values.vocab !== undefined && { vocabulary: Number(values.vocab) }),
  })
  const seconds = (performance.now() - started) / 1000
  console.log(JSON.stringify({ path, ...summary, seconds: Number(seconds.toFixed(2)) }))
}

if (import.meta.main) await main()
