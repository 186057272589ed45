// Hash tables that make equal places and equal states one.

/** Finds things by a hash and a comparison; open addressing, grown at half load. */
export class InternTable<T> {
  readonly #hashes: number[] = []
  readonly #items: T[] = []
  /** Index + 1 into the items; 0 is free. */
  #slots = new Int32Array(1024)

  get size(): number {
    return this.#items.length
  }

  /** The item with this hash for which `matches` holds. */
  find(hash: number, matches: (item: T) => boolean): T | undefined {
    const slots = this.#slots
    const mask = slots.length - 1
    for (let slot = spread(hash) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const index = slots[slot]! - 1
      if (this.#hashes[index] === hash && matches(this.#items[index]!)) return this.#items[index]
    }
    return undefined
  }

  /** Adds an item that `find` did not find. */
  add(hash: number, item: T): void {
    this.#hashes.push(hash)
    this.#items.push(item)
    if (2 * this.#items.length > this.#slots.length) this.#grow()
    else this.#put(hash, this.#items.length)
  }

  #put(hash: number, value: number): void {
    const mask = this.#slots.length - 1
    let slot = spread(hash) & mask
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask
    this.#slots[slot] = value
  }

  #grow(): void {
    this.#slots = new Int32Array(4 * this.#slots.length)
    for (const [index, hash] of this.#hashes.entries()) this.#put(hash, index + 1)
  }
}

/** A 32-bit hash that goes on by a number. */
export function mix(hash: number, value: number): number {
  return (Math.imul(hash ^ value, 0x9e3779b1) ^ (hash >>> 15)) | 0
}

function spread(hash: number): number {
  return hash ^ (hash >>> 16)
}
