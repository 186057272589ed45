// Truth, equality, order and membership of values, as Python decides them.
import type { CompareOperator } from './ast.ts'
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { iterate, sizeOf } from './iterate.ts'
import { Text } from './text.ts'
import {
  asInteger,
  Dict,
  List,
  Namespace,
  none,
  Range,
  requireDefined,
  Thing,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from './values.ts'

export function truthy(value: Value): boolean {
  if (value === none) return false
  if (typeof value === 'boolean') return value
  if (typeof value === 'bigint') return value !== 0n
  if (typeof value === 'number') return value !== 0
  if (value instanceof Text) return value.value !== ''
  if (value instanceof Namespace) return true
  const size = sizeOf(value)
  return size === undefined || size !== 0n
}

export function equal(left: Value, right: Value, budget: Budget): boolean {
  budget.step()
  if (left === right) return true
  if (left instanceof Text || right instanceof Text) {
    if (!(left instanceof Text && right instanceof Text)) return false
    if (left.value.length !== right.value.length) return false
    budget.scan(left.value.length)
    return left.value === right.value
  }
  if (!(left instanceof Thing) || !(right instanceof Thing)) return equalNumbers(left, right)
  budget.enter()
  const result = equalThings(left, right, budget)
  budget.leave()
  return result
}

function equalNumbers(left: Value, right: Value): boolean {
  const a = numeric(left)
  const b = numeric(right)
  // Order compares a bigint and a number by value, exactly; strict equality never holds for them.
  return a !== undefined && b !== undefined && a <= b && a >= b
}

function equalThings(left: Thing, right: Thing, budget: Budget): boolean {
  if (left instanceof Undefined) return right instanceof Undefined
  if (left instanceof List && right instanceof List) {
    return equalItems(left.items, right.items, budget)
  }
  if (left instanceof Tuple && right instanceof Tuple) {
    return equalItems(left.items, right.items, budget)
  }
  if (left instanceof Range && right instanceof Range) {
    const length = left.length
    if (length !== right.length) return false
    if (length === 0n) return true
    return left.start === right.start && (length === 1n || left.step === right.step)
  }
  if (left instanceof View && right instanceof View) return equalViews(left, right, budget)
  return left instanceof Dict && right instanceof Dict && equalDicts(left, right, budget)
}

function equalItems(left: readonly Value[], right: readonly Value[], budget: Budget): boolean {
  return left.length === right.length && left.every((item, i) => equal(item, right[i]!, budget))
}

function equalDicts(left: Dict, right: Dict, budget: Budget): boolean {
  if (left.entries.size !== right.entries.size) return false
  for (const [key, [, value]] of left.entries) {
    const other = right.entries.get(key)
    if (!other || !equal(value, other[1], budget)) return false
  }
  return true
}

/** Keys and items compare as sets; values only with themselves. */
function equalViews(left: View, right: View, budget: Budget): boolean {
  if (left.kind !== right.kind || left.kind === 'values') return false
  if (left.kind === 'items') return equalDicts(left.dict, right.dict, budget)
  if (left.dict.entries.size !== right.dict.entries.size) return false
  for (const key of left.dict.entries.keys()) if (!right.dict.entries.has(key)) return false
  return true
}

/** Ints, floats and bools as JavaScript numbers or bigints. */
export function numeric(value: Value): bigint | number | undefined {
  return typeof value === 'number' ? value : asInteger(value)
}

/** `left operator right`, one link of a chain. */
export function compare(
  operator: CompareOperator,
  left: Value,
  right: Value,
  budget: Budget,
): boolean {
  switch (operator) {
    case '==':
      return equal(left, right, budget)
    case '!=':
      return !equal(left, right, budget)
    case 'in':
      return contains(right, left, budget)
    case 'not in':
      return !contains(right, left, budget)
    default:
      return ordered(operator, left, right, budget)
  }
}

type OrderOperator = '<' | '<=' | '>' | '>='

function ordered(operator: OrderOperator, left: Value, right: Value, budget: Budget): boolean {
  const a = numeric(left)
  const b = numeric(right)
  // Directly, since every order with NaN is false.
  if (a !== undefined && b !== undefined) return holds(operator, a, b)
  return holds(operator, order(left, right, budget, operator), 0)
}

function holds(operator: OrderOperator, a: bigint | number, b: bigint | number): boolean {
  if (operator === '<') return a < b
  if (operator === '<=') return a <= b
  return operator === '>' ? a > b : a >= b
}

/** Negative, zero or positive; a fault that names `operator` for what Python does not order. */
export function order(left: Value, right: Value, budget: Budget, operator = '<'): number {
  budget.step()
  const a = numeric(left)
  const b = numeric(right)
  if (a !== undefined && b !== undefined) return a < b ? -1 : a > b ? 1 : 0
  if (left instanceof Text && right instanceof Text) {
    budget.scan(Math.min(left.value.length, right.value.length))
    return orderText(left.value, right.value)
  }
  const lists = left instanceof List && right instanceof List
  if (lists || (left instanceof Tuple && right instanceof Tuple)) {
    budget.enter()
    const result = orderItems(left.items, (right as List | Tuple).items, budget, operator)
    budget.leave()
    return result
  }
  requireDefined(left)
  requireDefined(right)
  const types = `'${typeName(left)}' and '${typeName(right)}'`
  throw new Fault(`'${operator}' not supported between instances of ${types}`)
}

/** By code point: UTF-16 order differs beyond the basic plane. */
function orderText(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  let i = 0
  while (i < length && left.charCodeAt(i) === right.charCodeAt(i)) i++
  if (i === length) return left.length - right.length
  const a = left.charCodeAt(i)
  const b = right.charCodeAt(i)
  const surrogates = Number(isSurrogate(a)) - Number(isSurrogate(b))
  return surrogates !== 0 ? surrogates : a - b
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xe000
}

function orderItems(
  left: readonly Value[],
  right: readonly Value[],
  budget: Budget,
  operator: string,
): number {
  const length = Math.min(left.length, right.length)
  for (let i = 0; i < length; i++) {
    if (!equal(left[i]!, right[i]!, budget)) return order(left[i]!, right[i]!, budget, operator)
  }
  return left.length - right.length
}

/** `item in container`. */
export function contains(container: Value, item: Value, budget: Budget): boolean {
  if (container instanceof Text) {
    if (item instanceof Text) {
      budget.search(container.value.length, item.value.length)
      return container.value.includes(item.value)
    }
    requireDefined(item)
    throw new Fault(`'in <string>' requires string as left operand, not ${typeName(item)}`)
  }
  if (container instanceof Dict) return container.get(item) !== undefined
  if (container instanceof View && container.kind === 'keys') {
    return container.dict.get(item) !== undefined
  }
  if (container instanceof Range) return rangeContains(container, item)
  if (!(container instanceof Thing)) {
    throw new Fault(`argument of type '${typeName(container)}' is not iterable`)
  }
  for (const other of iterate(container, budget)) if (equal(other, item, budget)) return true
  return false
}

function rangeContains(range: Range, item: Value): boolean {
  const number = numeric(item)
  if (number === undefined || !(Number.isInteger(number) || typeof number === 'bigint'))
    return false
  const distance = BigInt(number) - range.start
  const index = distance / range.step
  return distance % range.step === 0n && index >= 0n && index < range.length
}
