// The bookkeeping of a KV cache: what each sequence holds and where. It knows no device.
import { ContextOverflowError } from '../errors/index.ts'
import { BlockPool, EMPTY } from './kv_blocks.ts'
import { type Edit, EditLists } from './kv_edit.ts'
import { Journal } from './kv_journal.ts'
import { BlockTables } from './kv_tables.ts'

export type { CellCopy, Edit } from './kv_edit.ts'

/** A token that a run adds: its sequence, and its position, which need not be the next. */
export interface KvRow {
  sequence: number
  position: number
}

/**
 * The rows of one run. Its edit is to be done before the run; the run itself writes keys, values
 * and positions of `cells`. Tables and lengths have the rows from `begin` on. There is one object
 * for all steps, which is valid until the next `begin`.
 */
export interface Step extends Edit {
  /** The cell of each row: block * blockSize + offset. */
  readonly cells: Int32Array
  /** The run has succeeded: the rows are there to stay. */
  commit(): void
  /**
   * The run has failed or was aborted: everything is as before `begin`. The edit that is returned
   * empties the cells that the run may have written.
   */
  rollback(): Edit
}

export interface KvCacheOptions {
  /** Cells in a block. Default 32. */
  blockSize?: number
  blockCount: number
  sequenceCount: number
}

/** Positions are i32 on the device. */
const POSITION_MAX = 0x7fffffff
/** In `#maxima`: to be looked for again. */
const UNKNOWN = -2

/**
 * A pool of blocks of cells, which sequences address by tables (Kwon et al. 2023,
 * arXiv:2309.06180). Sequences share blocks, and get a copy of their own of one that they change.
 * Whatever throws has changed nothing. Ranges of positions are [p0, p1), where a negative p0 is 0
 * and a negative p1 the end.
 *
 * @example
 * const cache = new KvCache({ blockCount: 128, sequenceCount: 4 })
 * const step = cache.begin([{ sequence: 0, position: 0 }])
 * try { await run(step.cells); step.commit() } catch { apply(step.rollback()) }
 */
export class KvCache {
  readonly blockSize: number
  readonly blockCount: number
  readonly sequenceCount: number
  readonly #journal = new Journal()
  readonly #pool: BlockPool
  readonly #tables: BlockTables
  /** [sequences] the highest position, EMPTY for none, or UNKNOWN. */
  readonly #maxima: Int32Array
  readonly #step: KvStep

  constructor({ blockSize = 32, blockCount, sequenceCount }: KvCacheOptions) {
    checkCount('blockSize', blockSize)
    checkCount('blockCount', blockCount)
    checkCount('sequenceCount', sequenceCount)
    checkCount('blockSize * blockCount', blockSize * blockCount)
    this.blockSize = blockSize
    this.blockCount = blockCount
    this.sequenceCount = sequenceCount
    this.#pool = new BlockPool(blockSize, blockCount, this.#journal)
    this.#tables = new BlockTables(sequenceCount, this.#pool, this.#journal)
    this.#maxima = new Int32Array(sequenceCount).fill(EMPTY)
    this.#step = new KvStep(this.#pool, this.#journal)
  }

  /** [cells] the position of the token in each cell, -1 where there is none; only to be read. */
  get positions(): Int32Array {
    return this.#pool.positions
  }

  /**
   * Gives each row a cell.
   *
   * @throws ContextOverflowError with the number of rows, and of those that fit when taken in
   *   order; RangeError for a sequence or position that cannot be
   */
  begin(rows: readonly KvRow[]): Step {
    this.#expectNoStep()
    for (let i = 0; i < rows.length; i++) this.#checkRow(rows[i]!)
    const step = this.#step
    step.open(rows.length)
    for (let i = 0; i < rows.length; i++) {
      const { sequence, position } = rows[i]!
      let cell = this.#tables.vacantCell(sequence)
      if (cell < 0) cell = this.#tables.extend(sequence, countFrom(rows, i), step)
      if (cell < 0) {
        step.rollback()
        throw new ContextOverflowError(rows.length, i)
      }
      this.#pool.put(cell, position)
      const highest = this.#maxima[sequence]!
      if (highest !== UNKNOWN && position > highest) {
        this.#journal.write(this.#maxima, sequence, position)
      }
      step.cells[i] = cell
    }
    return step
  }

  /**
   * `to` gets the tokens of `from` in [p0, p1), in place of its own in that range. Whole blocks are
   * shared. (The reference lets both stay where their positions meet, and then attends to both.)
   *
   * @throws ContextOverflowError when no block is free for what has to be copied
   */
  copy(from: number, to: number, p0 = 0, p1 = -1): Edit {
    this.#checkSequence(from)
    this.#checkSequence(to)
    const [start, end] = range(p0, p1)
    return this.#edit(to, (edit) => {
      if (from === to) return true
      if (!this.#tables.change(to, { start, end }, edit)) return false
      return this.#tables.copy(from, to, start, end, edit)
    })
  }

  /** `to` becomes what `from` is, without copying anything. */
  fork(from: number, to: number): Edit {
    return this.copy(from, to)
  }

  /**
   * Takes tokens in [p0, p1) out of a sequence, or out of all if it is negative.
   *
   * @throws ContextOverflowError when part of a shared block goes, and no block is free for the
   *   rest
   */
  remove(sequence: number, p0 = 0, p1 = -1): Edit {
    const [start, end] = range(p0, p1)
    if (sequence >= 0) this.#checkSequence(sequence)
    return this.#edit(sequence, (edit) => {
      if (sequence >= 0) return this.#tables.change(sequence, { start, end }, edit)
      this.#tables.removeFromAll(start, end, edit)
      return true
    })
  }

  /**
   * Adds `delta` to the positions of a sequence in [p0, p1); tokens that come below 0 are taken
   * out. Other sequences keep theirs.
   *
   * @throws ContextOverflowError when a shared block changes and none is free for the copy;
   *   RangeError when a position would not fit 31 bits
   */
  shift(sequence: number, p0: number, p1: number, delta: number): Edit {
    this.#checkSequence(sequence)
    const [start, end] = range(p0, p1)
    if (!Number.isInteger(delta)) throw new RangeError(`delta must be whole, got ${delta}`)
    const highest = this.#highestWithin(sequence, start, end)
    if (highest !== EMPTY && highest + delta > POSITION_MAX) {
      throw new RangeError(`position ${highest} moved by ${delta} does not fit 31 bits`)
    }
    return this.#edit(
      sequence,
      (edit) => delta === 0 || this.#tables.change(sequence, { start, end, delta }, edit),
    )
  }

  /** Empties every sequence. */
  clear(): Edit {
    return this.remove(-1)
  }

  /** How many cells of a sequence attention walks over, empty ones included. */
  length(sequence: number): number {
    this.#checkSequence(sequence)
    const count = this.#tables.count(sequence)
    if (count === 0) return 0
    const last = this.#tables.block(sequence, count - 1)
    return (count - 1) * this.blockSize + this.#pool.ends[last]!
  }

  /** How many tokens a sequence holds. */
  tokenCount(sequence: number): number {
    this.#checkSequence(sequence)
    let total = 0
    for (let i = this.#tables.count(sequence) - 1; i >= 0; i--) {
      total += this.#pool.used[this.#tables.block(sequence, i)]!
    }
    return total
  }

  /** The highest position of a sequence; -1 when it is empty. */
  positionMax(sequence: number): number {
    this.#checkSequence(sequence)
    const known = this.#maxima[sequence]!
    if (known !== UNKNOWN) return known
    const highest = this.#highestWithin(sequence, 0, POSITION_MAX + 1)
    // Rows of an open step may yet be taken back.
    if (!this.#step.isOpen) this.#maxima[sequence] = highest
    return highest
  }

  /**
   * Writes the blocks of each of `sequences` into a row of `table` [sequences][stride], then zeros.
   *
   * @throws RangeError when a sequence has more than `stride` blocks, or the table is too short
   */
  fillTable(sequences: ArrayLike<number>, table: Int32Array, stride: number): void {
    if (table.length < sequences.length * stride) {
      throw new RangeError(`${sequences.length} rows of ${stride} in a table of ${table.length}`)
    }
    for (let row = 0; row < sequences.length; row++) {
      const sequence = sequences[row]!
      this.#checkSequence(sequence)
      const count = this.#tables.count(sequence)
      if (count > stride) {
        throw new RangeError(`sequence ${sequence} has ${count} blocks, the table holds ${stride}`)
      }
      const start = row * stride
      for (let i = 0; i < count; i++) table[start + i] = this.#tables.block(sequence, i)
      table.fill(0, start + count, start + stride)
    }
  }

  usage(): { blocksUsed: number; blocksTotal: number } {
    const { blockCount, freeCount } = this.#pool
    return { blocksUsed: blockCount - freeCount, blocksTotal: blockCount }
  }

  /** Makes a change, or takes it back when there was no block for it. */
  #edit(sequence: number, change: (edit: EditLists) => boolean): Edit {
    this.#expectNoStep()
    const edit = new EditLists()
    if (!change(edit)) {
      this.#journal.undo()
      throw new ContextOverflowError(this.blockSize, 0)
    }
    this.#journal.clear()
    if (sequence < 0) this.#maxima.fill(UNKNOWN)
    else this.#maxima[sequence] = UNKNOWN
    edit.keepLast(this.#pool.positions)
    return edit
  }

  #highestWithin(sequence: number, start: number, end: number): number {
    const { positions, ends } = this.#pool
    let highest = EMPTY
    for (let i = this.#tables.count(sequence) - 1; i >= 0; i--) {
      const block = this.#tables.block(sequence, i)
      const first = block * this.blockSize
      for (let cell = first; cell < first + ends[block]!; cell++) {
        const position = positions[cell]!
        if (position > highest && position >= start && position < end) highest = position
      }
    }
    return highest
  }

  #expectNoStep(): void {
    if (this.#step.isOpen) throw new Error('KvCache: a step is neither committed nor rolled back')
  }

  #checkSequence(sequence: number): void {
    if (Number.isInteger(sequence) && sequence >= 0 && sequence < this.sequenceCount) return
    throw new RangeError(`sequence ${sequence} is not one of ${this.sequenceCount}`)
  }

  #checkRow({ sequence, position }: KvRow): void {
    this.#checkSequence(sequence)
    if (Number.isInteger(position) && position >= 0 && position <= POSITION_MAX) return
    throw new RangeError(`position ${position} is not a whole number in [0, ${POSITION_MAX}]`)
  }
}

class KvStep extends EditLists implements Step {
  cells: Int32Array = new Int32Array(0)
  isOpen = false
  readonly #pool: BlockPool
  readonly #journal: Journal
  /** What `cells` is the start of; a view for each length is made once. */
  #buffer = new Int32Array(0)
  #views: Int32Array[] = []

  constructor(pool: BlockPool, journal: Journal) {
    super()
    this.#pool = pool
    this.#journal = journal
  }

  open(rowCount: number): void {
    this.isOpen = true
    this.clear()
    if (rowCount > this.#buffer.length) {
      this.#buffer = new Int32Array(Math.max(64, 2 * rowCount))
      this.#views = []
    }
    this.#views[rowCount] ??= this.#buffer.subarray(0, rowCount)
    this.cells = this.#views[rowCount]
  }

  commit(): void {
    this.#close()
    this.#journal.clear()
  }

  rollback(): Edit {
    this.#close()
    this.#journal.undo()
    const { blockSize, shares, written } = this.#pool
    const edit = new EditLists()
    for (const cell of this.cells) {
      const block = Math.floor(cell / blockSize)
      if (shares[block] === 0 || cell - block * blockSize >= written[block]!) continue
      edit.place(cell, EMPTY)
    }
    return edit
  }

  #close(): void {
    if (!this.isOpen) throw new Error('KvCache: the step was committed or rolled back before')
    this.isOpen = false
  }
}

/** How many of the rows from `first` on belong to the sequence of the first. */
function countFrom(rows: readonly KvRow[], first: number): number {
  const { sequence } = rows[first]!
  let count = 0
  for (let i = first; i < rows.length; i++) if (rows[i]!.sequence === sequence) count++
  return count
}

/** [start, end) of positions. */
function range(p0: number, p1: number): [number, number] {
  if (!Number.isInteger(p0) || !Number.isInteger(p1)) {
    throw new RangeError(`positions must be whole numbers, got ${p0} and ${p1}`)
  }
  return [Math.max(0, p0), p1 < 0 ? POSITION_MAX + 1 : p1]
}

function checkCount(name: string, value: number): void {
  if (Number.isInteger(value) && value > 0 && value <= POSITION_MAX) return
  throw new RangeError(`${name} must be a whole number in [1, ${POSITION_MAX}], got ${value}`)
}
