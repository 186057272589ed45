// A growable list of token ids.

/** Ids are appended to one Int32Array that doubles; `ids()` copies what was written. */
export class IdList {
  length = 0
  private buffer: Int32Array

  constructor(capacity = 64) {
    this.buffer = new Int32Array(capacity)
  }

  push(id: number): void {
    if (this.length === this.buffer.length) this.reserve(1)
    this.buffer[this.length++] = id
  }

  /** Appends `count` ids that lie in `from` at `start`. */
  append(from: Int32Array, start: number, count: number): void {
    this.reserve(count)
    const { buffer } = this
    let at = this.length
    for (let i = start; i < start + count; i++) buffer[at++] = from[i]!
    this.length = at
  }

  at(i: number): number {
    return this.buffer[i]!
  }

  /** Forgets every id from position `length` on. */
  truncate(length: number): void {
    this.length = length
  }

  /** Reverses the order of the ids from position `start` on. */
  reverseFrom(start: number): void {
    this.buffer.subarray(start, this.length).reverse()
  }

  ids(): Int32Array {
    return this.buffer.slice(0, this.length)
  }

  private reserve(count: number): void {
    if (this.length + count <= this.buffer.length) return
    const grown = new Int32Array(Math.max(this.buffer.length * 2, this.length + count))
    grown.set(this.buffer.subarray(0, this.length))
    this.buffer = grown
  }
}
