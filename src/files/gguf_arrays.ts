// The arrays of GGUF metadata: views of the header bytes that decode what is asked for.
import type { GgufFixedType } from './gguf_types.ts'

const constructors = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  bool: Uint8Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f64: Float64Array,
} as const satisfies Record<GgufFixedType, unknown>

export type GgufTypedArray = InstanceType<(typeof constructors)[GgufFixedType]>

/**
 * An array of numbers or booleans. Iterating gives numbers, bigints (u64, i64) or booleans.
 *
 * @example const scores = metadata.numbers('tokenizer.ggml.scores').toTypedArray()
 */
export class GgufNumbers implements Iterable<number | bigint | boolean> {
  readonly type: GgufFixedType
  readonly length: number
  readonly #bytes: Uint8Array

  constructor(type: GgufFixedType, length: number, bytes: Uint8Array) {
    this.type = type
    this.length = length
    this.#bytes = bytes
  }

  /** A copy, of the array class that fits the type; booleans are 0 or 1 in a Uint8Array. */
  toTypedArray(): GgufTypedArray {
    const copy = new Uint8Array(this.#bytes)
    if (this.type === 'bool') return copy.map((byte) => (byte === 0 ? 0 : 1))
    return new constructors[this.type](copy.buffer, 0, this.length)
  }

  *[Symbol.iterator](): Generator<number | bigint | boolean> {
    for (const value of this.toTypedArray()) yield this.type === 'bool' ? value !== 0 : value
  }
}

/**
 * An array of strings. Nothing is decoded before it is asked for, so that a vocabulary of 128k
 * pieces costs 4 bytes a piece besides the header.
 *
 * @example for (const piece of metadata.strings('tokenizer.ggml.tokens')) console.log(piece)
 */
export class GgufStrings implements Iterable<string> {
  readonly type = 'string'
  readonly length: number
  readonly #header: Buffer
  // Offset of the length before each string.
  readonly #starts: Uint32Array

  constructor(header: Buffer, starts: Uint32Array) {
    this.length = starts.length
    this.#header = header
    this.#starts = starts
  }

  /** String `index`; bytes that are not UTF-8 show as U+FFFD. Throws a RangeError off the ends. */
  text(index: number): string {
    const start = this.#start(index)
    return this.#header.toString('utf8', start, start + this.#header.readUInt32LE(start - 8))
  }

  /** A copy of the bytes of string `index`. Throws a RangeError off the ends. */
  bytes(index: number): Uint8Array {
    const start = this.#start(index)
    const end = start + this.#header.readUInt32LE(start - 8)
    return new Uint8Array(this.#header.subarray(start, end))
  }

  *[Symbol.iterator](): Generator<string> {
    for (let index = 0; index < this.length; index++) yield this.text(index)
  }

  #start(index: number): number {
    const start = this.#starts[index]
    if (start === undefined) throw new RangeError(`no string ${index}: there are ${this.length}`)
    return start + 8
  }
}

export type GgufArray = GgufNumbers | GgufStrings
