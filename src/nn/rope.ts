// Rotary position embedding as model files describe it.
import { UnsupportedModelError } from '../errors/index.ts'
import type { GgufMetadata } from '../files/index.ts'
import type { RopeOptions } from '../graph/tensor.ts'

/**
 * Reads `<architecture>.rope.*`. Scaling types: none, linear (positions divided by a factor) and
 * yarn (arXiv:2309.00071, whose attention temperature scales cosine and sine).
 */
export const ropeFromMetadata = (
  metadata: GgufMetadata,
  architecture: string,
  headDim: number,
  style: RopeOptions['style'],
): RopeOptions => {
  const key = (name: string) => `${architecture}.rope.${name}`
  const number = (name: string, fallback: number, min = 0) =>
    metadata.number(key(name), { min, fallback })
  const rotated = metadata.integer(key('dimension_count'), {
    min: 2,
    max: headDim,
    fallback: headDim,
  })
  if (rotated % 2 !== 0) throw metadata.error(key('dimension_count'), 'an even number is needed')
  const base = number('freq_base', 10_000, 1e-6)
  const type = metadata.string(key('scaling.type'), { fallback: 'linear' })
  const factor = number('scaling.factor', 1)
  const scale = factor === 0 ? 1 : 1 / factor
  const magnitude = number('scaling.attn_factor', 1)
  switch (type) {
    case 'none':
      return { style, rotated, base, magnitude }
    case 'linear':
      return { style, rotated, base, scale, magnitude }
    case 'yarn':
      return {
        style,
        rotated,
        base,
        scale,
        extrapolation: 1,
        magnitude: magnitude * (1 + 0.1 * Math.log(1 / scale)),
        betaFast: number('scaling.yarn_beta_fast', 32),
        betaSlow: number('scaling.yarn_beta_slow', 1),
        originalContext: metadata.integer(key('scaling.original_context_length'), {
          min: 1,
          max: 2 ** 31,
          fallback: metadata.integer(`${architecture}.context_length`, { min: 1, max: 2 ** 31 }),
        }),
      }
    default:
      throw new UnsupportedModelError(key('scaling.type'), type, `'${type}' is not supported`)
  }
}

/** The same rotation without its temperature: what moves keys that are cached already. */
export const rotationOnly = (options: RopeOptions): RopeOptions => ({ ...options, magnitude: 1 })
