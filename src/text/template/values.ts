// The values of a render, with Python's types: int is a bigint, float a number, str a `Text`.
import { Fault } from './fault.ts'
import { type Text, trustedText } from './text.ts'

export type Value = boolean | bigint | number | Text | Thing

/** Arguments of a call, as written: `f(1, 2, key=3)`. */
export interface Arguments {
  readonly positional: readonly Value[]
  readonly named: ReadonlyMap<string, Value>
}

/** Everything that is not a scalar; `instanceof` tells the kinds apart. */
export abstract class Thing {
  /** Python's name of the type, as its error messages give it. */
  abstract readonly type: string
}

class None extends Thing {
  readonly type = 'NoneType'
}

/** Python's None; an object of its own, so that `??` never takes it for something missing. */
export const none: Thing = new None()

/** Whether an optional argument was given and is not None. */
export function given(value: Value | undefined): value is Value {
  return value !== undefined && value !== none
}

/** A name or attribute that is not there; only some uses of it are errors. */
export class Undefined extends Thing {
  readonly type = 'Undefined'
  /** What to say when it is used in a way that needs a value. */
  readonly problem: string

  constructor(problem: string) {
    super()
    this.problem = problem
  }
}

export class List extends Thing {
  readonly type = 'list'
  readonly items: readonly Value[]

  constructor(items: readonly Value[]) {
    super()
    this.items = items
  }
}

export class Tuple extends Thing {
  readonly type: string = 'tuple'
  readonly items: readonly Value[]

  constructor(items: readonly Value[]) {
    super()
    this.items = items
  }
}

/** One group of the `groupby` filter: a pair whose parts also have names. */
export class Group extends Tuple {
  override readonly type = '_GroupTuple'
}

/** A dict keeps its keys in order of insertion; `key` makes values into keys. */
export class Dict extends Thing {
  readonly type = 'dict'
  readonly entries = new Map<Key, readonly [key: Value, value: Value]>()

  set(name: Value, value: Value): void {
    const at = key(name)
    const old = this.entries.get(at)
    this.entries.set(at, [old ? old[0] : name, value])
  }

  get(name: Value): Value | undefined {
    return this.entries.get(key(name))?.[1]
  }

  /** Looks up a key that is a string. */
  named(name: string): Value | undefined {
    return this.entries.get(textKey(name))?.[1]
  }
}

/** What `d.keys()`, `d.values()` and `d.items()` return. */
export class View extends Thing {
  readonly type: string
  readonly kind: 'keys' | 'values' | 'items'
  readonly dict: Dict

  constructor(kind: 'keys' | 'values' | 'items', dict: Dict) {
    super()
    this.type = `dict_${kind}`
    this.kind = kind
    this.dict = dict
  }

  *items(): Generator<Value> {
    for (const [name, value] of this.dict.entries.values()) {
      if (this.kind === 'keys') yield name
      else if (this.kind === 'values') yield value
      else yield new Tuple([name, value])
    }
  }
}

/** `range(start, stop, step)`, never laid out; `step` is not zero. */
export class Range extends Thing {
  readonly type = 'range'
  readonly start: bigint
  readonly stop: bigint
  readonly step: bigint

  constructor(start: bigint, stop: bigint, step: bigint) {
    super()
    this.start = start
    this.stop = stop
    this.step = step
  }

  get length(): bigint {
    const span = this.step > 0n ? this.stop - this.start : this.start - this.stop
    const stride = this.step > 0n ? this.step : -this.step
    return span <= 0n ? 0n : (span + stride - 1n) / stride
  }

  at(index: bigint): bigint {
    return this.start + index * this.step
  }
}

/** A one-shot iterator, as `map` and `select` return: it has no length and is empty afterwards. */
export class Lazy extends Thing {
  readonly type: string
  readonly iterator: Iterator<Value>

  constructor(iterator: Iterator<Value>, type = 'generator') {
    super()
    this.type = type
    this.iterator = iterator
  }
}

/** `namespace(…)`: the one value whose attributes a template may assign. */
export class Namespace extends Thing {
  readonly type = 'Namespace'
  readonly attributes = new Map<string, Value>()
}

/** A function or bound method. */
export class Native extends Thing {
  readonly type: string = 'builtin_function_or_method'
  readonly name: string
  readonly call: (args: Arguments) => Value

  constructor(name: string, call: (args: Arguments) => Value) {
    super()
    this.name = name
    this.call = call
  }
}

/** A macro, or the `caller` of a call block. */
export class Macro extends Native {
  override readonly type = 'Macro'
  readonly parameters: readonly string[]

  constructor(name: string, parameters: readonly string[], call: (args: Arguments) => Value) {
    super(name, call)
    this.parameters = parameters
  }
}

/** A dict key: equal values have the same key, as 1, 1.0 and True do in Python. */
export type Key = string | bigint | number | null

const tupleMark = '\u0000'

function textKey(text: string): Key {
  return text.startsWith(tupleMark) ? `${tupleMark}s${text}` : text
}

/** The key of a value; lists and dicts have none. */
export function key(value: Value): Key {
  if (value === none) return null
  if (typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (!(value instanceof Thing)) return textKey(value.value)
  if (value instanceof Tuple) {
    const parts = value.items.map((item) => {
      const part = key(item)
      return [typeof part, String(part)]
    })
    return `${tupleMark}t${JSON.stringify(parts)}`
  }
  if (value instanceof Undefined) return `${tupleMark}u`
  throw new Fault(`unhashable type: '${value.type}'`)
}

/** Python's name of a value's type. */
export function typeName(value: Value): string {
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'int'
  if (typeof value === 'number') return 'float'
  if (value instanceof Thing) return value.type
  return value.safe ? 'Markup' : 'str'
}

export const emptyText = trustedText('')

/** Ints and bools, as an int; undefined for anything else. */
export function asInteger(value: Value | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1n : 0n
  return undefined
}

/** Raises the fault of an undefined value; returns quietly for others. */
export function requireDefined(value: Value): void {
  if (value instanceof Undefined) throw new Fault(value.problem)
}
