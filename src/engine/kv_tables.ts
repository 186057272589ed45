// Tables of blocks, one for each sequence of a KV cache, and how they change.
import { type BlockPool, EMPTY } from './kv_blocks.ts'
import type { EditLists } from './kv_edit.ts'
import type { Journal } from './kv_journal.ts'

/** Tokens with a position in [start, end) move by `delta`, or go, as do those that fall below 0. */
export interface Change {
  readonly start: number
  readonly end: number
  readonly delta?: number
}

/** The position of a token after a change; negative when it is gone. */
const changed = (position: number, { start, end, delta }: Change): number => {
  if (position < start || position >= end) return position
  return delta === undefined ? EMPTY : position + delta
}

/**
 * The blocks of each sequence, in an order that means nothing: positions say where a token stands.
 * Methods that need a free block give -1 or false when there is none; the journal then takes back
 * what was done until then.
 */
export class BlockTables {
  readonly #pool: BlockPool
  readonly #journal: Journal
  /** [sequences][blockCount], each made when its sequence is first used. */
  readonly #tables: Int32Array[] = []
  /** [sequences] */
  readonly #counts: Int32Array

  constructor(sequenceCount: number, pool: BlockPool, journal: Journal) {
    this.#pool = pool
    this.#journal = journal
    this.#counts = new Int32Array(sequenceCount)
  }

  /** How many blocks a sequence has. */
  count(sequence: number): number {
    return this.#counts[sequence]!
  }

  block(sequence: number, index: number): number {
    return this.#tables[sequence]![index]!
  }

  /** An empty cell in the blocks that are the sequence's own; -1 when they are full. */
  vacantCell(sequence: number): number {
    const count = this.count(sequence)
    if (count === 0) return -1
    const { blockSize, shares, used, ends } = this.#pool
    const last = this.block(sequence, count - 1)
    if (shares[last] === 1 && ends[last]! < blockSize) return last * blockSize + ends[last]!
    for (let i = count - 1; i >= 0; i--) {
      const block = this.block(sequence, i)
      if (shares[block] !== 1 || used[block] === blockSize) continue
      return block * blockSize + this.#pool.firstEmpty(block)
    }
    return -1
  }

  /**
   * Makes room when there is no vacant cell, with `wanted` tokens to come: the last block, if it is
   * shared and not full, becomes the sequence's own, unless new blocks alone do with fewer. Returns
   * the first vacant cell, or -1.
   */
  extend(sequence: number, wanted: number, edit: EditLists): number {
    const { blockSize, used, ends } = this.#pool
    const count = this.count(sequence)
    const room = count === 0 ? 0 : blockSize - used[this.block(sequence, count - 1)]!
    const blocksBeyond = Math.ceil(Math.max(0, wanted - room) / blockSize)
    if (room > 0 && 1 + blocksBeyond <= Math.ceil(wanted / blockSize)) {
      const own = this.#makeOwn(sequence, count - 1, edit)
      return own < 0 ? -1 : own * blockSize + ends[own]!
    }
    const block = this.#pool.allocate()
    if (block < 0) return -1
    this.#append(sequence, block, edit)
    return block * blockSize
  }

  /** Carries out a change of one sequence, without effect on others. */
  change(sequence: number, change: Change, edit: EditLists): boolean {
    // What becomes free here may be needed below.
    this.#dropBlocks(sequence, (block) => this.#countStaying(block, change) === 0)
    const { shares } = this.#pool
    for (let i = 0; i < this.count(sequence); i++) {
      let block = this.block(sequence, i)
      if (this.#pool.countWithin(block, change.start, change.end) === 0) continue
      if (shares[block]! > 1) block = this.#makeOwn(sequence, i, edit, change)
      if (block < 0) return false
      this.#changeBlock(block, change, edit)
    }
    return true
  }

  /** Takes tokens with positions in [start, end) out of all sequences. */
  removeFromAll(start: number, end: number, edit: EditLists): void {
    const { blockCount, shares } = this.#pool
    const change = { start, end }
    for (let sequence = 0; sequence < this.#counts.length; sequence++) {
      this.#dropBlocks(sequence, (block) => this.#countStaying(block, change) === 0)
    }
    for (let block = 0; block < blockCount; block++) {
      if (shares[block]! > 0) this.#changeBlock(block, change, edit)
    }
  }

  /** Gives `to` what `from` has in [start, end): whole blocks are shared, others copied from. */
  copy(from: number, to: number, start: number, end: number, edit: EditLists): boolean {
    const { used } = this.#pool
    let left = 0
    const cut: number[] = []
    for (let i = 0; i < this.count(from); i++) {
      const block = this.block(from, i)
      const inside = this.#pool.countWithin(block, start, end)
      if (inside === used[block]) {
        this.#pool.share(block)
        this.#append(to, block, edit)
      } else if (inside > 0) {
        cut.push(block)
        left += inside
      }
    }
    for (const block of cut) {
      const copied = this.#copyCells(block, to, { start, end, left }, edit)
      if (copied < 0) return false
      left -= copied
    }
    return true
  }

  /** Copies what [start, end) has of a block; returns how many tokens, or -1. */
  #copyCells(
    block: number,
    to: number,
    { start, end, left }: { start: number; end: number; left: number },
    edit: EditLists,
  ): number {
    const { blockSize, positions } = this.#pool
    const first = block * blockSize
    let copied = 0
    for (let from = first; from < first + blockSize; from++) {
      const position = positions[from]!
      if (position < start || position >= end) continue
      let cell = this.vacantCell(to)
      if (cell < 0) cell = this.extend(to, left - copied, edit)
      if (cell < 0) return -1
      this.#pool.put(cell, position)
      edit.copy(from, cell)
      edit.place(cell, position)
      copied++
    }
    return copied
  }

  /** Puts a block at the end of a table. */
  #append(sequence: number, block: number, edit: EditLists): void {
    this.#tables[sequence] ??= new Int32Array(this.#pool.blockCount)
    const count = this.count(sequence)
    if (count > 0) this.#seal(this.block(sequence, count - 1), edit)
    this.#journal.write(this.#tables[sequence], count, block)
    this.#journal.write(this.#counts, sequence, count + 1)
  }

  /** Of a block that is not the last of its table, attention walks over all cells. */
  #seal(block: number, edit: EditLists): void {
    const { blockSize, written } = this.#pool
    for (let offset = written[block]!; offset < blockSize; offset++) {
      edit.place(block * blockSize + offset, EMPTY)
    }
    this.#pool.markWritten(block)
  }

  /**
   * Replaces a shared block of a table by a copy, without holes and without what a change takes
   * out. Returns the copy, or -1.
   */
  #makeOwn(sequence: number, index: number, edit: EditLists, change?: Change): number {
    const pool = this.#pool
    const { blockSize, positions } = pool
    const shared = this.block(sequence, index)
    const own = pool.allocate()
    if (own < 0) return -1
    let to = own * blockSize
    for (let from = shared * blockSize; from < (shared + 1) * blockSize; from++) {
      const position = positions[from]!
      if (position === EMPTY || (change && changed(position, change) < 0)) continue
      pool.put(to, position)
      edit.copy(from, to)
      edit.place(to, position)
      to++
    }
    pool.release(shared)
    this.#journal.write(this.#tables[sequence]!, index, own)
    if (index < this.count(sequence) - 1) this.#seal(own, edit)
    return own
  }

  #changeBlock(block: number, change: Change, edit: EditLists): void {
    const { blockSize, positions } = this.#pool
    for (let cell = block * blockSize; cell < (block + 1) * blockSize; cell++) {
      const position = positions[cell]!
      if (position < change.start || position >= change.end) continue
      const after = changed(position, change)
      if (after < 0) this.#pool.remove(cell)
      else this.#pool.move(cell, after)
      edit.place(cell, Math.max(after, EMPTY))
      if (after >= 0) edit.rotate(cell, change.delta!)
    }
  }

  #countStaying(block: number, change: Change): number {
    const { blockSize, positions } = this.#pool
    let count = 0
    for (let cell = block * blockSize; cell < (block + 1) * blockSize; cell++) {
      const position = positions[cell]!
      if (position !== EMPTY && changed(position, change) >= 0) count++
    }
    return count
  }

  /** Takes blocks out of a table. */
  #dropBlocks(sequence: number, isDropped: (block: number) => boolean): void {
    const count = this.count(sequence)
    let kept = 0
    for (let i = 0; i < count; i++) {
      const block = this.block(sequence, i)
      if (isDropped(block)) {
        this.#pool.release(block)
        continue
      }
      if (kept < i) this.#journal.write(this.#tables[sequence]!, kept, block)
      kept++
    }
    if (kept < count) this.#journal.write(this.#counts, sequence, kept)
  }
}
