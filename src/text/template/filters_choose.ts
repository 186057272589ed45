// Filters that map and choose items, one by one as they are asked for.
import { bind, textArgument } from './arguments.ts'
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { attributeGetter, type Getter, optionalGetter } from './getters.ts'
import { iterate } from './iterate.ts'
import type { Filter, Machine } from './machine.ts'
import { truthy } from './operators.ts'
import { type Arguments, Lazy, none, type Value } from './values.ts'

/** Filters skip what is empty or undefined, and only then look at what cannot be iterated. */
function* truthyItems(value: Value, budget: Budget): Generator<Value> {
  if (truthy(value)) yield* iterate(value, budget)
}

function mapFilter(value: Value, args: Arguments, machine: Machine): Value {
  const map = mapper(args, machine)
  return new Lazy(
    (function* () {
      for (const item of truthyItems(value, machine.budget)) yield map(item)
    })(),
  )
}

function mapper(args: Arguments, machine: Machine): Getter {
  const [name, ...rest] = args.positional
  if (name === undefined && args.named.has('attribute')) {
    const [attribute, fallback] = bind('map', args, 'attribute', 'default?')
    return attributeGetter(attribute!, machine, fallback)
  }
  if (name === undefined) throw new Fault('map needs a filter or an attribute')
  const filter = textArgument('filter name', name).value
  return (item) => machine.filter(filter, item, { positional: rest, named: args.named })
}

function choosing(name: string, wanted: boolean, byAttribute: boolean): [string, Filter] {
  return [
    name,
    (value, args, machine) => {
      const [attribute, ...others] = byAttribute ? args.positional : [none, ...args.positional]
      if (attribute === undefined) throw new Fault(`${name} needs the name of an attribute`)
      const get = optionalGetter(attribute, machine)
      const [test, ...rest] = others
      const accepts = (item: Value) =>
        test === undefined
          ? truthy(item)
          : machine.test(textArgument('test name', test).value, item, {
              positional: rest,
              named: args.named,
            })
      return new Lazy(
        (function* () {
          for (const item of truthyItems(value, machine.budget)) {
            if (accepts(get(item)) === wanted) yield item
          }
        })(),
      )
    },
  ]
}

export const choosingFilters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['map', mapFilter],
  choosing('select', true, false),
  choosing('reject', false, false),
  choosing('selectattr', true, true),
  choosing('rejectattr', false, true),
])
