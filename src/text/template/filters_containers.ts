// Filters that order, group, join or measure items.

import { bind, integerArgument, textArgument } from './arguments.ts'
import { arithmetic } from './arithmetic.ts'
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { attributeGetter, folded, type Getter, optionalGetter } from './getters.ts'
import { iterate, sizeOf, toArray } from './iterate.ts'
import type { Filter, Machine } from './machine.ts'
import { equal, order, truthy } from './operators.ts'
import { toText } from './show.ts'
import { Builder, Text, trustedText } from './text.ts'
import {
  type Arguments,
  Dict,
  Group,
  given,
  type Key,
  key,
  Lazy,
  List,
  none,
  requireDefined,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from './values.ts'

function joinFilter(value: Value, args: Arguments, machine: Machine): Value {
  const [separator, attribute] = bind('join', args, 'd?', 'attribute?')
  const get = optionalGetter(attribute, machine)
  const between = toText(separator ?? trustedText(''), machine.budget)
  const out = new Builder()
  let first = true
  for (const item of iterate(value, machine.budget)) {
    const text = toText(get(item), machine.budget)
    machine.budget.make(text.value.length + between.value.length)
    if (!first) out.add(between)
    out.add(text)
    first = false
  }
  return out.build()
}

function firstFilter(value: Value, _: Arguments, { budget }: Machine): Value {
  const next = iterate(value, budget).next()
  return next.done ? new Undefined('No first item, sequence was empty.') : next.value
}

function lastFilter(value: Value, _: Arguments, { budget }: Machine): Value {
  if (value instanceof Lazy) throw new Fault(`'${value.type}' object is not reversible`)
  const items = toArray(value, budget)
  if (items.length === 0) return new Undefined('No last item, sequence was empty.')
  return items[items.length - 1]!
}

function sortItems(items: Value[], keyOf: Getter, reverse: boolean, budget: Budget): Value[] {
  const keyed = items.map((item) => ({ item, key: keyOf(item) }))
  // Reversed order keeps equal items in their first order, as Python's stable sort does.
  keyed.sort((a, b) => (reverse ? order(b.key, a.key, budget) : order(a.key, b.key, budget)))
  return keyed.map(({ item }) => item)
}

function sortFilter(value: Value, args: Arguments, machine: Machine): Value {
  const [reverse, sensitive, attribute] = bind(
    'sort',
    args,
    'reverse?',
    'case_sensitive?',
    'attribute?',
  )
  const names =
    attribute instanceof Text ? attribute.value.split(',').map(trustedText) : [attribute]
  const getters = names.map((name) => optionalGetter(name, machine))
  const keyOf = (item: Value) => new Tuple(getters.map((get) => folded(get(item), sensitive)))
  const items = toArray(value, machine.budget)
  return new List(sortItems(items, keyOf, reverse !== undefined && truthy(reverse), machine.budget))
}

function dictSortFilter(value: Value, args: Arguments, { budget }: Machine): Value {
  const [sensitive, by, reverse] = bind('dictsort', args, 'case_sensitive?', 'by?', 'reverse?')
  const part = by === undefined ? 'key' : textArgument('by', by).value
  if (part !== 'key' && part !== 'value') throw new Fault("by must be 'key' or 'value'")
  requireDefined(value)
  if (!(value instanceof Dict)) throw new Fault(`'${typeName(value)}' object has no items`)
  const items = [...new View('items', value).items()]
  budget.make(items.length)
  const index = part === 'key' ? 0 : 1
  const keyOf = (item: Value) => folded((item as Tuple).items[index]!, sensitive)
  return new List(sortItems(items, keyOf, reverse !== undefined && truthy(reverse), budget))
}

function uniqueFilter(value: Value, args: Arguments, machine: Machine): Value {
  const [sensitive, attribute] = bind('unique', args, 'case_sensitive?', 'attribute?')
  const get = optionalGetter(attribute, machine)
  return new Lazy(
    (function* () {
      const seen = new Set<Key>()
      for (const item of iterate(value, machine.budget)) {
        const mark = key(folded(get(item), sensitive))
        if (seen.has(mark)) continue
        seen.add(mark)
        yield item
      }
    })(),
  )
}

function extreme(name: string, sign: 1 | -1): [string, Filter] {
  return [
    name,
    (value, args, machine) => {
      const [sensitive, attribute] = bind(name, args, 'case_sensitive?', 'attribute?')
      const get = optionalGetter(attribute, machine)
      let best: { item: Value; key: Value } | undefined
      for (const item of iterate(value, machine.budget)) {
        const candidate = { item, key: folded(get(item), sensitive) }
        if (best === undefined || sign * order(candidate.key, best.key, machine.budget) > 0) {
          best = candidate
        }
      }
      return best ? best.item : new Undefined('No aggregated item, sequence was empty.')
    },
  ]
}

function sumFilter(value: Value, args: Arguments, machine: Machine): Value {
  const [attribute, start] = bind('sum', args, 'attribute?', 'start?')
  const get = optionalGetter(attribute, machine)
  if (start instanceof Text) throw new Fault("sum() can't sum strings; use join instead")
  let total: Value = start ?? 0n
  for (const item of iterate(value, machine.budget)) {
    total = arithmetic('+', total, get(item), machine.budget)
  }
  return total
}

function groupByFilter(value: Value, args: Arguments, machine: Machine): Value {
  const { budget } = machine
  const [attribute, fallback, sensitive] = bind(
    'groupby',
    args,
    'attribute',
    'default?',
    'case_sensitive?',
  )
  const get = attributeGetter(attribute!, machine, fallback)
  const keyOf = (item: Value) => folded(get(item), sensitive)
  const groups: { key: Value; items: Value[] }[] = []
  for (const item of sortItems(toArray(value, budget), keyOf, false, budget)) {
    const last = groups.at(-1)
    if (last && equal(last.key, keyOf(item), budget)) last.items.push(item)
    else groups.push({ key: keyOf(item), items: [item] })
  }
  return new List(groups.map(({ items }) => new Group([get(items[0]!), new List(items)])))
}

function batchFilter(value: Value, args: Arguments, { budget }: Machine): Value {
  const [count, fill] = bind('batch', args, 'linecount', 'fill_with?')
  const size = integerArgument('linecount', count, 0)
  const items = toArray(value, budget)
  const batches: List[] = []
  for (let i = 0; i < items.length; i += Math.max(1, size)) {
    const batch = items.slice(i, i + Math.max(1, size))
    if (given(fill) && batch.length < size) {
      budget.make(size)
      while (batch.length < size) batch.push(fill)
    }
    batches.push(new List(batch))
  }
  return new Lazy(batches[Symbol.iterator]())
}

function sliceFilter(value: Value, args: Arguments, { budget }: Machine): Value {
  const [count, fill] = bind('slice', args, 'slices', 'fill_with?')
  const slices = integerArgument('slices', count, 0)
  const items = toArray(value, budget)
  if (slices === 0) throw new Fault('division by zero')
  budget.make(Math.max(0, slices))
  const size = Math.floor(items.length / slices)
  const longer = items.length % slices
  const result: List[] = []
  let at = 0
  for (let i = 0; i < slices; i++) {
    const end = at + size + (i < longer ? 1 : 0)
    const part = items.slice(at, end)
    if (given(fill) && i >= longer) part.push(fill)
    result.push(new List(part))
    at = end
  }
  return new Lazy(result[Symbol.iterator]())
}

function reverseFilter(value: Value, _: Arguments, machine: Machine): Value {
  if (value instanceof Text) return machine.lookup.slice(value, none, none, -1n)
  const items = toArray(value, machine.budget).reverse()
  return value instanceof Lazy ? new List(items) : new Lazy(items.values(), 'reverse iterator')
}

function lengthFilter(value: Value, args: Arguments): Value {
  bind('length', args)
  const size = sizeOf(value)
  if (size === undefined) throw new Fault(`object of type '${typeName(value)}' has no len()`)
  return size
}

function itemsFilter(value: Value): Value {
  if (value instanceof Undefined) return new List([])
  if (!(value instanceof Dict)) throw new Fault('Can only get item pairs from a mapping.')
  return new Lazy(new View('items', value).items())
}

function defaultFilter(value: Value, args: Arguments): Value {
  const [fallback, boolean] = bind('default', args, 'default_value?', 'boolean?')
  const replaceEmpty = boolean !== undefined && truthy(boolean) && !truthy(value)
  return value instanceof Undefined || replaceEmpty ? (fallback ?? trustedText('')) : value
}

function attrFilter(value: Value, args: Arguments, { lookup }: Machine): Value {
  const name = textArgument('attr argument', bind('attr', args, 'name')[0]).value
  const found = value instanceof Dict && value.named(name) !== undefined ? undefined : value
  if (found !== undefined) return lookup.attribute(found, name)
  // A key is not an attribute, unless a method has that name too.
  const method = lookup.attribute(new Dict(), name)
  return method instanceof Undefined ? method : lookup.attribute(value, name)
}

export const containerFilters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['join', joinFilter],
  ['first', firstFilter],
  ['last', lastFilter],
  ['sort', sortFilter],
  ['dictsort', dictSortFilter],
  ['unique', uniqueFilter],
  extreme('min', -1),
  extreme('max', 1),
  ['sum', sumFilter],
  ['groupby', groupByFilter],
  ['batch', batchFilter],
  ['slice', sliceFilter],
  ['reverse', reverseFilter],
  ['length', lengthFilter],
  ['count', lengthFilter],
  ['items', itemsFilter],
  ['default', defaultFilter],
  ['d', defaultFilter],
  ['attr', attrFilter],
  ['list', (value, _, { budget }) => new List(toArray(value, budget))],
])
