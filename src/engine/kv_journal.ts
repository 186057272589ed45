// An undo log of writes to arrays of integers: what makes a change of the cache whole or nothing.

/**
 * Writes values and remembers what was there, until `clear` makes the writes final or `undo` takes
 * all of them back.
 */
export class Journal {
  readonly #arrays: Int32Array[] = []
  /** Pairs of an index and the value that was there. */
  #pairs = new Int32Array(128)
  #count = 0

  write(array: Int32Array, index: number, value: number): void {
    const at = 2 * this.#count
    if (at === this.#pairs.length) {
      const larger = new Int32Array(2 * at)
      larger.set(this.#pairs)
      this.#pairs = larger
    }
    this.#arrays[this.#count] = array
    this.#pairs[at] = index
    this.#pairs[at + 1] = array[index]!
    this.#count++
    array[index] = value
  }

  undo(): void {
    for (let i = this.#count - 1; i >= 0; i--) {
      this.#arrays[i]![this.#pairs[2 * i]!] = this.#pairs[2 * i + 1]!
    }
    this.#count = 0
  }

  clear(): void {
    this.#count = 0
  }
}
