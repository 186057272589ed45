// The dtypes as TypeScript names them, and the sizes of rows.
import { dtypes } from './ops.gen.ts'

export type DType = keyof typeof dtypes

const names = new Map<number, DType>(
  Object.entries(dtypes).map(([name, { code }]) => [code, name as DType]),
)

export const dtypeOfCode = (code: number): DType => {
  const name = names.get(code)
  if (name === undefined) throw new RangeError(`no dtype has code ${code}`)
  return name
}

export const isDType = (name: unknown): name is DType =>
  typeof name === 'string' && Object.hasOwn(dtypes, name)

/** Bytes of a contiguous row of `length` values; NaN when that cuts a block. */
export const rowBytes = (dtype: DType, length: number): number => {
  const { blockLength, blockBytes } = dtypes[dtype]
  return length % blockLength === 0 ? (length / blockLength) * blockBytes : Number.NaN
}

/** True for dtypes whose values lie in blocks that share a scale. */
export const isQuantized = (dtype: DType): boolean => dtypes[dtype].blockLength > 1
