// Reads numbers and strings of a GGUF header in order, asking for more of the file as it goes.
import { GgufError } from '../errors/index.ts'
import type { Steps } from './slices.ts'

/**
 * Headers are kept in memory, so their size has a limit. The largest in use, a vocabulary of 256k
 * pieces with merges, takes about 20 MiB.
 */
export const headerBytesMax = 2 ** 28

const firstReadBytes = 2 ** 16
const readBytesMax = 2 ** 20
const walkBatch = 4096

/** A position in the header and the bytes read so far. All offsets are bytes in the file. */
export class HeaderCursor {
  readonly file: string
  readonly fileBytes: number
  /** Bytes of the header that are in memory; valid up to `loaded`. */
  bytes: Buffer = Buffer.alloc(0)
  loaded = 0
  position = 0
  /** What is being read, for errors. */
  field = 'magic'
  // No header byte may lie at or after this.
  readonly #end: number

  constructor(file: string, fileBytes: number) {
    this.file = file
    this.fileBytes = fileBytes
    this.#end = Math.min(fileBytes, headerBytesMax)
  }

  /** Bytes from the position to the furthest place where the header may end. */
  get remaining(): number {
    return this.#end - this.position
  }

  /** Throws the error for a value at `offset`. */
  fail(problem: string, value: unknown, offset = this.position): never {
    throw new GgufError({ file: this.file, field: this.field, offset, value }, problem)
  }

  /** Throws because the header would have to reach `count` bytes beyond the position. */
  failShort(count: number | bigint, value: unknown, offset = this.position): never {
    const left = this.fileBytes - this.position
    if (count > left) {
      this.fail(`it needs ${count} bytes, but the file ends after ${left}`, value, offset)
    }
    this.fail(`the header is larger than ${headerBytesMax} bytes`, value, offset)
  }

  /** Has the next `count` bytes in memory afterwards, or throws. */
  *need(count: number): Steps<void> {
    const end = this.position + count
    if (end <= this.loaded) return
    if (count > this.remaining) this.failShort(count, this.fileBytes)
    while (this.loaded < end) {
      // Reads grow with the header: at most as much again is read as turns out to be needed.
      const length = Math.min(
        Math.max(firstReadBytes, Math.min(this.loaded, readBytesMax)),
        this.#end - this.loaded,
      )
      yield* this.#grow(this.loaded + length)
      const piece = yield { offset: this.loaded, length }
      this.bytes.set(piece!, this.loaded)
      this.loaded += length
    }
  }

  // The copy is made in pieces, so that a header of many megabytes does not hold up the event loop.
  *#grow(size: number): Steps<void> {
    if (size <= this.bytes.length) return
    const capacity = Math.min(this.#end, Math.max(size, this.bytes.length * 2))
    const larger = Buffer.from(new ArrayBuffer(capacity))
    for (let from = 0; from < this.loaded; from += readBytesMax) {
      larger.set(this.bytes.subarray(from, Math.min(from + readBytesMax, this.loaded)), from)
      yield
    }
    this.bytes = larger
  }

  *u32(): Steps<number> {
    yield* this.need(4)
    const value = this.bytes.readUInt32LE(this.position)
    this.position += 4
    return value
  }

  *u64(): Steps<bigint> {
    yield* this.need(8)
    const value = this.bytes.readBigUInt64LE(this.position)
    this.position += 8
    return value
  }

  /**
   * A 64-bit count of records that take at least `recordBytes` each: checked against what is left
   * of the file before anything is allocated for them.
   */
  *count(recordBytes: number, countMax = Number.MAX_SAFE_INTEGER): Steps<number> {
    const offset = this.position
    const count = yield* this.u64()
    const bytes = count * BigInt(recordBytes)
    if (bytes > this.remaining) this.failShort(bytes, count, offset)
    if (count > countMax)
      this.fail(`${count} are more than the limit of ${countMax}`, count, offset)
    return Number(count)
  }

  /** A string with its 64-bit length before it: where its bytes begin and end. */
  *string(): Steps<{ start: number; end: number }> {
    const length = yield* this.count(1)
    yield* this.need(length)
    const start = this.position
    this.position += length
    return { start, end: this.position }
  }

  text(start: number, end: number): string {
    return this.bytes.toString('utf8', start, end)
  }

  /** Walks over `count` strings, without loading the last; the offsets of their lengths. */
  *strings(count: number): Steps<Uint32Array> {
    const starts = new Uint32Array(count)
    let done = 0
    while (done < count) {
      yield* this.need(8)
      done = this.#walk(starts, done, Math.min(count, done + walkBatch))
      yield
    }
    return starts
  }

  // A plain function, since engines run generators slower. Stops where the loaded bytes end.
  #walk(starts: Uint32Array, from: number, to: number): number {
    const { bytes, loaded } = this
    const end = this.#end
    let position = this.position
    let index = from
    while (index < to && position + 8 <= loaded) {
      const low = bytes.readUInt32LE(position)
      const high = bytes.readUInt32LE(position + 4)
      if (high !== 0 || low > end - position - 8) {
        this.position = position + 8
        const length = (BigInt(high) << 32n) | BigInt(low)
        this.field += ` [${index}]`
        this.failShort(length, length, position)
      }
      starts[index++] = position
      position += 8 + low
    }
    this.position = position
    return index
  }
}

/** For messages: what a file says may be long, or hold control characters. */
export const shorten = (text: string): string => {
  const shown = text.replace(/\p{Cc}/gu, (char) => JSON.stringify(char).slice(1, -1))
  return shown.length > 80 ? `${shown.slice(0, 80)}…` : shown
}
