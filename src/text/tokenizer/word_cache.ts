// Remembers the ids of words already tokenized. Text repeats its words, so most are found here.
import { hashBytes, mixHash } from './piece_index.ts'

const SLOTS = 1 << 16
const ENTRIES_MAX = SLOTS / 2
const KEY_BYTES_MAX = 1 << 19
const IDS_MAX = 1 << 18

/** Longer words are not remembered. */
export const CACHED_WORD_MAX = 64

/**
 * A bounded map from bytes to ids, without a JavaScript object per word. When it is full it starts
 * again empty: cheaper than choosing what to forget, and natural text refills it at once.
 */
export class WordCache {
  private slots = new Int32Array(0) // entry + 1, or 0
  private hashes = new Int32Array(0) // by entry
  private keyEnds = new Int32Array(0) // key of entry e: keys[keyEnds[e - 1], keyEnds[e])
  private idEnds = new Int32Array(0)
  private keys = new Uint8Array(0)
  private entries = 0
  private hash = 0

  /** All remembered ids; `find` says where those of a word lie. */
  ids = new Int32Array(0)
  /** Number of ids of the word found last. */
  idCount = 0

  /** Where in `ids` the ids of the word start, or -1; sets `idCount`. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const hash = mixHash(hashBytes(bytes, start, end))
    this.hash = hash
    if (this.entries === 0) return -1
    const { slots, hashes, keyEnds, keys } = this
    let slot = hash & (SLOTS - 1)
    for (;;) {
      const entry = slots[slot]! - 1
      if (entry < 0) return -1
      if (hashes[entry] === hash) {
        const from = entry === 0 ? 0 : keyEnds[entry - 1]!
        if (keyEnds[entry]! - from === end - start) {
          let i = start
          let k = from
          while (i < end && bytes[i] === keys[k]) {
            i++
            k++
          }
          if (i === end) {
            const first = entry === 0 ? 0 : this.idEnds[entry - 1]!
            this.idCount = this.idEnds[entry]! - first
            return first
          }
        }
      }
      slot = (slot + 1) & (SLOTS - 1)
    }
  }

  /** Remembers the word that `find` has just missed: `count` ids from `at(first)` on. */
  add(
    bytes: Uint8Array,
    start: number,
    end: number,
    list: { at(i: number): number },
    first: number,
    count: number,
  ): void {
    if (this.slots.length === 0) this.allocate()
    let keyEnd = this.entries === 0 ? 0 : this.keyEnds[this.entries - 1]!
    let idEnd = this.entries === 0 ? 0 : this.idEnds[this.entries - 1]!
    if (
      this.entries === ENTRIES_MAX ||
      keyEnd + end - start > KEY_BYTES_MAX ||
      idEnd + count > IDS_MAX
    ) {
      this.slots.fill(0)
      this.entries = 0
      keyEnd = 0
      idEnd = 0
    }
    for (let i = start; i < end; i++) this.keys[keyEnd++] = bytes[i]!
    for (let i = 0; i < count; i++) this.ids[idEnd++] = list.at(first + i)
    const entry = this.entries++
    this.keyEnds[entry] = keyEnd
    this.idEnds[entry] = idEnd
    this.hashes[entry] = this.hash
    let slot = this.hash & (SLOTS - 1)
    while (this.slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1)
    this.slots[slot] = entry + 1
  }

  private allocate(): void {
    this.slots = new Int32Array(SLOTS)
    this.hashes = new Int32Array(ENTRIES_MAX)
    this.keyEnds = new Int32Array(ENTRIES_MAX)
    this.idEnds = new Int32Array(ENTRIES_MAX)
    this.keys = new Uint8Array(KEY_BYTES_MAX)
    this.ids = new Int32Array(IDS_MAX)
  }
}
