// Filters that make or change strings and numbers.

import { bind, integerArgument, optionalText, textArgument } from './arguments.ts'
import { addTexts, arithmetic } from './arithmetic.ts'
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { formatPercent } from './format_percent.ts'
import { toJson } from './json.ts'
import type { Filter, Machine } from './machine.ts'
import { escapeHtml } from './markup.ts'
import { textMethod } from './methods_text.ts'
import { toFixed } from './number_format.ts'
import { numeric, truthy } from './operators.ts'
import { toText } from './show.ts'
import { concat, Text, trustedText } from './text.ts'
import { capitalize, lower, mapCase, titleWords, upper } from './text_case.ts'
import { join, replace, splitLines, strip } from './text_split.ts'
import { type Arguments, Dict, requireDefined, Tuple, typeName, type Value } from './values.ts'

function mapping(name: string, map: (run: string) => string): [string, Filter] {
  return [
    name,
    (value, args, { budget }) => {
      bind(name, args)
      const text = toText(value, budget)
      budget.make(text.value.length)
      return mapCase(text, map)
    },
  ]
}

function replaceFilter(value: Value, args: Arguments, { budget }: Machine): Value {
  const [old, fresh, count] = bind('replace', args, 'old', 'new', 'count?')
  const text = toText(value, budget).withSafe(false)
  const max = integerArgument('count', count, -1)
  return replace(text, toText(old!, budget), toText(fresh!, budget), max, budget)
}

function indentFilter(value: Value, args: Arguments, { budget }: Machine): Value {
  const [width, first, blank] = bind('indent', args, 'width?', 'first?', 'blank?')
  const text = textArgument('indent', value)
  const size = width instanceof Text ? 0 : Math.max(0, integerArgument('width', width, 4))
  budget.make(size)
  const margin = width instanceof Text ? width : trustedText(' '.repeat(size))
  const indentBlank = blank !== undefined && truthy(blank)
  const lines = splitLines(addTexts(text, trustedText('\n').withSafe(text.safe), budget), false)
  budget.make(text.value.length + margin.value.length * lines.length)
  const shifted = lines.map((line, i) => {
    const skip = i === 0 || (line.value === '' && !indentBlank)
    return skip ? line : concat([margin, line])
  })
  if (first !== undefined && truthy(first)) shifted[0] = concat([margin, shifted[0]!])
  return join(shifted, trustedText('\n'), text.safe)
}

function truncateFilter(value: Value, args: Arguments, { budget }: Machine): Value {
  const [length, killWords, end, leeway] = bind(
    'truncate',
    args,
    'length?',
    'killwords?',
    'end?',
    'leeway?',
  )
  const text = textArgument('truncate', value)
  const most = integerArgument('length', length, 255)
  const tail = end === undefined ? trustedText('...') : textArgument('end', end)
  if (most < tail.length) throw new Fault(`expected length >= ${tail.length}, got ${most}`)
  if (text.length <= most + integerArgument('leeway', leeway, 5)) return text
  budget.make(most)
  const cut = text.slice(0, text.offset(most - tail.length))
  const space = cut.value.lastIndexOf(' ')
  const whole = (killWords !== undefined && truthy(killWords)) || space < 0
  return concat([whole ? cut : cut.slice(0, space), tail], text.safe)
}

/** Digits of an int literal: Python allows white space around and underscores within. */
function parseInteger(text: string, base: number): bigint | undefined {
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

function parseFloat_(text: string): number | undefined {
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
    const integer = parseInteger(value.value, integerArgument('base', base, 10))
    if (integer !== undefined) return integer
  }
  const number = value instanceof Text ? parseFloat_(value.value) : numeric(value)
  if (typeof number === 'bigint') return number
  if (number === undefined || !Number.isFinite(number)) return fallback ?? 0n
  return BigInt(Math.trunc(number))
}

function floatFilter(value: Value, args: Arguments): Value {
  const [fallback] = bind('float', args, 'default?')
  requireDefined(value)
  const number = value instanceof Text ? parseFloat_(value.value) : numeric(value)
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

function formatFilter(value: Value, args: Arguments, { budget }: Machine): Value {
  const format = toText(value, budget)
  if (args.named.size === 0) return formatPercent(format, new Tuple(args.positional), budget)
  if (args.positional.length > 0) throw new Fault('format takes positional or named arguments')
  const names = new Dict()
  for (const [name, item] of args.named) names.set(trustedText(name), item)
  return formatPercent(format, names, budget)
}

function centerFilter(value: Value, args: Arguments, { budget, lookup }: Machine): Value {
  const size = integerArgument('width', bind('center', args, 'width?')[0], 80)
  const center = textMethod(toText(value, budget), 'center', budget, lookup)!
  return center.call({ positional: [BigInt(size)], named: new Map() })
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

const escapeFilter = (value: Value, _: Arguments, { budget }: Machine) =>
  escapeHtml(measured(toText(value, budget), budget))

function measured(text: Text, budget: Budget): Text {
  budget.make(text.value.length * 5)
  return text
}

export const textFilters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  mapping('upper', upper),
  mapping('lower', lower),
  mapping('capitalize', capitalize),
  mapping('title', titleWords),
  ['replace', replaceFilter],
  ['indent', indentFilter],
  ['truncate', truncateFilter],
  ['int', intFilter],
  ['float', floatFilter],
  ['round', roundFilter],
  ['format', formatFilter],
  ['center', centerFilter],
  ['abs', absFilter],
  ['escape', escapeFilter],
  ['e', escapeFilter],
  ['forceescape', (value, _, machine) => escapeFilter(plain(value, machine), _, machine)],
  ['safe', (value, _, { budget }) => toText(value, budget).withSafe(true)],
  ['string', (value, _, { budget }) => toText(value, budget)],
  ['tojson', (value, args, { budget }) => toJson(value, args, budget)],
  [
    'trim',
    (value, args, { budget }) => {
      const chars = optionalText('trim argument', bind('trim', args, 'chars?')[0])
      return strip(toText(value, budget), chars, true, true)
    },
  ],
  [
    'wordcount',
    (value, _, { budget }) => {
      const text = toText(value, budget)
      budget.scan(text.value.length)
      return BigInt(text.value.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0)
    },
  ],
])

function plain(value: Value, { budget }: Machine): Text {
  return toText(value, budget).withSafe(false)
}
