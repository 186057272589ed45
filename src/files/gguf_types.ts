// GGUF's own type numbers: metadata value types, and tensor types with their block sizes.
// Facts of the GGUF specification (github.com/ggml-org/ggml, docs/gguf.md) and of ggml's type list.

/** Names of metadata value types, indexed by their id in the file. */
export const valueTypes = [
  'u8',
  'i8',
  'u16',
  'i16',
  'u32',
  'i32',
  'f32',
  'bool',
  'string',
  'array',
  'u64',
  'i64',
  'f64',
] as const

export type GgufValueType = (typeof valueTypes)[number]
/** Value types that an array can hold: GGUF as it is in use has no nested arrays. */
export type GgufElementType = Exclude<GgufValueType, 'array'>
/** Value types of a fixed size. */
export type GgufFixedType = Exclude<GgufElementType, 'string'>

/** Bytes of one value. */
export const valueBytes: Readonly<Record<GgufFixedType, number>> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  bool: 1,
  u64: 8,
  i64: 8,
  f64: 8,
}

// name: [id in the file, values in a block, bytes of a block]
const tensorTypeTable = {
  f32: [0, 1, 4],
  f16: [1, 1, 2],
  q4_0: [2, 32, 18],
  q4_1: [3, 32, 20],
  q5_0: [6, 32, 22],
  q5_1: [7, 32, 24],
  q8_0: [8, 32, 34],
  q8_1: [9, 32, 36],
  q2_K: [10, 256, 84],
  q3_K: [11, 256, 110],
  q4_K: [12, 256, 144],
  q5_K: [13, 256, 176],
  q6_K: [14, 256, 210],
  q8_K: [15, 256, 292],
  iq2_xxs: [16, 256, 66],
  iq2_xs: [17, 256, 74],
  iq3_xxs: [18, 256, 98],
  iq1_s: [19, 256, 50],
  iq4_nl: [20, 32, 18],
  iq3_s: [21, 256, 110],
  iq2_s: [22, 256, 82],
  iq4_xs: [23, 256, 136],
  i8: [24, 1, 1],
  i16: [25, 1, 2],
  i32: [26, 1, 4],
  i64: [27, 1, 8],
  f64: [28, 1, 8],
  iq1_m: [29, 256, 56],
  bf16: [30, 1, 2],
  tq1_0: [34, 256, 54],
  tq2_0: [35, 256, 66],
  mxfp4: [39, 32, 17],
  nvfp4: [40, 64, 36],
  q1_0: [41, 128, 18],
  q2_0: [42, 64, 18],
} as const satisfies Record<string, readonly [number, number, number]>

export type GgufTensorType = keyof typeof tensorTypeTable

export interface GgufTensorTypeInfo {
  readonly name: GgufTensorType
  /** The number in the file; not leaven's dtype code, which is another table. */
  readonly id: number
  /** Values in a block; a row is a whole number of blocks. */
  readonly blockLength: number
  readonly blockBytes: number
}

/**
 * Every tensor type by name.
 *
 * @example ggufTensorTypes.q4_K.blockBytes // 144
 */
export const ggufTensorTypes: Readonly<Record<GgufTensorType, GgufTensorTypeInfo>> =
  Object.fromEntries(
    Object.entries(tensorTypeTable).map(([name, [id, blockLength, blockBytes]]) => [
      name,
      Object.freeze({ name, id, blockLength, blockBytes }),
    ]),
  ) as Record<GgufTensorType, GgufTensorTypeInfo>

/** Tensor types by their id in the file. */
export const tensorTypesById: ReadonlyMap<number, GgufTensorTypeInfo> = new Map(
  Object.values(ggufTensorTypes).map((info) => [info.id, info]),
)

/** Ids that ggml once used and gave up: two early formats, and weights packed for one CPU. */
export const removedTensorTypes: ReadonlyMap<number, string> = new Map([
  [4, 'q4_2'],
  [5, 'q4_3'],
  [31, 'q4_0_4_4'],
  [32, 'q4_0_4_8'],
  [33, 'q4_0_8_8'],
  [36, 'iq4_nl_4_4'],
  [37, 'iq4_nl_4_8'],
  [38, 'iq4_nl_8_8'],
])

export const defaultAlignment = 32
/** ggml keeps a tensor's name in 64 bytes with a NUL at the end. */
export const tensorNameBytesMax = 63
export const dimensionCountMax = 4

/** `offset` rounded up to a multiple of `alignment`; exact up to 2^53. */
export const alignUp = (offset: number, alignment: number): number =>
  Math.ceil(offset / alignment) * alignment

/** For u32 values. */
export const isPowerOfTwo = (value: number): boolean => value !== 0 && (value & (value - 1)) === 0
