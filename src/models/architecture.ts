// What the engine asks of an architecture, and the list of those there are.
import { UnsupportedModelError } from '../errors/index.ts'
import type { GgufMetadata } from '../files/index.ts'
import type { RopeOptions, Tensor } from '../graph/tensor.ts'
import type { Batch } from '../nn/batch.ts'
import type { Weights } from '../nn/weights.ts'
import { llama } from './llama.ts'

/** Facts that hold for every decoder with a key and value cache. */
export interface DecoderConfig {
  readonly layers: number
  readonly size: number
  readonly vocabulary: number
  /** Positions that the model was trained for. */
  readonly contextLength: number
  readonly kvHeads: number
  readonly keyDim: number
  readonly valueDim: number
  readonly rope: RopeOptions
}

/** A model's graph in its parts, from the first to the last. */
export interface Decoder {
  /** Vectors of the batch's tokens: [rows, size]. */
  embed(batch: Batch): Tensor
  /** [rows, size] to the same, one after another. */
  readonly blocks: readonly ((x: Tensor, batch: Batch) => Tensor)[]
  /** The wanted rows, normalised: [rows, size] to [outputs, size]. */
  hidden(x: Tensor, batch: Batch): Tensor
  /** [outputs, size] to [outputs, vocabulary]. */
  logits(hidden: Tensor): Tensor
  /** Divides the rotation's angles, where the file has it: [rotated / 2]. */
  readonly frequencyFactors: Tensor | undefined
}

export interface Architecture<Config extends DecoderConfig = DecoderConfig> {
  /** As `general.architecture` spells it. */
  readonly name: string
  /** Reads and checks the file's keys. Throws GgufError or UnsupportedModelError. */
  config(metadata: GgufMetadata, vocabulary: number): Config
  build(config: Config, weights: Weights): Decoder
}

const architectures: readonly Architecture[] = [llama as Architecture]

/** The architecture that a file names. Throws UnsupportedModelError for others. */
export const architectureOf = (metadata: GgufMetadata): Architecture => {
  const name = metadata.string('general.architecture')
  const found = architectures.find((architecture) => architecture.name === name)
  if (found !== undefined) return found
  const known = architectures.map((architecture) => architecture.name).join(', ')
  throw new UnsupportedModelError(
    'general.architecture',
    name,
    `'${name}' is not supported, only ${known}`,
  )
}
