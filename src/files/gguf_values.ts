// Metadata values: as they are read, and as they are given to be written.
import { shown } from '../errors/arguments.ts'
import { type GgufArray, GgufNumbers, GgufStrings, type GgufTypedArray } from './gguf_arrays.ts'
import { type GgufElementType, type GgufFixedType, valueBytes } from './gguf_types.ts'

/** A value as it is read: u64 and i64 are bigints, arrays decode when asked for. */
export type GgufValue = number | bigint | boolean | string | GgufArray

/**
 * A value to be written. JavaScript has one kind of number and GGUF ten, so numbers name their
 * type; typed arrays imply it (a Uint8Array is an array of u8).
 *
 * @example
 * { type: 'u32', value: 6 }
 * { type: 'array', of: 'f32', values: [0.5, 1] }
 * 'llama'
 * ['<s>', '</s>']
 * new Int32Array([1, 2])
 */
export type GgufValueInput =
  | string
  | boolean
  | readonly string[]
  | GgufTypedArray
  | GgufArray
  | { readonly type: GgufFixedType; readonly value: number | bigint | boolean }
  | { readonly type: 'string'; readonly value: string | Uint8Array }
  | { readonly type: 'array'; readonly of: GgufElementType; readonly values: Iterable<unknown> }

/** A value to be written, with its type: one element, or an array of them. */
export interface TypedElements {
  readonly type: GgufElementType
  readonly array: boolean
  readonly count: number
  /** What is written, as it is; or else the elements, to be checked. */
  readonly bytes?: Uint8Array
  readonly elements?: Iterable<unknown>
}

const arrayTypes = new Map<string, GgufFixedType>([
  ['Uint8Array', 'u8'],
  ['Int8Array', 'i8'],
  ['Uint16Array', 'u16'],
  ['Int16Array', 'i16'],
  ['Uint32Array', 'u32'],
  ['Int32Array', 'i32'],
  ['Float32Array', 'f32'],
  ['BigUint64Array', 'u64'],
  ['BigInt64Array', 'i64'],
  ['Float64Array', 'f64'],
])

const isElementType = (type: unknown): type is GgufElementType =>
  type === 'string' || (typeof type === 'string' && Object.hasOwn(valueBytes, type))

/** Finds the type of `value`; throws a TypeError naming `key` when it has none. */
export const typedElements = (key: string, value: GgufValueInput): TypedElements => {
  if (typeof value === 'string') return scalar('string', value)
  if (typeof value === 'boolean') return scalar('bool', value)
  if (value instanceof GgufStrings) {
    return { type: 'string', array: true, count: value.length, elements: rawStrings(value) }
  }
  if (value instanceof GgufNumbers) return fixedArray(value.type, value.toTypedArray())
  if (ArrayBuffer.isView(value)) {
    // Object.prototype.toString names the class: [object Float32Array].
    const type = arrayTypes.get(Object.prototype.toString.call(value).slice(8, -1))
    if (type) return fixedArray(type, value)
  }
  if (Array.isArray(value)) {
    return { type: 'string', array: true, count: value.length, elements: value }
  }
  return taggedElements(key, value)
}

const scalar = (type: GgufElementType, value: unknown): TypedElements => ({
  type,
  array: false,
  count: 1,
  elements: [value],
})

const fixedArray = (type: GgufFixedType, values: GgufTypedArray): TypedElements => ({
  type,
  array: true,
  count: values.length,
  bytes: bytesOf(values),
})

/** None of an array whose memory was given away. */
const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  byteLength === 0 ? new Uint8Array(0) : new Uint8Array(buffer, byteOffset, byteLength)

const taggedElements = (key: string, input: unknown): TypedElements => {
  if (typeof input === 'number' || typeof input === 'bigint') {
    throw new TypeError(`${key}: a number needs a type, as in { type: 'u32', value: ${input} }`)
  }
  const { type, of, value, values } = (input ?? {}) as Record<string, unknown>
  if (isElementType(type)) return scalar(type, value)
  if (type !== 'array' || !isElementType(of)) {
    throw new TypeError(`${key}: this is not a GGUF value`)
  }
  const isIterable = typeof values === 'object' && values !== null && Symbol.iterator in values
  if (!isIterable) throw new TypeError(`${key}: values are an array, not ${shown(values)}`)
  const elements = Array.from(values as Iterable<unknown>)
  return { type: of, array: true, count: elements.length, elements }
}

function* rawStrings(strings: GgufStrings): Generator<Uint8Array> {
  for (let index = 0; index < strings.length; index++) yield strings.bytes(index)
}

const integerRange: Partial<Record<GgufFixedType, readonly [bigint, bigint]>> = {
  u8: [0n, 0xffn],
  i8: [-0x80n, 0x7fn],
  u16: [0n, 0xffffn],
  i16: [-0x8000n, 0x7fffn],
  u32: [0n, 0xffff_ffffn],
  i32: [-0x8000_0000n, 0x7fff_ffffn],
  u64: [0n, 2n ** 64n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
}

/**
 * Checks one element against its type: a TypeError or RangeError names `key` and the value.
 * Gives numbers for types up to 32 bits and floats, bigints for 64-bit integers.
 */
export const checkedElement = (
  key: string,
  type: GgufFixedType,
  value: unknown,
): number | bigint => {
  if (type === 'bool') {
    if (typeof value !== 'boolean') throw new TypeError(`${key}: ${shown(value)} is not a boolean`)
    return value ? 1 : 0
  }
  if (typeof value !== 'number' && typeof value !== 'bigint') {
    throw new TypeError(`${key}: a ${type} is a number or bigint, not ${shown(value)}`)
  }
  const range = integerRange[type]
  if (range === undefined) return Number(value)
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new RangeError(`${key}: ${value} is not an exact integer; large ones are bigints`)
  }
  if (value < range[0] || value > range[1]) {
    throw new RangeError(`${key}: ${value} does not fit a ${type}, ${range[0]} to ${range[1]}`)
  }
  return valueBytes[type] === 8 ? BigInt(value) : Number(value)
}
