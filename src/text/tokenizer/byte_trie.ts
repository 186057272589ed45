// A prefix tree over bytes in flat arrays: all tokens that start at a position, in one walk.

/** Node 0 is the root. Children are found by hashing (node, byte): a node costs about 20 bytes. */
export class ByteTrie {
  private keys = new Int32Array(64).fill(-1) // node * 256 + byte, or -1 for an empty slot
  private nodes = new Int32Array(64)
  private values = new Int32Array(32).fill(-1)
  private nodeCount = 1

  /** Gives a key its value; a key that has one keeps it. */
  insert(bytes: Uint8Array, start: number, end: number, value: number): void {
    let node = 0
    for (let i = start; i < end; i++) {
      const child = this.child(node, bytes[i]!)
      node = child >= 0 ? child : this.grow(node, bytes[i]!)
    }
    if (this.values[node]! < 0) this.values[node] = value
  }

  /** The node behind `node` by that byte, or -1. */
  child(node: number, byte: number): number {
    const { keys } = this
    const key = node * 256 + byte
    const mask = keys.length - 1
    let slot = this.slotOf(key, mask)
    while (keys[slot] !== key) {
      if (keys[slot]! < 0) return -1
      slot = (slot + 1) & mask
    }
    return this.nodes[slot]!
  }

  /** The value of the key that ends at `node`, or -1. */
  value(node: number): number {
    return this.values[node]!
  }

  private slotOf(key: number, mask: number): number {
    const h = Math.imul(key ^ (key >>> 15), 0x2c1b3c6d)
    return (h ^ (h >>> 13)) & mask
  }

  private grow(parent: number, byte: number): number {
    if (this.nodeCount * 2 > this.keys.length) this.rehash()
    const node = this.nodeCount++
    if (node === this.values.length) {
      const values = new Int32Array(node * 2).fill(-1)
      values.set(this.values)
      this.values = values
    }
    this.place(parent * 256 + byte, node)
    return node
  }

  private place(key: number, node: number): void {
    const mask = this.keys.length - 1
    let slot = this.slotOf(key, mask)
    while (this.keys[slot]! >= 0) slot = (slot + 1) & mask
    this.keys[slot] = key
    this.nodes[slot] = node
  }

  private rehash(): void {
    const { keys, nodes } = this
    this.keys = new Int32Array(keys.length * 2).fill(-1)
    this.nodes = new Int32Array(keys.length * 2)
    keys.forEach((key, slot) => {
      if (key >= 0) this.place(key, nodes[slot]!)
    })
  }
}
