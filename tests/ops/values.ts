// Draws the values of operands, as the bytes of rows without gaps.
import { type DType, rowBytes } from '../../src/native/dtype.ts'
import { dtypes } from '../../src/native/ops.gen.ts'
import type { Random } from './random.ts'
import { blockFormats } from './reference/block_formats.ts'
import { encode } from './reference/codec.ts'
import { goldenBlocks, goldenInput } from './reference/golden_blocks.ts'
import { plainFormats, precisions } from './reference/number_formats.ts'
import type { Values } from './row.ts'

/** Bytes of a tensor of `shape` without gaps, drawn by `random`. */
export const draw = (
  random: Random,
  dtype: DType,
  shape: readonly number[],
  values: Values,
): Uint8Array => {
  const length = shape.at(-1)!
  const count = shape.reduce((a, b) => a * b, 1)
  const isPlain = plainFormats[dtype] !== undefined || dtype === 'q8_row'
  if (!isPlain && values !== 'zero') return drawBlocks(random, dtype, count, values)
  const bytes = encode(dtype, drawNumbers(random, dtype, count, length, values), length)
  // Zeros are in every format; blocks of zero bytes are zeros in those without a rule to quantize.
  return bytes ?? new Uint8Array((count / length) * rowBytes(dtype, length))
}

const drawNumbers = (
  random: Random,
  dtype: DType,
  count: number,
  length: number,
  values: Values,
): Float64Array => {
  if (values === 'golden') return drawGolden(random, count, length)
  if (typeof values === 'object' && 'everyRow' in values) {
    const numbers = drawNumbers(random, dtype, count, length, 'normal')
    for (let i = 0; i < count; i++) {
      if (Math.floor(i / length) % values.everyRow === 0) numbers[i] = values.is
    }
    return numbers
  }
  if (typeof values === 'object' && 'below' in values && values.distinct) {
    return drawDistinct(random, count, length, values.below)
  }
  const next = generator(random, dtype, values)
  return Float64Array.from({ length: count }, (_, i) => next(i))
}

const generator = (random: Random, dtype: DType, values: Values): ((i: number) => number) => {
  if (typeof values === 'object') {
    if ('list' in values) return (i) => values.list[i % values.list.length]!
    if ('low' in values) return () => random.between(values.low, values.high)
    if ('below' in values) return () => random.below(values.below)
    throw new TypeError(`values ${JSON.stringify(values)}`)
  }
  const float = precisions[dtype] ?? precisions.f32!
  const smallest = 2 ** (float.lowest - float.bits + 1)
  const normal = precisions[dtype] === undefined && dtype !== 'q8_row' ? 50 : 1
  switch (values) {
    case 'normal':
      return () => random.normal() * normal
    case 'uniform':
      return () => random.between(-1, 1)
    case 'positive':
      return () => 2 ** random.between(-1, 1)
    case 'whole':
      return () => random.below(17) - 8
    case 'zero':
      return () => 0
    case 'tiny':
      return () => Math.round(random.between(-500, 500)) * smallest
    case 'huge': {
      const limit = Math.min(1e30, float.max / 4)
      return () => random.between(-limit, limit)
    }
    case 'special': {
      const special = [0, -0, smallest, -smallest * 3, 2 ** float.lowest, float.max, -float.max]
      special.push(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1, -1)
      return () => (random.unit() < 0.3 ? random.pick(special) : random.normal())
    }
    case 'golden':
      throw new TypeError('golden values are drawn by the block')
  }
}

/** Numbers that differ from each other within a row, from 0 to `below` - 1. */
const drawDistinct = (random: Random, count: number, length: number, below: number) => {
  if (length > below) throw new RangeError(`${length} different numbers below ${below}`)
  const out = new Float64Array(count)
  for (let first = 0; first < count; first += length) {
    const seen = new Set<number>()
    while (seen.size < length) seen.add(random.below(below))
    out.set([...seen], first)
  }
  return out
}

const goldenBlock = 256

/** Rows of what the goldens quantized, in pieces that start where blocks do. */
const drawGolden = (random: Random, count: number, length: number): Float64Array => {
  const out = new Float64Array(count)
  const pieces = goldenInput.length / goldenBlock
  for (let first = 0; first < count; first += length) {
    for (let k = 0; k < length; k += goldenBlock) {
      const from = random.below(pieces) * goldenBlock
      out.set(goldenInput.subarray(from, from + Math.min(goldenBlock, length - k)), first + k)
    }
  }
  return out
}

/**
 * Blocks with any numbers and everyday scales (`special`: any scales) where the layout is known, or
 * blocks of the goldens.
 */
const drawBlocks = (random: Random, dtype: DType, count: number, values: Values): Uint8Array => {
  const { blockLength, blockBytes } = dtypes[dtype]
  const format = blockFormats[dtype]
  const bytes = new Uint8Array((count / blockLength) * blockBytes)
  const view = new DataView(bytes.buffer)
  for (let at = 0; at < bytes.length; at += blockBytes) {
    if (format === undefined || values === 'golden') {
      bytes.set(random.pick(goldenBlocks(dtype).blocks).bytes, at)
      continue
    }
    for (let i = 0; i < blockBytes; i++) bytes[at + i] = random.bits() & 0xff
    if (values !== 'special') format.tame(view, at, random)
  }
  return bytes
}
