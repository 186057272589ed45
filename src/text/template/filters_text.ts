// Filters that make or change strings.

import { bind, integerArgument, optionalText, textArgument } from './arguments.ts'
import { addTexts } from './arithmetic.ts'
import { Fault } from './fault.ts'
import { formatPercent } from './format_percent.ts'
import { toJson } from './json.ts'
import type { Filter, Machine } from './machine.ts'
import { escapeHtml } from './markup.ts'
import { textMethod } from './methods_text.ts'
import { truthy } from './operators.ts'
import { toText } from './show.ts'
import { concat, Text, trustedText } from './text.ts'
import { capitalize, lower, mapCase, titleWords, upper } from './text_case.ts'
import { join, replace, splitLines, strip } from './text_split.ts'
import { type Arguments, Dict, Tuple, type Value } from './values.ts'

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

/** Text that is already safe stays as it is, unless `force` asks for escaping all the same. */
function escapeFilter(name: string, force: boolean): [string, Filter] {
  return [
    name,
    (value, args, { budget }) => {
      bind(name, args)
      const text = toText(value, budget)
      budget.make(text.value.length * 5)
      return escapeHtml(force ? text.withSafe(false) : text)
    },
  ]
}

export const textFilters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  mapping('upper', upper),
  mapping('lower', lower),
  mapping('capitalize', capitalize),
  mapping('title', titleWords),
  ['replace', replaceFilter],
  ['indent', indentFilter],
  ['truncate', truncateFilter],
  ['format', formatFilter],
  ['center', centerFilter],
  escapeFilter('escape', false),
  escapeFilter('e', false),
  escapeFilter('forceescape', true),
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
