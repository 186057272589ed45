// From the bytes of a piece to its id: an open-addressing hash over a string table.
import type { StringTable } from './string_table.ts'

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

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
 * Looks pieces up by their bytes. One 32-bit slot per bucket and a stored hash per piece: 128 thousand
 * pieces are indexed in a few milliseconds, and nothing becomes a JavaScript string.
 */
export class PieceIndex {
  /** The longest piece in the index, in bytes. */
  readonly lengthMax: number
  /** Ids whose bytes equal those of a lower id; the lower one is found. */
  readonly duplicates: number[] = []
  private readonly table: StringTable
  private readonly slots: Int32Array // id + 1, or 0 for an empty slot
  private readonly hashes: Int32Array // by id
  private readonly mask: number

  constructor(table: StringTable, accept?: (id: number) => boolean) {
    this.table = table
    const capacity = 1 << Math.max(4, Math.ceil(Math.log2(Math.max(1, table.count) * 2)))
    this.slots = new Int32Array(capacity)
    this.hashes = new Int32Array(table.count)
    this.mask = capacity - 1
    let lengthMax = 0
    for (let id = 0; id < table.count; id++) {
      if (accept && !accept(id)) continue
      const start = table.starts[id]!
      const end = table.ends[id]!
      if (end - start > lengthMax) lengthMax = end - start
      this.insert(id, start, end)
    }
    this.lengthMax = lengthMax
  }

  /** The id of the piece with exactly these bytes, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > this.lengthMax) return -1
    return this.probe(hashBytes(bytes, start, end), bytes, start, end, end, end)
  }

  /** The id of the piece made of two ranges of the same buffer, or -1. */
  findJoined(bytes: Uint8Array, start: number, end: number, start2: number, end2: number): number {
    if (end - start + end2 - start2 > this.lengthMax) return -1
    const hash = hashBytes(bytes, start2, end2, hashBytes(bytes, start, end))
    return this.probe(hash, bytes, start, end, start2, end2)
  }

  private insert(id: number, start: number, end: number): void {
    const { bytes } = this.table
    const hash = mixHash(hashBytes(bytes, start, end))
    this.hashes[id] = hash
    let slot = hash & this.mask
    while (this.slots[slot] !== 0) {
      const other = this.slots[slot]! - 1
      if (this.hashes[other] === hash && this.equals(other, bytes, start, end, end, end)) {
        this.duplicates.push(id)
        return
      }
      slot = (slot + 1) & this.mask
    }
    this.slots[slot] = id + 1
  }

  private probe(
    fnv: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    start2: number,
    end2: number,
  ): number {
    const hash = mixHash(fnv)
    let slot = hash & this.mask
    for (;;) {
      const id = this.slots[slot]! - 1
      if (id < 0) return -1
      if (this.hashes[id] === hash && this.equals(id, bytes, start, end, start2, end2)) return id
      slot = (slot + 1) & this.mask
    }
  }

  private equals(
    id: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    start2: number,
    end2: number,
  ): boolean {
    const own = this.table.bytes
    let at = this.table.starts[id]!
    if (this.table.ends[id]! - at !== end - start + end2 - start2) return false
    for (let i = start; i < end; i++) if (own[at++] !== bytes[i]) return false
    for (let i = start2; i < end2; i++) if (own[at++] !== bytes[i]) return false
    return true
  }
}
