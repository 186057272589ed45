// Sizes and layouts that rows share, around the registers, tiles, buffers and pieces of kernels.
import type { DType } from '../../../src/native/dtype.ts'
import { dtypes } from '../../../src/native/ops.gen.ts'
import { gaps, narrowGaps, type Operand, permuted, type Values, viewOf, whole } from '../row.ts'

/** Around registers of 4 to 64 values and their multiples. */
export const edges = [
  1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 96, 127, 128, 129, 255, 256,
  257,
]

/** Around the buffer through which other dtypes than f32 pass, and the pieces of long rows. */
export const longEdges = [511, 512, 513, 1023, 1025, 4095, 4096, 4097, 8193]

/** A few of each, where many dtypes make many rows. */
export const fewEdges = [1, 3, 8, 17, 64, 129, 257, 1025]

export const floats = ['f32', 'f16', 'bf16'] as const satisfies readonly DType[]

/** Formats of weights and tables, of one value or of a block. */
export const quantized = (Object.keys(dtypes) as DType[]).filter(
  (dtype) => dtypes[dtype].blockLength > 1 && dtype !== 'q8_row',
)

/** Formats that the reference writes by a short rule, from any values. */
export const ruled = ['q4_0', 'q4_1', 'q5_0', 'q5_1', 'q8_0', 'q8_1'] as const

/** Formats that cannot be written without an importance matrix. */
export const needImportance: readonly DType[] = ['iq2_xxs', 'iq2_xs', 'iq1_s']

/** Formats that the goldens alone say how to write. */
export const goldenOnly = quantized.filter(
  (dtype) => !(ruled as readonly DType[]).includes(dtype) && !needImportance.includes(dtype),
)

export const blockOf = (dtype: DType): number => dtypes[dtype].blockLength

/** Whether the values of a row lie apart, which an op may refuse. */
export const isCut = (operand: Operand): boolean => viewOf(operand).strides.at(-1) !== 1

/** A tensor in every way that it can lie in memory; rows of blocks stay whole. */
export const layoutsOf = (
  dtype: DType,
  shape: readonly number[],
  values: Values = 'normal',
): Operand[] => {
  const rank = shape.length
  const plain = blockOf(dtype) === 1
  const list = [whole(dtype, shape, values), gaps(dtype, shape, values)]
  if (plain) list.push(narrowGaps(dtype, shape, values))
  for (const order of orders[rank - 1]!) {
    if (plain || order.at(-1) === rank - 1) list.push(permuted(dtype, shape, order, values))
  }
  if (rank > 1) list.push(everyOther(dtype, shape, values))
  return list
}

const orders: readonly (readonly (readonly number[])[])[] = [
  [],
  [[1, 0]],
  [
    [1, 0, 2],
    [0, 2, 1],
    [2, 1, 0],
  ],
  [
    [0, 2, 1, 3],
    [1, 0, 2, 3],
    [0, 1, 3, 2],
    [3, 2, 1, 0],
  ],
]

/** Rows with as many others between them: one half of a dimension that was twice as long. */
const everyOther = (dtype: DType, shape: readonly number[], values: Values): Operand => {
  const [first, ...rest] = shape
  const base = [first!, 2, ...rest].slice(0, 4)
  if (shape.length === 4) return gaps(dtype, shape, values)
  // [a, 2, b] with the second half taken, and the dimension of one moved out of the way.
  const steps = [{ slice: [1, 1, 2] as const }, { permute: [1, 0, ...rest.map((_, i) => i + 2)] }]
  return { dtype, base, steps, values }
}
