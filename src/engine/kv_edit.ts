// What a device has to do to follow the bookkeeping of a KV cache.

export interface CellCopy {
  readonly from: number
  readonly to: number
  readonly count: number
}

/**
 * Work for the device, of every layer, in this order: the copies, then the rotations. Positions are
 * a tensor of their own, which copies do not touch, and each of its cells is listed at most once.
 * All three are empty most of the time.
 */
export interface Edit {
  /** Keys and values of the `count` cells from `from` on become those of the cells from `to` on. */
  readonly copies: readonly CellCopy[]
  /** The position of a cell; -1 is an empty cell. */
  readonly positions: readonly { readonly cell: number; readonly position: number }[]
  /** Keys to be rotated (by rope) by so many positions. */
  readonly rotations: readonly { readonly cell: number; readonly delta: number }[]
}

/** An edit that grows. */
export class EditLists implements Edit {
  readonly copies: { from: number; to: number; count: number }[] = []
  positions: { cell: number; position: number }[] = []
  readonly rotations: { cell: number; delta: number }[] = []

  copy(from: number, to: number): void {
    const last = this.copies.at(-1)
    if (last && last.from + last.count === from && last.to + last.count === to) last.count++
    else this.copies.push({ from, to, count: 1 })
  }

  place(cell: number, position: number): void {
    this.positions.push({ cell, position })
  }

  rotate(cell: number, delta: number): void {
    this.rotations.push({ cell, delta })
  }

  /** Leaves out what a later entry overwrites: the last one of a cell is what the host has. */
  keepLast(positions: Int32Array): void {
    this.positions = this.positions.filter(({ cell, position }) => positions[cell] === position)
  }

  clear(): void {
    this.copies.length = 0
    this.positions.length = 0
    this.rotations.length = 0
  }
}
