// Methods of strings.

import { bind, integerArgument, optionalText, textArgument } from './arguments.ts'
import { addTexts } from './arithmetic.ts'
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { formatBraces, type Lookup } from './format_braces.ts'
import { pad } from './format_percent.ts'
import { iterate } from './iterate.ts'
import { escapeHtml } from './markup.ts'
import { truthy } from './operators.ts'
import { concat, type Text, trustedText } from './text.ts'
import { capitalize, lower, mapCase, predicates, swapCase, title, upper } from './text_case.ts'
import { join, partition, replace, split, splitLines, strip } from './text_split.ts'
import { type Arguments, Dict, List, Native, Tuple, type Value } from './values.ts'

/** What a method may use besides its string and arguments. */
interface Context {
  readonly budget: Budget
  readonly lookup: Lookup
}

type Method = (text: Text, args: Arguments, context: Context) => Value

/** The bound method of a string; undefined when it has none of that name. */
export function textMethod(
  text: Text,
  name: string,
  budget: Budget,
  lookup: Lookup,
): Native | undefined {
  const method = methods.get(name)
  if (!method) return undefined
  return new Native(name, (args) => {
    budget.scan(text.value.length)
    return method(text, args, { budget, lookup })
  })
}

function mapping(name: string, map: (run: string) => string): [string, Method] {
  return [
    name,
    (text, args, { budget }) => {
      bind(name, args)
      budget.make(text.value.length)
      return mapCase(text, map)
    },
  ]
}

function stripping(name: string, left: boolean, right: boolean): [string, Method] {
  return [
    name,
    (text, args) => {
      const [set] = bind(name, args, 'chars?')
      return strip(text, optionalText(`${name} argument`, set), left, right)
    },
  ]
}

function splitting(name: string, fromRight: boolean): [string, Method] {
  return [
    name,
    (text, args, { budget }) => {
      const [separator, max] = bind(name, args, 'sep?', 'maxsplit?')
      const by = optionalText('separator', separator)
      return new List(split(text, by, integerArgument('maxsplit', max, -1), fromRight, budget))
    },
  ]
}

function partitioning(name: string, last: boolean): [string, Method] {
  return [
    name,
    (text, args, { budget }) => {
      const [separator] = bind(name, args, 'sep')
      return new Tuple(partition(text, textArgument('separator', separator), last, budget))
    },
  ]
}

function justifying(name: string, align: '<' | '>' | '^'): [string, Method] {
  return [
    name,
    (text, args, { budget }) => {
      const [width, fill] = bind(name, args, 'width', 'fillchar?')
      const size = integerArgument('width', width, 0)
      const filler = fill === undefined ? undefined : textArgument('fill character', fill)
      if (filler && filler.length !== 1) throw new Fault('the fill character must be one character')
      budget.make(Math.max(size, text.value.length))
      // Python's center puts the odd space on the left when the width is odd.
      const missing = size - text.length
      if (align !== '^' || missing % 2 === 0 || size % 2 === 0)
        return pad(text, size, align, filler)
      return pad(pad(text, text.length + (missing + 1) / 2, '>', filler), size, '<', filler)
    },
  ]
}

/** Offset of `part` between two code points given by `start` and `end`; -1 when absent. */
function find(text: Text, args: Arguments, name: string, budget: Budget, last = false): number {
  const [part, start, end] = bind(name, args, 'sub', 'start?', 'end?')
  const wanted = textArgument(`${name} argument`, part).value
  budget.search(text.value.length, wanted.length)
  const [from, to] = range(text, start, end)
  if (from > to) return -1
  const within = text.value.slice(from, to)
  const at = last ? within.lastIndexOf(wanted) : within.indexOf(wanted)
  return at < 0 ? -1 : text.index(from + at)
}

function range(text: Text, start: Value | undefined, end: Value | undefined): [number, number] {
  const { length } = text
  const place = (value: Value | undefined, fallback: number) => {
    const index = integerArgument('index', value, fallback)
    return index < 0 ? Math.max(0, index + length) : index
  }
  const from = place(start, 0)
  const to = Math.min(place(end, length), length)
  return from > length ? [1, 0] : [text.offset(from), text.offset(Math.min(to, length))]
}

function finding(name: string, last: boolean, required: boolean): [string, Method] {
  return [
    name,
    (text, args, { budget }) => {
      const at = find(text, args, name, budget, last)
      if (at < 0 && required) throw new Fault('substring not found')
      return BigInt(at)
    },
  ]
}

/** `startswith` and `endswith`, which also take a tuple of alternatives. */
function matching(name: string, test: (value: string, part: string) => boolean): [string, Method] {
  return [
    name,
    (text, args, { budget }) => {
      const [part, start, end] = bind(name, args, 'prefix', 'start?', 'end?')
      const [from, to] = range(text, start, end)
      const alternatives = part instanceof Tuple ? part.items : [part!]
      return alternatives.some((one) => {
        const { value } = textArgument(`${name} argument`, one)
        budget.scan(value.length)
        return from <= to && test(text.value.slice(from, to), value)
      })
    },
  ]
}

function removing(name: string, atEnd: boolean): [string, Method] {
  return [
    name,
    (text, args) => {
      const { value } = textArgument(`${name} argument`, bind(name, args, 'affix')[0])
      if (atEnd) {
        const found = value !== '' && text.value.endsWith(value)
        return found ? text.slice(0, text.value.length - value.length) : text
      }
      return text.value.startsWith(value) ? text.slice(value.length) : text
    },
  ]
}

function joinMethod(text: Text, args: Arguments, { budget }: Context): Value {
  const [items] = bind('join', args, 'iterable')
  const parts: Text[] = []
  for (const item of iterate(items!, budget)) {
    const part = textArgument('sequence item', item)
    budget.make(part.value.length + text.value.length)
    parts.push(text.safe ? escapeHtml(part) : part)
  }
  return join(parts, text, text.safe)
}

function replaceMethod(text: Text, args: Arguments, { budget }: Context): Value {
  const [old, fresh, count] = bind('replace', args, 'old', 'new', 'count?')
  const from = textArgument('replace argument 1', old)
  const to = textArgument('replace argument 2', fresh)
  const max = integerArgument('count', count, -1)
  return replace(text, from, text.safe ? escapeHtml(to) : to, max, budget)
}

function zfill(text: Text, args: Arguments, { budget }: Context): Value {
  const size = integerArgument('width', bind('zfill', args, 'width')[0], 0)
  budget.make(Math.max(size, text.value.length))
  const sign = /^[-+]?/.exec(text.value)![0].length
  const digits = pad(text.slice(sign), size - sign, '>', trustedText('0'))
  return concat([text.slice(0, sign), digits], text.safe)
}

function expandTabs(text: Text, args: Arguments, { budget }: Context): Value {
  const size = integerArgument('tabsize', bind('expandtabs', args, 'tabsize?')[0], 8)
  let column = 0
  let result = text.slice(0, 0)
  for (const piece of text.value.matchAll(/\t|[\n\r]|[^\t\n\r]+/g)) {
    const part = text.slice(piece.index, piece.index + piece[0].length)
    if (piece[0] === '\t') {
      const width = size > 0 ? size - (column % size) : 0
      budget.make(width)
      result = addTexts(result, trustedText(' '.repeat(width)).withSafe(text.safe), budget)
      column += width
    } else {
      result = addTexts(result, part, budget)
      column = piece[0] === '\n' || piece[0] === '\r' ? 0 : column + part.length
    }
  }
  return result
}

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  mapping('upper', upper),
  mapping('lower', lower),
  mapping('casefold', (run) => lower(run).replaceAll('ß', 'ss')),
  mapping('capitalize', capitalize),
  mapping('title', title),
  mapping('swapcase', swapCase),
  stripping('strip', true, true),
  stripping('lstrip', true, false),
  stripping('rstrip', false, true),
  splitting('split', false),
  splitting('rsplit', true),
  partitioning('partition', false),
  partitioning('rpartition', true),
  justifying('ljust', '<'),
  justifying('rjust', '>'),
  justifying('center', '^'),
  finding('find', false, false),
  finding('rfind', true, false),
  finding('index', false, true),
  finding('rindex', true, true),
  matching('startswith', (value, part) => value.startsWith(part)),
  matching('endswith', (value, part) => value.endsWith(part)),
  removing('removeprefix', false),
  removing('removesuffix', true),
  ['join', joinMethod],
  ['replace', replaceMethod],
  ['zfill', zfill],
  ['expandtabs', expandTabs],
  ...Object.entries(predicates).map(([name, test]): [string, Method] => [
    name,
    (text) => test(text.value),
  ]),
  [
    'count',
    (text, args, { budget }) => {
      const [part, start, end] = bind('count', args, 'sub', 'start?', 'end?')
      const wanted = textArgument('count argument', part)
      const [from, to] = range(text, start, end)
      if (from > to) return 0n
      const within = text.slice(from, to)
      if (wanted.value === '') return BigInt(within.length + 1)
      return BigInt(split(within, wanted, -1, false, budget).length - 1)
    },
  ],
  [
    'splitlines',
    (text, args, { budget }) => {
      const [keep] = bind('splitlines', args, 'keepends?')
      budget.make(text.value.length)
      return new List(splitLines(text, keep !== undefined && truthy(keep)))
    },
  ],
  ['format', (text, args, { budget, lookup }) => formatBraces(text, args, lookup, budget)],
  [
    'format_map',
    (text, args, { budget, lookup }) => {
      const [mapping] = bind('format_map', args, 'mapping')
      if (!(mapping instanceof Dict)) throw new Fault('format_map needs a mapping')
      const named = new Map<string, Value>()
      for (const [name, value] of mapping.entries.values()) {
        named.set(textArgument('key', name).value, value)
      }
      return formatBraces(text, { positional: [], named }, lookup, budget)
    },
  ],
])
