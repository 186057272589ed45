// `a.b`, `a[b]` and `a[b:c]`: Jinja tries attributes and items, each in its own order.
import { integerArgument } from './arguments.ts'
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import type { Lookup } from './format_braces.ts'
import { attributeOf } from './methods_containers.ts'
import { textMethod } from './methods_text.ts'
import { quoteName } from './show.ts'
import { concat, Text } from './text.ts'
import {
  asInteger,
  Dict,
  List,
  none,
  Range,
  requireDefined,
  Thing,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts'

export class Lookups implements Lookup {
  readonly #budget: Budget

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** `object.name`: a method or attribute first, then a key. */
  attribute(object: Value, name: string): Value {
    requireDefined(object)
    const found = this.#own(object, name)
    if (found !== undefined) return found
    const item = object instanceof Dict ? object.named(name) : undefined
    return item ?? missing(object, `attribute ${quoteName(name)}`)
  }

  /** `object[index]`: a key or position first, then a method or attribute. */
  item(object: Value, index: Value): Value {
    requireDefined(object)
    const found = this.#at(object, index)
    if (found !== undefined) return found
    if (index instanceof Text) {
      return (
        this.#own(object, index.value) ?? missing(object, `attribute ${quoteName(index.value)}`)
      )
    }
    return missing(object, `element ${index instanceof Thing ? typeName(index) : String(index)}`)
  }

  #own(object: Value, name: string): Value | undefined {
    if (object instanceof Text) return textMethod(object, name, this.#budget, this)
    return attributeOf(object, name, this.#budget)
  }

  #at(object: Value, index: Value): Value | undefined {
    if (object instanceof Dict) {
      const unhashable = index instanceof List || index instanceof Dict
      return unhashable ? undefined : object.get(index)
    }
    const position = asInteger(index)
    if (position === undefined) return undefined
    const size = lengthOf(object)
    const at = position < 0n ? position + (size ?? 0n) : position
    if (size === undefined || at < 0n || at >= size) return undefined
    if (object instanceof Range) return object.at(at)
    if (object instanceof Text) return characterAt(object, Number(at))
    return (object as List | Tuple).items[Number(at)]
  }

  /** `object[start:stop:step]`. */
  slice(object: Value, start: Value, stop: Value, step: Value): Value {
    requireDefined(object)
    const stride = integerArgument('slice step', step, 1)
    if (stride === 0) throw new Fault('slice step cannot be zero')
    const size = lengthOf(object)
    if (size === undefined) throw new Fault(`'${typeName(object)}' object cannot be sliced`)
    const [from, to] = bounds(start, stop, stride, Number(size))
    const count = Math.max(0, Math.ceil((to - from) / stride))
    if (object instanceof Range) {
      const at = (index: number) => object.at(BigInt(index))
      return new Range(at(from), at(to), object.step * BigInt(stride))
    }
    this.#budget.make(count)
    this.#budget.scan(count)
    if (object instanceof Text) return sliceText(object, from, to, stride, count)
    const { items } = object as List | Tuple
    const taken =
      stride === 1
        ? items.slice(from, Math.max(from, to))
        : Array.from({ length: count }, (_, i) => items[from + i * stride]!)
    return object instanceof List ? new List(taken) : new Tuple(taken)
  }
}

function lengthOf(object: Value): bigint | undefined {
  if (object instanceof Text) return BigInt(object.length)
  if (object instanceof List || object instanceof Tuple) return BigInt(object.items.length)
  return object instanceof Range ? object.length : undefined
}

/** First index taken and the one not reached, within the sequence. */
function bounds(start: Value, stop: Value, stride: number, size: number): [number, number] {
  const lowest = stride > 0 ? 0 : -1
  const highest = stride > 0 ? size : size - 1
  const place = (value: Value, fallback: number) => {
    if (value === none) return fallback
    const index = integerArgument('slice index', value, 0)
    return Math.max(lowest, Math.min(highest, index < 0 ? index + size : index))
  }
  return stride > 0
    ? [place(start, lowest), place(stop, highest)]
    : [place(start, highest), place(stop, lowest)]
}

function sliceText(text: Text, from: number, to: number, stride: number, count: number): Text {
  if (stride === 1) return text.slice(text.offset(from), text.offset(Math.max(from, to)))
  const characters = Array.from({ length: count }, (_, i) => characterAt(text, from + i * stride))
  return concat(characters, text.safe)
}

function characterAt(text: Text, index: number): Text {
  return text.slice(text.offset(index), text.offset(index + 1))
}

function missing(object: Value, what: string): Undefined {
  const owner = object === none ? 'None' : `'${typeName(object)} object'`
  return new Undefined(`${owner} has no ${what}`)
}
