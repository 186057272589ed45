// The `loop` variable of a for block.
import { type Arguments, Thing, Tuple, Undefined, type Value } from './values.ts'

/**
 * Advances over the items of a for block; looks one item ahead only when asked to (`loop.last`,
 * `loop.nextitem`) and lays the rest out only for `loop.length`, since one-shot iterators with side
 * effects can tell the difference.
 */
export class Loop extends Thing {
  readonly type = 'LoopContext'
  index0 = -1
  /** Levels of recursion, starting at 0. */
  readonly depth0: number
  /** Renders the body over other items; only loops marked `recursive` have it. */
  readonly recurse: ((args: Arguments) => Value) | undefined
  #iterator: Iterator<Value>
  #length: number | undefined
  #ahead: { value: Value } | undefined
  #current: Value | undefined
  #previous: Value | undefined
  #changedFor: Tuple | undefined

  constructor(
    iterator: Iterator<Value>,
    length: number | undefined,
    depth0: number,
    recurse: ((args: Arguments) => Value) | undefined,
  ) {
    super()
    this.#iterator = iterator
    this.#length = length
    this.depth0 = depth0
    this.recurse = recurse
  }

  /** Moves to the next item; undefined at the end. */
  advance(): Value | undefined {
    const next = this.#ahead ?? this.#take()
    this.#ahead = undefined
    if (!next) return undefined
    this.index0++
    this.#previous = this.#current
    this.#current = next.value
    return next.value
  }

  /** The items not visited yet. */
  *rest(): Generator<Value> {
    for (let item = this.advance(); item !== undefined; item = this.advance()) {
      yield new Tuple([item, this])
    }
  }

  get length(): number {
    if (this.#length === undefined) {
      const rest: Value[] = []
      for (let next = this.#take(); next; next = this.#take()) rest.push(next.value)
      this.#length = rest.length + this.index0 + 1 + (this.#ahead ? 1 : 0)
      this.#iterator = rest[Symbol.iterator]()
    }
    return this.#length
  }

  get last(): boolean {
    return this.#peek() === undefined
  }

  get previous(): Value {
    return this.index0 === 0 ? new Undefined('there is no previous item') : this.#previous!
  }

  get next(): Value {
    return this.#peek()?.value ?? new Undefined('there is no next item')
  }

  /** Whether the values differ from those of the last call, by `equal`. */
  changed(values: Tuple, equal: (a: Value, b: Value) => boolean): boolean {
    if (this.#changedFor && equal(this.#changedFor, values)) return false
    this.#changedFor = values
    return true
  }

  #peek(): { value: Value } | undefined {
    this.#ahead ??= this.#take()
    return this.#ahead
  }

  #take(): { value: Value } | undefined {
    const next = this.#iterator.next()
    return next.done ? undefined : { value: next.value }
  }
}
