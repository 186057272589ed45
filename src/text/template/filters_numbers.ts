// Filters that make or change numbers.
import { bind, integerArgument, optionalText } from './arguments.ts'
import { arithmetic } from './arithmetic.ts'
import { Fault } from './fault.ts'
import type { Filter, Machine } from './machine.ts'
import { toFixed } from './number_format.ts'
import { numeric } from './operators.ts'
import { Text } from './text.ts'
import { type Arguments, requireDefined, typeName, type Value } from './values.ts'

/** Digits of an int literal: Python allows white space around and underscores within. */
function integerOf(text: string, base: number): bigint | undefined {
  const match = /^([-+]?)(0[bB]|0[oO]|0[xX])?_?([\da-zA-Z]+(?:_[\da-zA-Z]+)*)$/.exec(text.trim())
  if (!match || match[3]!.length > 4300) return undefined
  const named = { b: 2, o: 8, x: 16 }[match[2]?.[1]?.toLowerCase() ?? '']
  const radix = base === 0 ? (named ?? 10) : base
  if (named !== undefined && named !== radix) return undefined
  let result = 0n
  for (const digit of match[3]!.replaceAll('_', '')) {
    const number = Number.parseInt(digit, 36)
    if (number >= radix) return undefined
    result = result * BigInt(radix) + BigInt(number)
  }
  return match[1] === '-' ? -result : result
}

function floatOf(text: string): number | undefined {
  const trimmed = text.trim().replace(/(?<=\d)_(?=\d)/g, '')
  const named = /^([-+]?)(inf|infinity|nan)$/i.exec(trimmed)
  if (named) {
    const size = named[2]!.toLowerCase() === 'nan' ? Number.NaN : Number.POSITIVE_INFINITY
    return named[1] === '-' ? -size : size
  }
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(trimmed) ? Number(trimmed) : undefined
}

function intFilter(value: Value, args: Arguments): Value {
  const [fallback, base] = bind('int', args, 'default?', 'base?')
  requireDefined(value)
  if (value instanceof Text) {
    const integer = integerOf(value.value, integerArgument('base', base, 10))
    if (integer !== undefined) return integer
  }
  const number = value instanceof Text ? floatOf(value.value) : numeric(value)
  if (typeof number === 'bigint') return number
  if (number === undefined || !Number.isFinite(number)) return fallback ?? 0n
  return BigInt(Math.trunc(number))
}

function floatFilter(value: Value, args: Arguments): Value {
  const [fallback] = bind('float', args, 'default?')
  requireDefined(value)
  const number = value instanceof Text ? floatOf(value.value) : numeric(value)
  return number === undefined ? (fallback ?? 0) : Number(number)
}

function roundFilter(value: Value, args: Arguments, { budget }: Machine): Value {
  const [precision, method] = bind('round', args, 'precision?', 'method?')
  const digits = integerArgument('precision', precision, 0)
  const way = optionalText('method', method)?.value ?? 'common'
  if (Math.abs(digits) > 400) throw new Fault('precision must lie between -400 and 400')
  const number = numeric(value)
  if (number === undefined) throw new Fault(`cannot round a ${typeName(value)}`)
  if (way === 'common') return roundHalfEven(number, digits)
  if (way !== 'ceil' && way !== 'floor') throw new Fault('method must be common, ceil or floor')
  const scale = arithmetic('**', 10n, BigInt(digits), budget)
  const scaled = arithmetic('*', number, scale, budget)
  const whole = typeof scaled === 'number' ? BigInt(Math[way](scaled)) : scaled
  return arithmetic('/', whole, scale, budget)
}

function roundHalfEven(number: bigint | number, digits: number): Value {
  if (typeof number === 'bigint') return digits >= 0 ? number : roundInteger(number, -digits)
  if (!Number.isFinite(number) || digits > 22) return number
  if (digits >= 0) return Number(toFixed(number, digits))
  const scale = 10 ** -digits
  return Number(toFixed(number / scale, 0)) * scale
}

function roundInteger(number: bigint, zeros: number): bigint {
  const scale = 10n ** BigInt(zeros)
  const rest = ((number % scale) + scale) % scale
  const down = number - rest
  const up = rest * 2n > scale || (rest * 2n === scale && (down / scale) % 2n !== 0n)
  return up ? down + scale : down
}

function absFilter(value: Value, args: Arguments): Value {
  bind('abs', args)
  const number = numeric(value)
  if (number === undefined) {
    requireDefined(value)
    throw new Fault(`bad operand type for abs(): '${typeName(value)}'`)
  }
  return number < 0 ? -number : number
}

export const numberFilters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['int', intFilter],
  ['float', floatFilter],
  ['round', roundFilter],
  ['abs', absFilter],
])
