// "leaven/files": model files, read and written.
export type { ByteSource, GgufSource } from './byte_source.ts'
export { FileSlice } from './file_slice.ts'
export { Gguf, type GgufFile, type GgufTensor } from './gguf.ts'
export { type GgufArray, GgufNumbers, GgufStrings, type GgufTypedArray } from './gguf_arrays.ts'
export { GgufMetadata, type NumberOptions } from './gguf_metadata.ts'
export {
  type GgufElementType,
  type GgufFixedType,
  type GgufTensorType,
  type GgufTensorTypeInfo,
  type GgufValueType,
  ggufTensorTypes,
} from './gguf_types.ts'
export type { GgufValue, GgufValueInput } from './gguf_values.ts'
export { type OpenGgufOptions, openGguf, type ReadGgufOptions, readGguf } from './open_gguf.ts'
export {
  type GgufContents,
  type GgufData,
  type GgufTensorInput,
  type WriteGgufOptions,
  writeGguf,
} from './write_gguf.ts'
