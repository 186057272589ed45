// Encodes a GGUF header: checks what is to be written, lays the tensors out, and makes the bytes.
import { checkArray, checkObject, shown } from '../errors/arguments.ts'
import {
  alignUp,
  defaultAlignment,
  dimensionCountMax,
  type GgufFixedType,
  type GgufTensorType,
  ggufTensorTypes,
  isPowerOfTwo,
  tensorNameBytesMax,
  valueBytes,
  valueTypes,
} from './gguf_types.ts'
import {
  checkedElement,
  type GgufValueInput,
  type TypedElements,
  typedElements,
} from './gguf_values.ts'
import type { Steps } from './slices.ts'

/** What a tensor is called and how large it is, without its data. */
export interface TensorShape {
  readonly name: string
  readonly type: GgufTensorType
  /** Outermost first; at most four sizes. */
  readonly shape: readonly number[]
}

/** A tensor with its place: `offset` counts from the beginning of the data. */
export interface PlacedTensor {
  readonly name: string
  readonly typeId: number
  readonly ne: readonly number[]
  readonly offset: number
  readonly sizeBytes: number
}

/** Checks `tensors` and gives each the next aligned offset. Throws TypeError or RangeError. */
export const placeTensors = (
  tensors: readonly TensorShape[],
  alignment: number,
): PlacedTensor[] => {
  const names = new Set<string>()
  let offset = 0
  return tensors.map((tensor, index) => {
    checkObject(`tensors[${index}]`, tensor)
    const { name, type, shape } = tensor
    checkName(name, names)
    const placed = { name, ...measure(name, type, shape), offset }
    offset = alignUp(offset + placed.sizeBytes, alignment)
    if (Number.isSafeInteger(offset)) return placed
    throw new RangeError(`tensor '${name}': its data would end beyond 2^53 bytes`)
  })
}

const checkName = (name: string, names: Set<string>): void => {
  if (typeof name !== 'string')
    throw new TypeError(`a tensor's name is a string, not ${shown(name)}`)
  if (Buffer.byteLength(name) > tensorNameBytesMax) {
    throw new RangeError(`tensor '${name}': a name has at most ${tensorNameBytesMax} bytes`)
  }
  // Readers in C end a name at NUL.
  if (name.includes('\0')) throw new RangeError(`tensor ${JSON.stringify(name)}: NUL in its name`)
  if (names.has(name)) throw new RangeError(`tensor '${name}': there are two of this name`)
  names.add(name)
}

const measure = (name: string, type: GgufTensorType, shape: readonly number[]) => {
  const known = typeof type === 'string' && Object.hasOwn(ggufTensorTypes, type)
  const info = known ? ggufTensorTypes[type] : undefined
  if (info === undefined)
    throw new TypeError(`tensor '${name}': its type ${shown(type)} is unknown`)
  if (!Array.isArray(shape) || shape.length > dimensionCountMax) {
    throw new TypeError(`tensor '${name}': its shape must be at most ${dimensionCountMax} sizes`)
  }
  const ne = shape.toReversed()
  const wrong = ne.find((size) => !isSize(size))
  if (wrong !== undefined || ne.includes(undefined)) {
    throw new RangeError(`tensor '${name}': ${shown(wrong)} is not a size`)
  }
  const row = ne[0] ?? 1
  if (row % info.blockLength !== 0) {
    const rule = `rows of ${type} must be a multiple of ${info.blockLength} values`
    throw new RangeError(`tensor '${name}': ${rule}, not ${row}`)
  }
  const elementCount = ne.reduce((product, size) => product * size, 1)
  const sizeBytes = (elementCount / info.blockLength) * info.blockBytes
  if (!Number.isSafeInteger(elementCount) || !isSize(sizeBytes)) {
    throw new RangeError(`tensor '${name}': [${shape}] is not a valid shape`)
  }
  return { typeId: info.id, ne, sizeBytes }
}

const isSize = (size: number): boolean => Number.isSafeInteger(size) && size >= 0

export interface CheckedMetadata {
  readonly values: ReadonlyMap<string, TypedElements>
  readonly alignment: number
}

// The specification's limit for keys.
const keyBytesMax = 65_535
const alignmentKey = 'general.alignment'

/** Checks keys and types. `alignment` is added to the keys when it is not the default. */
export const checkMetadata = (
  metadata: Iterable<readonly [string, GgufValueInput]>,
  alignment: number | undefined,
): CheckedMetadata => {
  const values = new Map<string, TypedElements>()
  for (const entry of metadata) {
    checkArray('an entry of metadata', entry)
    const [key, value] = entry
    if (typeof key !== 'string') throw new TypeError(`a key is a string, not ${shown(key)}`)
    const keyBytes = Buffer.byteLength(key)
    if (keyBytes === 0 || keyBytes > keyBytesMax) {
      throw new RangeError(`a key has 1 to ${keyBytesMax} bytes, not ${keyBytes}`)
    }
    if (values.has(key)) throw new RangeError(`${key}: the key is there twice`)
    values.set(key, typedElements(key, value))
  }
  const given = values.get(alignmentKey)
  if (given === undefined && alignment !== undefined && alignment !== defaultAlignment) {
    values.set(alignmentKey, typedElements(alignmentKey, { type: 'u32', value: alignment }))
  }
  const fromKey = given && checkedAlignment(given)
  if (fromKey !== undefined && alignment !== undefined && fromKey !== alignment) {
    throw new RangeError(`${alignmentKey} is ${fromKey}, but alignment ${alignment} was asked for`)
  }
  return { values, alignment: fromKey ?? checkedPower(alignment ?? defaultAlignment) }
}

const checkedAlignment = ({ type, array, elements }: TypedElements): number => {
  if (type !== 'u32' || array) throw new TypeError(`${alignmentKey} must be a u32`)
  const [value] = elements!
  return checkedPower(Number(checkedElement(alignmentKey, type, value)))
}

const checkedPower = (alignment: number): number => {
  checkedElement('alignment', 'u32', alignment)
  if (isPowerOfTwo(alignment)) return alignment
  throw new RangeError(`the alignment ${alignment} is not a power of two`)
}

const chunkBytes = 2 ** 20

/** Little-endian bytes in chunks of about a mebibyte: nothing that was written is ever moved. */
class Chunks {
  readonly chunks: Buffer[] = []
  size = 0
  #chunk: Buffer = Buffer.alloc(0)
  #used = 0

  /** Room for `count` bytes; gives its chunk and offset there. */
  #take(count: number): [Buffer, number] {
    if (this.#used + count > this.#chunk.length) {
      this.finish()
      this.#chunk = Buffer.alloc(Math.max(chunkBytes, count))
    }
    const start = this.#used
    this.#used += count
    this.size += count
    return [this.#chunk, start]
  }

  /** Ends the present chunk. */
  finish(): void {
    if (this.#used > 0) this.chunks.push(this.#chunk.subarray(0, this.#used))
    this.#chunk = Buffer.alloc(0)
    this.#used = 0
  }

  u32(value: number): void {
    const [chunk, start] = this.#take(4)
    chunk.writeUInt32LE(value, start)
  }

  u64(value: number): void {
    const [chunk, start] = this.#take(8)
    chunk.writeUInt32LE(value % 2 ** 32, start)
    chunk.writeUInt32LE(Math.floor(value / 2 ** 32), start + 4)
  }

  raw(bytes: Uint8Array): void {
    const [chunk, start] = this.#take(bytes.length)
    chunk.set(bytes, start)
  }

  string(text: string): void {
    const length = Buffer.byteLength(text)
    this.u64(length)
    const [chunk, start] = this.#take(length)
    chunk.write(text, start, 'utf8')
  }

  fixed(type: GgufFixedType, value: number | bigint): void {
    const [chunk, start] = this.#take(valueBytes[type])
    writers[type](chunk, start, value as never)
  }
}

const writers: Record<GgufFixedType, (chunk: Buffer, at: number, value: never) => void> = {
  u8: (chunk, at, value) => chunk.writeUInt8(value, at),
  bool: (chunk, at, value) => chunk.writeUInt8(value, at),
  i8: (chunk, at, value) => chunk.writeInt8(value, at),
  u16: (chunk, at, value) => chunk.writeUInt16LE(value, at),
  i16: (chunk, at, value) => chunk.writeInt16LE(value, at),
  u32: (chunk, at, value) => chunk.writeUInt32LE(value, at),
  i32: (chunk, at, value) => chunk.writeInt32LE(value, at),
  f32: (chunk, at, value) => chunk.writeFloatLE(value, at),
  u64: (chunk, at, value) => chunk.writeBigUInt64LE(value, at),
  i64: (chunk, at, value) => chunk.writeBigInt64LE(value, at),
  f64: (chunk, at, value) => chunk.writeDoubleLE(value, at),
}

/** The header of a version 3 file, padded to the alignment if tensors follow. */
export function* encodeHeader(
  { values, alignment }: CheckedMetadata,
  tensors: readonly PlacedTensor[],
): Steps<{ chunks: readonly Uint8Array[]; sizeBytes: number }> {
  const out = new Chunks()
  out.raw(Buffer.from('GGUF'))
  out.u32(3)
  out.u64(tensors.length)
  out.u64(values.size)
  for (const [key, value] of values) yield* encodeValue(out, key, value)
  for (const { name, ne, typeId, offset } of tensors) {
    out.string(name)
    out.u32(ne.length)
    for (const size of ne) out.u64(size)
    out.u32(typeId)
    out.u64(offset)
  }
  out.finish()
  const sizeBytes = tensors.length === 0 ? out.size : alignUp(out.size, alignment)
  return { chunks: out.chunks, sizeBytes }
}

function* encodeValue(out: Chunks, key: string, value: TypedElements): Steps<void> {
  const { type, array, count, bytes, elements = [] } = value
  out.string(key)
  if (array) out.u32(valueTypes.indexOf('array'))
  out.u32(valueTypes.indexOf(type))
  if (array) out.u64(count)
  if (bytes) out.raw(bytes)
  let index = 0
  for (const element of elements) {
    if (type !== 'string') out.fixed(type, checkedElement(key, type, element))
    else encodeString(out, key, element)
    if (++index % 4096 === 0) yield
  }
}

const encodeString = (out: Chunks, key: string, value: unknown): void => {
  if (typeof value === 'string') {
    out.string(value)
  } else if (value instanceof Uint8Array) {
    out.u64(value.length)
    out.raw(value)
  } else {
    throw new TypeError(`${key}: ${shown(value)} is not a string`)
  }
}
