// Llama (Touvron et al. 2023, arXiv:2302.13971): a pre-norm decoder with rotary positions, SwiGLU
// and, since Llama 2 (arXiv:2307.09288), grouped-query attention.
import { UnsupportedModelError } from '../errors/index.ts'
import type { GgufMetadata } from '../files/index.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Batch } from '../nn/batch.ts'
import { embedding, linear, rmsNorm, swiGlu } from '../nn/layers.ts'
import { ropeFromMetadata } from '../nn/rope.ts'
import type { Weights } from '../nn/weights.ts'
import type { Architecture, Decoder, DecoderConfig } from './architecture.ts'

// Shapes: T rows, D width, H heads, K kv heads, d head width, V vocabulary.

interface LlamaConfig extends DecoderConfig {
  readonly heads: number
  readonly hidden: number
  readonly normEpsilon: number
  readonly attentionScale: number
}

export const llama: Architecture<LlamaConfig> = {
  name: 'llama',
  config: readConfig,

  build(config, weights): Decoder {
    const embed = embedding(weights.at('token_embd'), config.vocabulary, config.size)
    const factors = weights.find('rope_freqs.weight', [config.rope.rotated / 2])
    const blocks = Array.from({ length: config.layers }, (_, i) =>
      block(config, weights.at(`blk.${i}`), i, factors),
    )
    const norm = rmsNorm(weights.at('output_norm'), config.size, config.normEpsilon)
    // Small models tie the output projection to the embedding.
    const head = weights.at(weights.has('output.weight') ? 'output' : 'token_embd')
    const output = linear(head, config.size, config.vocabulary)
    return {
      embed: (batch) => embed(batch.tokens), // [T, D]
      blocks,
      hidden: (x, batch) => norm(x.getRows(batch.outputRows)), // [outputs, D]
      logits: output, // [outputs, V]
      frequencyFactors: factors,
    }
  },
}

type Block = (x: Tensor, batch: Batch) => Tensor

function block(
  config: LlamaConfig,
  weights: Weights,
  index: number,
  factors: Tensor | undefined,
): Block {
  const attention = selfAttention(config, weights, index, factors)
  const feedForward = swiGlu(weights, config.size, config.hidden)
  const attentionNorm = rmsNorm(weights.at('attn_norm'), config.size, config.normEpsilon)
  const feedForwardNorm = rmsNorm(weights.at('ffn_norm'), config.size, config.normEpsilon)
  return (x, batch) =>
    x.graph.within(`blk.${index}`, () => {
      const h = x.add(attention(attentionNorm(x), batch))
      return h.add(feedForward(feedForwardNorm(h)))
    })
}

function selfAttention(
  config: LlamaConfig,
  weights: Weights,
  index: number,
  factors: Tensor | undefined,
): Block {
  const { size, heads, kvHeads, keyDim, valueDim, rope } = config
  const query = linear(weights.at('attn_q'), size, heads * keyDim)
  const key = linear(weights.at('attn_k'), size, kvHeads * keyDim)
  const value = linear(weights.at('attn_v'), size, kvHeads * valueDim)
  const output = linear(weights.at('attn_output'), heads * valueDim, size)
  const scale = config.attentionScale
  return (x, { rows, positions, cache }) => {
    const q = query(x).reshape([rows, heads, keyDim]).rope(positions, rope, factors) // [T, H, d]
    const k = key(x).reshape([rows, kvHeads, keyDim]).rope(positions, rope, factors) // [T, K, d]
    const flat = k.reshape([rows, kvHeads * keyDim])
    const mixed = cache.attend(index, q, flat, value(x), { scale }) // [T, H, d]
    return output(mixed.reshape([rows, heads * valueDim])) // [T, D]
  }
}

function readConfig(metadata: GgufMetadata, vocabulary: number): LlamaConfig {
  const count = (name: string, max: number, fallback?: number) =>
    metadata.integer(`llama.${name}`, {
      min: 1,
      max,
      ...(fallback === undefined ? {} : { fallback }),
    })
  if (metadata.integer('llama.expert_count', { min: 0, max: 2 ** 16, fallback: 0 }) > 0) {
    throw new UnsupportedModelError(
      'llama.expert_count',
      undefined,
      'experts are not supported yet',
    )
  }
  const layers = count('block_count', 512)
  const size = count('embedding_length', 2 ** 20)
  const heads = count('attention.head_count', 2 ** 16)
  const kvHeads = count('attention.head_count_kv', heads, heads)
  if (heads % kvHeads !== 0) {
    throw metadata.error('llama.attention.head_count_kv', `does not divide ${heads} heads`)
  }
  const dim = (name: string) => {
    if (!metadata.has(`llama.attention.${name}`) && size % heads !== 0) {
      throw metadata.error('llama.attention.head_count', `does not divide ${size}`)
    }
    return count(`attention.${name}`, 2 ** 16, size / heads)
  }
  const keyDim = dim('key_length')
  const rope = ropeFromMetadata(metadata, 'llama', keyDim, 'pairs')
  if (rope.rotated !== keyDim) {
    throw metadata.error(
      'llama.rope.dimension_count',
      `a head has ${keyDim} values, all are rotated`,
    )
  }
  return {
    layers,
    size,
    heads,
    kvHeads,
    keyDim,
    valueDim: dim('value_length'),
    hidden: count('feed_forward_length', 2 ** 24),
    vocabulary,
    contextLength: count('context_length', 2 ** 31 - 1),
    normEpsilon: metadata.number('llama.attention.layer_norm_rms_epsilon', { min: 0, max: 1 }),
    attentionScale: metadata.number('llama.attention.scale', { fallback: 0 }) || keyDim ** -0.5,
    rope,
  }
}
