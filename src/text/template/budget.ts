// Bounds of one render: work, memory and nesting. Passing one is an error, never a hang.
import { Fault } from './fault.ts'

/** Bounds of one render; templates of published models stay far below the defaults. */
export interface Limits {
  /** Units of work: one per node evaluated, per item visited, per 64 characters scanned. */
  steps: number
  /** Characters and list items created in all, each copy counted. */
  made: number
  /** Nesting of expressions, blocks, macro calls and values. */
  depth: number
}

export const defaultLimits: Readonly<Limits> = { steps: 5_000_000, made: 1 << 28, depth: 400 }

/** Counts what a render spends. */
export class Budget {
  #steps: number
  #made: number
  #depth: number
  readonly #limits: Readonly<Limits>

  constructor(limits: Readonly<Limits>) {
    this.#limits = limits
    this.#steps = limits.steps
    this.#made = limits.made
    this.#depth = limits.depth
  }

  step(count = 1): void {
    this.#steps -= count
    if (this.#steps < 0) throw new Fault(`more than ${this.#limits.steps} steps of work`)
  }

  /** Reading `length` characters once, as a comparison or a copy does. */
  scan(length: number): void {
    this.step(1 + (length >> 6))
  }

  /** Looking for `needle` characters in `length` characters, whose worst case is their product. */
  search(length: number, needle: number): void {
    this.step(1 + (length >> 6) + Math.floor((length * needle) / 1024))
  }

  /** Room for `count` characters or items; call it before allocating. */
  make(count: number): void {
    this.#made -= count
    if (!(this.#made >= 0)) {
      throw new Fault(`more than ${this.#limits.made} characters and items made`)
    }
  }

  /** One level deeper; a fault ends the whole render, so only success needs `leave`. */
  enter(): void {
    if (this.#depth-- <= 0) throw new Fault(`nested deeper than ${this.#limits.depth} levels`)
  }

  leave(): void {
    this.#depth++
  }
}
