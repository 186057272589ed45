// An operand's memory and its values: what a device gets, and what references compute with.
import type { DType } from '../../src/native/dtype.ts'
import { dtypes } from '../../src/native/ops.gen.ts'
import { Random } from './random.ts'
import { decode } from './reference/codec.ts'
import { plainFormats } from './reference/number_formats.ts'
import { type Operand, viewOf } from './row.ts'
import { draw } from './values.ts'

/** What a view of memory holds. */
export interface TensorValue {
  readonly dtype: DType
  /** Four sizes, outermost first. */
  readonly shape: readonly [number, number, number, number]
  /** In the order of `shape`, without gaps. */
  readonly data: Float64Array
  /** The same as bytes of the dtype. */
  readonly bytes: Uint8Array
}

/** Bytes that mean something nobody may use: NaN, -1, a scale that is NaN. */
export const poison = 0xff

export interface OperandMemory {
  readonly operand: Operand
  /** All of the base tensor: poison where the view does not reach. */
  readonly base: Uint8Array
  readonly value: TensorValue
}

/** Draws an operand; `earlier` holds those before it, whose memory it may share. */
export const makeOperand = (
  operand: Operand,
  seed: number,
  earlier: readonly (OperandMemory | undefined)[],
): OperandMemory => {
  if (operand.of !== undefined) {
    const { base } = earlier[operand.of]!
    return { operand, base, value: valueIn(base, operand) }
  }
  const { shape } = viewOf(operand)
  const bytes = draw(new Random(seed), operand.dtype, shape, operand.values)
  const base = new Uint8Array(baseBytes(operand)).fill(poison)
  for (const [from, to, size] of runsOf(operand)) base.set(bytes.subarray(from, from + size), to)
  return { operand, base, value: asValue(operand.dtype, shape, bytes) }
}

/** The view of `operand` in other memory of the same layout, such as that after a run. */
export const valueIn = (base: Uint8Array, operand: Operand): TensorValue => {
  const { shape } = viewOf(operand)
  const { blockLength, blockBytes } = dtypes[operand.dtype]
  const count = shape.reduce((a, b) => a * b, 1)
  const bytes = new Uint8Array((count / blockLength) * blockBytes)
  for (const [to, from, size] of runsOf(operand)) bytes.set(base.subarray(from, from + size), to)
  return asValue(operand.dtype, shape, bytes)
}

export const asValue = (
  dtype: DType,
  shape: readonly number[],
  bytes: Uint8Array,
): TensorValue => ({
  dtype,
  shape: fourSizes(shape),
  bytes,
  data: decode(dtype, bytes, shape.at(-1)!),
})

/** Sizes with ones before them, so that there are four. */
export const fourSizes = (shape: readonly number[]): [number, number, number, number] => {
  const four = [...new Array(4 - shape.length).fill(1), ...shape]
  return four as [number, number, number, number]
}

const baseBytes = ({ dtype, base }: Operand): number => {
  const { blockLength, blockBytes } = dtypes[dtype]
  return (base.reduce((a, b) => a * b, 1) / blockLength) * blockBytes
}

/**
 * Pieces that lie together both without gaps and in the base: [byte there, byte in the base,
 * bytes]. Rows where the last dimension is whole, else elements.
 */
export function* runsOf(operand: Operand): Generator<[number, number, number]> {
  const { shape, strides, offset } = viewOf(operand)
  const { blockLength, blockBytes } = dtypes[operand.dtype]
  if (shape.some((size) => size === 0)) return
  const bytesOf = (elements: number) => (elements / blockLength) * blockBytes
  const rank = shape.length
  const isRow = strides[rank - 1] === 1
  if (!isRow && plainFormats[operand.dtype] === undefined) throw new Error('rows are cut')
  const outer = isRow ? rank - 1 : rank
  const step = isRow ? bytesOf(shape[rank - 1]!) : blockBytes
  const index = new Array<number>(outer).fill(0)
  for (let packed = 0; ; packed += step) {
    const place = index.reduce((sum, i, axis) => sum + i * strides[axis]!, offset)
    // Positions are multiples of the block wherever rows may not be cut.
    yield [packed, bytesOf(place), step]
    let axis = outer - 1
    while (axis >= 0 && ++index[axis]! === shape[axis]) index[axis--] = 0
    if (axis < 0) return
  }
}
