// Walking and measuring values the way Python's iter() and len() do.
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { Loop } from './loop.ts'
import { Text } from './text.ts'
import {
  Dict,
  Lazy,
  List,
  Range,
  Thing,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from './values.ts'

export function isIterable(value: Value): boolean {
  if (value instanceof Text) return true
  if (!(value instanceof Thing)) return false
  return (
    value instanceof List ||
    value instanceof Tuple ||
    value instanceof Dict ||
    value instanceof View ||
    value instanceof Range ||
    value instanceof Lazy ||
    value instanceof Loop ||
    value instanceof Undefined
  )
}

/** The items of a value, each counted as a step; faults for what cannot be iterated. */
export function iterate(value: Value, budget: Budget): Generator<Value> {
  return counted(plainIterator(value), budget)
}

/** All items in an array. */
export function toArray(value: Value, budget: Budget): Value[] {
  const result: Value[] = []
  for (const item of iterate(value, budget)) {
    budget.make(1)
    result.push(item)
  }
  return result
}

/** `len(value)`; undefined for what has no length. */
export function sizeOf(value: Value): bigint | undefined {
  if (value instanceof Text) return BigInt(value.length)
  if (value instanceof List || value instanceof Tuple) return BigInt(value.items.length)
  if (value instanceof Dict) return BigInt(value.entries.size)
  if (value instanceof View) return BigInt(value.dict.entries.size)
  if (value instanceof Range) return value.length
  if (value instanceof Loop) return BigInt(value.length)
  if (value instanceof Undefined) return 0n
  return undefined
}

function plainIterator(value: Value): Iterator<Value> {
  if (value instanceof List || value instanceof Tuple) return value.items[Symbol.iterator]()
  if (value instanceof Text) return value.withSafe(false).characters()
  if (value instanceof Dict) return new View('keys', value).items()
  if (value instanceof View) return value.items()
  if (value instanceof Range) return rangeItems(value)
  if (value instanceof Lazy) return value.iterator
  if (value instanceof Loop) return value.rest()
  if (value instanceof Undefined) return [][Symbol.iterator]()
  throw new Fault(`'${typeName(value)}' object is not iterable`)
}

function* rangeItems(range: Range): Generator<Value> {
  for (let i = 0n, n = range.length; i < n; i++) yield range.at(i)
}

function* counted(iterator: Iterator<Value>, budget: Budget): Generator<Value> {
  for (let next = iterator.next(); !next.done; next = iterator.next()) {
    budget.step()
    yield next.value
  }
}
