// From the bytes of a piece to its number: an open-addressing hash over a string table.
import type { Steps } from './steps.ts'
import type { StringTable } from './string_table.ts'

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193
const SPACE = 0x20
/** Entries between two yields. */
const SLICE = 1 << 11

/** 32-bit FNV-1a of a range of bytes, continued from `hash`. */
export function hashBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  hash = FNV_OFFSET,
): number {
  let h = hash
  for (let i = start; i < end; i++) h = Math.imul(h ^ bytes[i]!, FNV_PRIME)
  return h
}

/** Spreads an FNV hash over the low bits, which choose the slot. */
export function mixHash(hash: number): number {
  const h = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return h ^ (h >>> 13)
}

/**
 * Finds entries of a table by their bytes. Two numbers a slot and no JavaScript string: 128
 * thousand pieces are indexed in about 10 ms (bench/tokenizer.ts).
 */
export class PieceIndex {
  /** The longest entry, in bytes. */
  lengthMax = 0
  /** Entries whose bytes equal those of a lower number, which is the one that is found. */
  readonly duplicates: number[] = []
  private readonly table: StringTable
  private readonly slots: Int32Array // number + 1 (0 when empty), hash
  private readonly mask: number

  private constructor(table: StringTable) {
    this.table = table
    const capacity = 1 << Math.max(4, Math.ceil(Math.log2(Math.max(1, table.count) * 1.5)))
    this.slots = new Int32Array(capacity * 2)
    this.mask = capacity * 2 - 2
  }

  static *build(table: StringTable): Steps<PieceIndex> {
    const index = new PieceIndex(table)
    for (let i = 0; i < table.count; i++) {
      index.lengthMax = Math.max(index.lengthMax, table.ends[i]! - table.starts[i]!)
      index.insert(i)
      if (i % SLICE === SLICE - 1) yield
    }
    return index
  }

  /** The number of the entry with exactly these bytes, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > this.lengthMax) return -1
    const { slots, mask } = this
    const hash = mixHash(hashBytes(bytes, start, end))
    for (let slot = (hash << 1) & mask; slots[slot] !== 0; slot = (slot + 2) & mask) {
      if (slots[slot + 1] !== hash) continue
      const found = slots[slot]! - 1
      const own = this.table.starts[found]!
      const isSame = this.table.ends[found]! - own === end - start
      if (isSame && this.equals(own, bytes, start, end)) return found
    }
    return -1
  }

  /** The number of the entry made of the two sides of `middle` with a space between, or -1. */
  findPair(bytes: Uint8Array, start: number, middle: number, end: number): number {
    const length = end - start + 1
    if (length > this.lengthMax) return -1
    const { slots, mask } = this
    const left = Math.imul(hashBytes(bytes, start, middle) ^ SPACE, FNV_PRIME)
    const hash = mixHash(hashBytes(bytes, middle, end, left))
    for (let slot = (hash << 1) & mask; slots[slot] !== 0; slot = (slot + 2) & mask) {
      if (slots[slot + 1] !== hash) continue
      const found = slots[slot]! - 1
      const own = this.table.starts[found]!
      const space = own + middle - start
      if (this.table.ends[found]! - own !== length || this.table.bytes[space] !== SPACE) continue
      if (!this.equals(own, bytes, start, middle)) continue
      if (this.equals(space + 1, bytes, middle, end)) return found
    }
    return -1
  }

  private insert(number: number): void {
    const { slots, mask, table } = this
    const start = table.starts[number]!
    const end = table.ends[number]!
    const hash = mixHash(hashBytes(table.bytes, start, end))
    let slot = (hash << 1) & mask
    for (; slots[slot] !== 0; slot = (slot + 2) & mask) {
      if (slots[slot + 1] !== hash) continue
      const other = slots[slot]! - 1
      const own = table.starts[other]!
      if (table.ends[other]! - own === end - start && this.equals(own, table.bytes, start, end)) {
        this.duplicates.push(number)
        return
      }
    }
    slots[slot] = number + 1
    slots[slot + 1] = hash
  }

  private equals(own: number, bytes: Uint8Array, start: number, end: number): boolean {
    const mine = this.table.bytes
    for (let i = start, k = own; i < end; i++, k++) if (mine[k] !== bytes[i]) return false
    return true
  }
}
