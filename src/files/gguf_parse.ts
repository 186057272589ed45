// Parses the header of one GGUF file (versions 2 and 3) and checks everything it says.
//
// Where the format or the cases leave a choice, this reader decides:
// - A boolean byte other than 0 and 1 is true. Bytes that are no UTF-8 are kept; as text they show
//   as U+FFFD.
// - A tensor without dimensions is one value; a dimension of 0 makes an empty tensor.
// - A tensor may have an empty name. Names that agree up to a NUL byte are duplicates.
// - Tensors may lie in any order and with holes between them, if they do not overlap.
// - A file that ends early is an error only when its data are used (`Gguf.checkData`), but a tensor
//   after a hole must lie inside the file: otherwise its offset is more likely to be nonsense.
// - The last tensor need not be padded to the alignment.
// - Counts, sizes and offsets that a JavaScript number cannot hold exactly (2^53) are errors.
import { describeForeignMagic } from './foreign_magic.ts'
import { HeaderCursor, shorten } from './gguf_cursor.ts'
import { readTensors, type TensorInfo } from './gguf_parse_tensors.ts'
import {
  defaultAlignment,
  type GgufElementType,
  type GgufValueType,
  isPowerOfTwo,
  valueBytes,
  valueTypes,
} from './gguf_types.ts'
import type { Steps } from './slices.ts'

/** Where the value of a key lies in the header. */
export interface MetadataEntry {
  readonly type: GgufValueType
  /** The type of the elements, for arrays. */
  readonly of?: GgufElementType
  /** Offset of the first byte of the value: of the contents, for strings and arrays. */
  readonly offset: number
  /** Bytes of a string, elements of an array, otherwise 1. */
  readonly count: number
  /** For arrays of strings: the offset of the length before each. */
  readonly starts?: Uint32Array
}

export interface ParsedHeader {
  readonly file: string
  readonly fileBytes: number
  readonly version: number
  readonly alignment: number
  /** The header; longer than it by what was read ahead. */
  readonly bytes: Buffer
  readonly entries: ReadonlyMap<string, MetadataEntry>
  readonly tensors: readonly TensorInfo[]
  /** Where tensor data begin. */
  readonly dataOffset: number
}

// Far above any model; they bound what small records in a large file can make us allocate.
const keyCountMax = 2 ** 16
const tensorCountMax = 2 ** 18
// The specification's limit for keys.
const keyBytesMax = 65_535
const keyRecordBytes = 8 + 4 + 1
const tensorRecordBytes = 8 + 4 + 4 + 8

/** Throws a GgufError that names the field, its offset and its value. */
export function* parseHeader(file: string, fileBytes: number): Steps<ParsedHeader> {
  const cursor = new HeaderCursor(file, fileBytes)
  const version = yield* readVersion(cursor)
  cursor.field = 'tensor count'
  const tensorCount = yield* cursor.count(tensorRecordBytes, tensorCountMax)
  cursor.field = 'key count'
  const keyCount = yield* cursor.count(keyRecordBytes, keyCountMax)
  const entries = new Map<string, MetadataEntry>()
  for (let index = 0; index < keyCount; index++) {
    yield* readEntry(cursor, index, entries)
    if (index % 64 === 63) yield
  }
  const alignment = readAlignment(cursor, entries)
  const { tensors, dataOffset } = yield* readTensors(cursor, tensorCount, alignment)
  // Walking over strings does not load the last one.
  yield* cursor.need(0)
  const { bytes } = cursor
  return { file, fileBytes, version, alignment, bytes, entries, tensors, dataOffset }
}

function* readVersion(cursor: HeaderCursor): Steps<number> {
  yield* cursor.need(Math.min(16, cursor.fileBytes))
  const magic = cursor.bytes.toString('latin1', 0, Math.min(4, cursor.loaded))
  if (magic !== 'GGUF') {
    if (cursor.fileBytes === 0) cursor.fail('the file is empty', magic)
    if ('GGUF'.startsWith(magic)) cursor.failShort(4, magic)
    cursor.fail(describeForeignMagic(cursor.bytes.subarray(0, 16)), magic)
  }
  cursor.position = 4
  cursor.field = 'version'
  const offset = cursor.position
  const version = yield* cursor.u32()
  if (version === 2 || version === 3) return version
  if (version !== 0 && (version & 0xffff) === 0) {
    cursor.fail('this is a big-endian file; convert it to little-endian', version, offset)
  }
  if (version === 1)
    cursor.fail('version 1 is out of use; convert the model again', version, offset)
  return cursor.fail(`version ${version} is unknown; 2 and 3 are supported`, version, offset)
}

function* readEntry(
  cursor: HeaderCursor,
  index: number,
  entries: Map<string, MetadataEntry>,
): Steps<void> {
  cursor.field = `key ${index}`
  const keyOffset = cursor.position
  const { start, end } = yield* cursor.string()
  if (start === end) cursor.fail('the key is empty', '', keyOffset)
  if (end - start > keyBytesMax) {
    cursor.fail(
      `a key has at most ${keyBytesMax} bytes, not ${end - start}`,
      end - start,
      keyOffset,
    )
  }
  const key = cursor.text(start, end)
  cursor.field = `key '${shorten(key)}'`
  if (entries.has(key)) cursor.fail('the key is there twice', key, keyOffset)
  const type = yield* readType(cursor)
  if (type === 'array') {
    entries.set(key, yield* readArray(cursor))
  } else if (type === 'string') {
    const text = yield* cursor.string()
    entries.set(key, { type, offset: text.start, count: text.end - text.start })
  } else {
    entries.set(key, { type, offset: cursor.position, count: 1 })
    yield* cursor.need(valueBytes[type])
    cursor.position += valueBytes[type]
  }
}

function* readType(cursor: HeaderCursor): Steps<GgufValueType> {
  const offset = cursor.position
  const id = yield* cursor.u32()
  return valueTypes[id] ?? cursor.fail(`value type ${id} is unknown`, id, offset)
}

function* readArray(cursor: HeaderCursor): Steps<MetadataEntry> {
  const typeOffset = cursor.position
  const of = yield* readType(cursor)
  if (of === 'array') return cursor.fail('arrays of arrays are not supported', 9, typeOffset)
  const size = of === 'string' ? 8 : valueBytes[of]
  const count = yield* cursor.count(size)
  const offset = cursor.position
  if (of === 'string') {
    return { type: 'array', of, offset, count, starts: yield* cursor.strings(count) }
  }
  yield* cursor.need(count * size)
  cursor.position += count * size
  return { type: 'array', of, offset, count }
}

function readAlignment(cursor: HeaderCursor, entries: ReadonlyMap<string, MetadataEntry>): number {
  const entry = entries.get('general.alignment')
  if (entry === undefined) return defaultAlignment
  cursor.field = "key 'general.alignment'"
  if (entry.type !== 'u32') {
    cursor.fail(`the alignment must be a u32, not ${entry.type}`, entry.type, entry.offset)
  }
  const alignment = cursor.bytes.readUInt32LE(entry.offset)
  if (!isPowerOfTwo(alignment)) {
    cursor.fail(`the alignment ${alignment} is not a power of two`, alignment, entry.offset)
  }
  return alignment
}
