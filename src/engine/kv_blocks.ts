// The blocks of a KV cache: which are free, how many tables hold each, what their cells hold.
import type { Journal } from './kv_journal.ts'

/** The position of a cell that holds no token. */
export const EMPTY = -1

/**
 * A pool of blocks of cells. Every array but `written` describes what the host has decided; the
 * device follows by the edits that `KvCache` returns. Cell `c` is in block `floor(c / blockSize)`.
 */
export class BlockPool {
  readonly blockSize: number
  readonly blockCount: number
  /** [cells] the position of the token that a cell holds, or EMPTY. */
  readonly positions: Int32Array
  /** [blocks] how many tables a block is in; 0 is free. */
  readonly shares: Int32Array
  /** [blocks] how many cells hold a token; never 0 in a block that a table has. */
  readonly used: Int32Array
  /** [blocks] the offset after the last cell that holds a token. */
  readonly ends: Int32Array
  /**
   * [blocks] from this offset on, what the device has as positions is left over from earlier use
   * and means nothing. Such cells must stay beyond the length of a sequence.
   */
  readonly written: Int32Array
  /** [blocks] the free ones, as a stack of `#freeCount[0]`. */
  readonly #free: Int32Array
  readonly #freeCount: Int32Array
  readonly #journal: Journal

  constructor(blockSize: number, blockCount: number, journal: Journal) {
    this.blockSize = blockSize
    this.blockCount = blockCount
    this.positions = new Int32Array(blockSize * blockCount).fill(EMPTY)
    this.shares = new Int32Array(blockCount)
    this.used = new Int32Array(blockCount)
    this.ends = new Int32Array(blockCount)
    this.written = new Int32Array(blockCount)
    // The lowest is on top, so that a cache that is hardly used stays in few pages of memory.
    this.#free = Int32Array.from({ length: blockCount }, (_, i) => blockCount - 1 - i)
    this.#freeCount = Int32Array.of(blockCount)
    this.#journal = journal
  }

  get freeCount(): number {
    return this.#freeCount[0]!
  }

  /** A free block, now in one table; -1 when there is none. */
  allocate(): number {
    const count = this.freeCount
    if (count === 0) return -1
    const block = this.#free[count - 1]!
    this.#journal.write(this.#freeCount, 0, count - 1)
    this.#journal.write(this.shares, block, 1)
    return block
  }

  /** The block is in one more table. */
  share(block: number): void {
    this.#journal.write(this.shares, block, this.shares[block]! + 1)
  }

  /** The block is in one table less, and free after the last. */
  release(block: number): void {
    const journal = this.#journal
    const shares = this.shares[block]! - 1
    journal.write(this.shares, block, shares)
    if (shares > 0) return
    const first = block * this.blockSize
    const end = first + this.ends[block]!
    for (let cell = first; cell < end; cell++) {
      if (this.positions[cell] !== EMPTY) journal.write(this.positions, cell, EMPTY)
    }
    journal.write(this.used, block, 0)
    journal.write(this.ends, block, 0)
    journal.write(this.written, block, 0)
    journal.write(this.#free, this.freeCount, block)
    journal.write(this.#freeCount, 0, this.freeCount + 1)
  }

  /** Puts a token into an empty cell: one below the end of its block, or at it. */
  put(cell: number, position: number): void {
    const journal = this.#journal
    const block = Math.floor(cell / this.blockSize)
    const end = cell + 1 - block * this.blockSize
    journal.write(this.positions, cell, position)
    journal.write(this.used, block, this.used[block]! + 1)
    if (end > this.ends[block]!) journal.write(this.ends, block, end)
    if (end > this.written[block]!) journal.write(this.written, block, end)
  }

  /** Changes the position of a token. */
  move(cell: number, position: number): void {
    this.#journal.write(this.positions, cell, position)
  }

  /** Takes the token out of a cell. */
  remove(cell: number): void {
    const journal = this.#journal
    const block = Math.floor(cell / this.blockSize)
    const first = block * this.blockSize
    journal.write(this.positions, cell, EMPTY)
    journal.write(this.used, block, this.used[block]! - 1)
    let end = this.ends[block]!
    while (end > 0 && this.positions[first + end - 1] === EMPTY) end--
    if (end < this.ends[block]!) journal.write(this.ends, block, end)
  }

  /** What the device has as positions of the block is right up to its last cell, see `written`. */
  markWritten(block: number): void {
    if (this.written[block] === this.blockSize) return
    this.#journal.write(this.written, block, this.blockSize)
  }

  /** The offset of the first empty cell of a block that has one. */
  firstEmpty(block: number): number {
    const first = block * this.blockSize
    let offset = 0
    while (this.positions[first + offset] !== EMPTY) offset++
    return offset
  }

  /** How many tokens of the block have a position in [start, end), where start is not negative. */
  countWithin(block: number, start: number, end: number): number {
    const first = block * this.blockSize
    const last = first + this.ends[block]!
    let count = 0
    for (let cell = first; cell < last; cell++) {
      const position = this.positions[cell]!
      if (position >= start && position < end) count++
    }
    return count
  }
}
