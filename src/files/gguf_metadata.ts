// GGUF metadata: a map of values that are decoded when asked for, and getters that check them.
import { checkNumber, checkObject, checkString, checkWhole } from '../errors/arguments.ts'
import { GgufError } from '../errors/index.ts'
import { type GgufArray, GgufNumbers, GgufStrings } from './gguf_arrays.ts'
import { shorten } from './gguf_cursor.ts'
import type { MetadataEntry } from './gguf_parse.ts'
import { type GgufFixedType, valueBytes } from './gguf_types.ts'
import type { GgufValue, GgufValueInput } from './gguf_values.ts'

interface Header {
  readonly file: string
  readonly bytes: Buffer
  readonly entries: ReadonlyMap<string, MetadataEntry>
}

/** What a number may be; the bounds are included. Without `fallback` a missing key is an error. */
export interface NumberOptions<F> {
  min?: number
  max?: number
  fallback?: F
}

/** Of one of something, such as layers; a fallback must not take memory without bound. */
const countMax = 2 ** 24

const integerTypes = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'u64', 'i64'] as const

const isNumeric = (type: string): boolean => type !== 'bool' && type in valueBytes
const isInteger = (type: string): boolean => (integerTypes as readonly string[]).includes(type)

/**
 * A read-only map from key to value. u64 and i64 are bigints; arrays decode when asked for.
 * The getters throw a GgufError naming key and value when a value is missing or not as wanted.
 *
 * @example
 * metadata.get('general.name')                                       // 'stories'
 * metadata.integer('llama.block_count', { min: 1, max: 512 })        // 6
 * metadata.number('llama.rope.freq_base', { fallback: 10_000 })
 */
export class GgufMetadata implements ReadonlyMap<string, GgufValue> {
  readonly #header: Header

  constructor(header: Header) {
    this.#header = header
  }

  get size(): number {
    return this.#header.entries.size
  }

  has(key: string): boolean {
    return this.#header.entries.has(key)
  }

  get(key: string): GgufValue | undefined {
    const entry = this.#header.entries.get(key)
    return entry && this.#decode(entry)
  }

  keys(): MapIterator<string> {
    return this.#header.entries.keys()
  }

  *values(): MapIterator<GgufValue> {
    for (const entry of this.#header.entries.values()) yield this.#decode(entry)
  }

  *entries(): MapIterator<[string, GgufValue]> {
    for (const [key, entry] of this.#header.entries) yield [key, this.#decode(entry)]
  }

  [Symbol.iterator](): MapIterator<[string, GgufValue]> {
    return this.entries()
  }

  forEach(
    callback: (value: GgufValue, key: string, map: ReadonlyMap<string, GgufValue>) => void,
  ): void {
    for (const [key, value] of this) callback(value, key, this)
  }

  /**
   * Entries with the types of the file and strings as bytes: `writeGguf` repeats them exactly.
   *
   * @example new Map([...gguf.metadata.typedEntries(), ['general.name', 'renamed']])
   */
  *typedEntries(): Generator<[string, GgufValueInput]> {
    for (const [key, entry] of this.#header.entries) {
      if (entry.type === 'string') {
        yield [key, { type: 'string', value: this.#bytes(entry) }]
      } else if (entry.type === 'array') {
        yield [key, this.#decode(entry) as GgufArray]
      } else {
        yield [key, { type: entry.type, value: this.#decode(entry) as number | bigint | boolean }]
      }
    }
  }

  /** A number of any integer type; fails for one that a JavaScript number cannot hold exactly. */
  integer<F = never>(key: string, options: NumberOptions<F> = {}): number | F {
    const entry = this.#entry(key, options)
    if (entry === undefined) return options.fallback as F
    if (!isInteger(entry.type)) this.#fail(key, `it must be an integer, not ${entry.type}`)
    return this.#checked(key, this.#decode(entry), options)
  }

  /** A finite number of any integer or float type. */
  number<F = never>(key: string, options: NumberOptions<F> = {}): number | F {
    const entry = this.#entry(key, options)
    if (entry === undefined) return options.fallback as F
    if (!isNumeric(entry.type)) this.#fail(key, `it must be a number, not ${entry.type}`)
    return this.#checked(key, this.#decode(entry), options)
  }

  /**
   * `count` numbers, one for each of something: from an array of that many, or one number for all.
   * Booleans count as 0 and 1.
   */
  numberEach<F = never>(
    key: string,
    count: number,
    options: NumberOptions<F> & { integer?: boolean } = {},
  ): number[] | F {
    checkWhole('count', count, 0, countMax)
    const entry = this.#entry(key, options)
    if (entry === undefined) return options.fallback as F
    const type = entry.of ?? entry.type
    if (type === 'string' || type === 'array' || (options.integer && type.startsWith('f'))) {
      const wanted = options.integer ? 'integers' : 'numbers'
      this.#fail(key, `it must be ${wanted}, not ${type}`)
    }
    const value = this.#decode(entry)
    if (!(value instanceof GgufNumbers)) {
      return new Array(count).fill(this.#checked(key, value as number, options))
    }
    this.#checkLength(key, entry, count)
    return Array.from(value, (each) => this.#checked(key, each, options))
  }

  boolean<F = never>(key: string, options: { fallback?: F } = {}): boolean | F {
    const entry = this.#entry(key, options)
    if (entry === undefined) return options.fallback as F
    if (entry.type !== 'bool') this.#fail(key, `it must be a bool, not ${entry.type}`)
    return this.#decode(entry) as boolean
  }

  /** A string; bytes that are not UTF-8 show as U+FFFD. */
  string<F = never>(key: string, options: { fallback?: F } = {}): string | F {
    const entry = this.#stringEntry(key, options)
    return entry === undefined ? (options.fallback as F) : (this.#decode(entry) as string)
  }

  /** A copy of the bytes of a string. */
  bytes<F = never>(key: string, options: { fallback?: F } = {}): Uint8Array | F {
    const entry = this.#stringEntry(key, options)
    return entry === undefined ? (options.fallback as F) : this.#bytes(entry)
  }

  /** An array of strings, of `length` if that is given. */
  strings<F = never>(
    key: string,
    options: { length?: number; fallback?: F } = {},
  ): GgufStrings | F {
    const entry = this.#entry(key, options)
    if (entry === undefined) return options.fallback as F
    const value = this.#decode(entry)
    if (!(value instanceof GgufStrings)) this.#failArray(key, entry, 'strings')
    this.#checkLength(key, entry, options.length)
    return value
  }

  /** An array of numbers or booleans, of `length` if that is given. */
  numbers<F = never>(
    key: string,
    options: { length?: number; fallback?: F } = {},
  ): GgufNumbers | F {
    const entry = this.#entry(key, options)
    if (entry === undefined) return options.fallback as F
    const value = this.#decode(entry)
    if (!(value instanceof GgufNumbers)) this.#failArray(key, entry, 'numbers')
    this.#checkLength(key, entry, options.length)
    return value
  }

  /** The error for a key whose value, though of the right type, does not fit: to be thrown. */
  error(key: string, problem: string): GgufError {
    checkString('key', key)
    const entry = this.#header.entries.get(key)
    const value = entry && this.#decode(entry)
    const field = `key '${shorten(key)}'`
    // Keys begin after the 24 bytes of magic, version and counts.
    return new GgufError(
      { file: this.#header.file, field, offset: entry?.offset ?? 24, value },
      problem,
    )
  }

  #entry(key: string, options: { fallback?: unknown }): MetadataEntry | undefined {
    checkObject('options', options)
    const entry = this.#header.entries.get(key)
    if (entry === undefined && !('fallback' in options)) throw this.error(key, 'the key is missing')
    return entry
  }

  #stringEntry(key: string, options: { fallback?: unknown }): MetadataEntry | undefined {
    const entry = this.#entry(key, options)
    if (entry && entry.type !== 'string') {
      this.#fail(key, `it must be a string, not ${entry.type}`)
    }
    return entry
  }

  #checked(
    key: string,
    value: unknown,
    { min = -Infinity, max = Infinity }: { min?: number; max?: number },
  ): number {
    checkNumber('min', min)
    checkNumber('max', max)
    const number = Number(value)
    if (!Number.isFinite(number)) this.#fail(key, `${number} is not a finite number`)
    if (number < min) this.#fail(key, `${value} is less than ${min}`)
    if (number > max) this.#fail(key, `${value} is more than ${max}`)
    if (typeof value === 'bigint' && !Number.isSafeInteger(number)) {
      this.#fail(key, `${value} is beyond 2^53`)
    }
    return number
  }

  #checkLength(key: string, entry: MetadataEntry, length: number | undefined): void {
    if (length === undefined || entry.count === length) return
    this.#fail(key, `it has ${entry.count} elements instead of ${length}`)
  }

  #failArray(key: string, entry: MetadataEntry, wanted: string): never {
    const type = entry.of === undefined ? entry.type : `an array of ${entry.of}`
    return this.#fail(key, `it must be an array of ${wanted}, not ${type}`)
  }

  #fail(key: string, problem: string): never {
    throw this.error(key, problem)
  }

  #bytes(entry: MetadataEntry): Uint8Array {
    return new Uint8Array(this.#header.bytes.subarray(entry.offset, entry.offset + entry.count))
  }

  #decode(entry: MetadataEntry): GgufValue {
    const { bytes } = this.#header
    const { type, of, offset, count } = entry
    if (type === 'string') return bytes.toString('utf8', offset, offset + count)
    if (entry.starts) return new GgufStrings(bytes, entry.starts)
    const element = (of ?? type) as GgufFixedType
    const end = offset + count * valueBytes[element]
    const numbers = new GgufNumbers(element, count, bytes.subarray(offset, end))
    return type === 'array' ? numbers : numbers[Symbol.iterator]().next().value!
  }
}
