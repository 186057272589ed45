// What one render shares: bounds, lookups, the clock, and calls of filters, tests and functions.
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { choosingFilters } from './filters_choose.ts'
import { containerFilters } from './filters_containers.ts'
import { numberFilters } from './filters_numbers.ts'
import { textFilters } from './filters_text.ts'
import { Lookups } from './lookup.ts'
import { Loop } from './loop.ts'
import { tests } from './tests.ts'
import { type Arguments, Native, requireDefined, typeName, type Value } from './values.ts'

export type Filter = (value: Value, args: Arguments, machine: Machine) => Value
export type Test = (value: Value, args: Arguments, machine: Machine) => boolean

const filters: ReadonlyMap<string, Filter> = new Map([
  ...textFilters,
  ...numberFilters,
  ...choosingFilters,
  ...containerFilters,
])

/** Jinja's filters that have no use in a prompt: random, or about HTML pages. */
const refusedFilters: ReadonlySet<string> = new Set([
  'filesizeformat',
  'pprint',
  'random',
  'striptags',
  'urlencode',
  'urlize',
  'wordwrap',
  'xmlattr',
])

export class Machine {
  readonly budget: Budget
  readonly lookup: Lookups
  readonly clock: () => Date
  /** Offset of the tag or operator being evaluated; a fault is reported there. */
  at = 0

  constructor(budget: Budget, clock: () => Date) {
    this.budget = budget
    this.lookup = new Lookups(budget)
    this.clock = clock
  }

  filter(name: string, value: Value, args: Arguments): Value {
    const filter = filters.get(name)
    if (filter) return filter(value, args, this)
    const refused = refusedFilters.has(name)
    throw new Fault(refused ? `the filter ${name} is not supported` : `no filter named ${name}`)
  }

  hasFilter(name: string): boolean {
    return filters.has(name)
  }

  test(name: string, value: Value, args: Arguments): boolean {
    const test = tests.get(name)
    if (!test) throw new Fault(`no test named ${name}`)
    return test(value, args, this)
  }

  call(callee: Value, args: Arguments): Value {
    if (callee instanceof Native) return callee.call(args)
    if (callee instanceof Loop) {
      if (callee.recurse) return callee.recurse(args)
      throw new Fault("the loop must be marked 'recursive' to be called")
    }
    requireDefined(callee)
    throw new Fault(`'${typeName(callee)}' object is not callable`)
  }
}
