// + - * / // % ** and the unary signs, with Python's number and sequence rules.
import type { BinaryOperator } from './ast.ts'
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { formatPercent } from './format_percent.ts'
import { escapeHtml } from './markup.ts'
import { numeric } from './operators.ts'
import { concat, Text } from './text.ts'
import { asInteger, List, requireDefined, Tuple, typeName, type Value } from './values.ts'

/** Bits of an int a template may compute with: far beyond any use, small enough to be quick. */
const intBitsMax = 1 << 16

export function arithmetic(
  operator: BinaryOperator,
  left: Value,
  right: Value,
  budget: Budget,
): Value {
  const a = numeric(left)
  const b = numeric(right)
  if (a !== undefined && b !== undefined) return numbers(operator, a, b)
  const sequence = sequences(operator, left, right, budget)
  if (sequence !== undefined) return sequence
  requireDefined(left)
  requireDefined(right)
  if (operator === '+' && (left instanceof Text || right instanceof Text)) {
    const other = left instanceof Text ? right : left
    throw new Fault(`can only concatenate str (not "${typeName(other)}") to str; use ~ instead`)
  }
  const types = `'${typeName(left)}' and '${typeName(right)}'`
  throw new Fault(`unsupported operand type(s) for ${operator}: ${types}`)
}

export function negate(value: Value, sign: '+' | '-'): Value {
  const number = numeric(value)
  if (number === undefined) {
    requireDefined(value)
    throw new Fault(`bad operand type for unary ${sign}: '${typeName(value)}'`)
  }
  return sign === '-' ? -number : number
}

function numbers(operator: BinaryOperator, a: bigint | number, b: bigint | number): Value {
  if (operator === '**') return power(a, b)
  if (!b && operator !== '+' && operator !== '-' && operator !== '*') {
    throw new Fault('division by zero')
  }
  if (typeof a === 'bigint' && typeof b === 'bigint') return integers(operator, a, b)
  return floats(operator, Number(a), Number(b))
}

function integers(operator: BinaryOperator, a: bigint, b: bigint): Value {
  switch (operator) {
    case '+':
      return bounded(a + b)
    case '-':
      return bounded(a - b)
    case '*':
      return bounded(a * b)
    case '/':
      return Number(a) / Number(b)
    case '//':
      return a / b - (a % b !== 0n && a < 0n !== b < 0n ? 1n : 0n)
    default: {
      const rest = a % b
      return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest
    }
  }
}

function floats(operator: BinaryOperator, a: number, b: number): number {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '//':
      return Math.floor((a - floats('%', a, b)) / b + 0.5)
    default: {
      const rest = a % b
      return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest
    }
  }
}

function power(a: bigint | number, b: bigint | number): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint' && b >= 0n) {
    const bits = BigInt(a.toString(2).length) * b
    if (a !== 0n && a !== 1n && a !== -1n && bits > intBitsMax) throw tooLarge()
    return a ** b
  }
  const base = Number(a)
  const exponent = Number(b)
  if (base === 0 && exponent < 0) throw new Fault('0 cannot be raised to a negative power')
  if (base < 0 && !Number.isInteger(exponent)) throw new Fault('complex numbers are not supported')
  return base ** exponent
}

/** An operand has at most `intBitsMax` bits, so a product is made before it is refused. */
function bounded(value: bigint): bigint {
  if (BigInt.asIntN(intBitsMax, value) !== value) throw tooLarge()
  return value
}

function tooLarge(): Fault {
  return new Fault(`an int of more than ${intBitsMax} bits`)
}

function sequences(
  operator: BinaryOperator,
  left: Value,
  right: Value,
  budget: Budget,
): Value | undefined {
  if (operator === '%' && left instanceof Text) return formatPercent(left, right, budget)
  if (operator === '+') return joined(left, right, budget)
  if (operator !== '*') return undefined
  const count = asInteger(right) ?? asInteger(left)
  const sequence = asInteger(right) === undefined ? right : left
  return count === undefined ? undefined : repeated(sequence, count, budget)
}

function joined(left: Value, right: Value, budget: Budget): Value | undefined {
  if (left instanceof Text && right instanceof Text) return addTexts(left, right, budget)
  const lists = left instanceof List && right instanceof List
  if (!lists && !(left instanceof Tuple && right instanceof Tuple)) return undefined
  const items = [...left.items, ...(right as List | Tuple).items]
  budget.make(items.length)
  return lists ? new List(items) : new Tuple(items)
}

/** Joining `Markup` and plain text escapes the plain part. */
export function addTexts(left: Text, right: Text, budget: Budget): Text {
  budget.make(left.value.length + right.value.length)
  const safe = left.safe || right.safe
  if (!safe) return concat([left, right])
  return concat([escapeHtml(left), escapeHtml(right)], true)
}

/** `sequence * count`. */
export function repeated(sequence: Value, count: bigint, budget: Budget): Value | undefined {
  const times = count > 0n ? Number(count) : 0
  if (sequence instanceof Text) {
    budget.make(sequence.value.length * times)
    return concat(repeatItems([sequence], sequence.value === '' ? 0 : times), sequence.safe)
  }
  if (!(sequence instanceof List || sequence instanceof Tuple)) return undefined
  budget.make(sequence.items.length * times)
  const items = repeatItems(sequence.items, sequence.items.length === 0 ? 0 : times)
  return sequence instanceof List ? new List(items) : new Tuple(items)
}

function repeatItems<T>(items: readonly T[], times: number): T[] {
  return Array.from({ length: items.length * times }, (_, i) => items[i % items.length]!)
}
