// Tests: what may follow `is` in a template.
import { bind } from './arguments.ts'
import { arithmetic } from './arithmetic.ts'
import type { CompareOperator } from './ast.ts'
import { isIterable, sizeOf } from './iterate.ts'
import { Loop } from './loop.ts'
import type { Test } from './machine.ts'
import { compare, contains, equal, truthy } from './operators.ts'
import { toText } from './show.ts'
import { Text } from './text.ts'
import { predicates } from './text_case.ts'
import { type Arguments, Dict, Lazy, Native, none, Undefined, type Value, View } from './values.ts'

function plain(name: string, test: (value: Value) => boolean): [string, Test] {
  return [
    name,
    (value, args) => {
      bind(name, args)
      return test(value)
    },
  ]
}

function comparing(operator: CompareOperator, ...names: string[]): [string, Test][] {
  return names.map((name) => [
    name,
    (value, args, { budget }) => {
      const [other] = bind(name, args, 'other')
      return compare(operator, value, other!, budget)
    },
  ])
}

/** `value % divisor` is `rest`. */
function remainder(name: string, divisor: bigint, rest: bigint): [string, Test] {
  return [
    name,
    (value, args, { budget }) => {
      bind(name, args)
      return equal(arithmetic('%', value, divisor, budget), rest, budget)
    },
  ]
}

function sameAs(value: Value, args: Arguments): boolean {
  const [other] = bind('sameas', args, 'other')
  if (value instanceof Text && other instanceof Text) return value.value === other.value
  return value === other
}

function isSequence(value: Value): boolean {
  if (value instanceof Lazy || value instanceof View || value instanceof Loop) return false
  return sizeOf(value) !== undefined
}

function isCallable(value: Value): boolean {
  return value instanceof Native || value instanceof Loop || value instanceof Undefined
}

function isNumber(value: Value): boolean {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
}

function caseTest(name: string, predicate: string): [string, Test] {
  return [name, (value, _, { budget }) => predicates[predicate]!(toText(value, budget).value)]
}

export const tests: ReadonlyMap<string, Test> = new Map<string, Test>([
  plain('defined', (value) => !(value instanceof Undefined)),
  plain('undefined', (value) => value instanceof Undefined),
  plain('none', (value) => value === none),
  plain('boolean', (value) => typeof value === 'boolean'),
  plain('true', (value) => value === true),
  plain('false', (value) => value === false),
  plain('integer', (value) => typeof value === 'bigint'),
  plain('float', (value) => typeof value === 'number'),
  plain('number', isNumber),
  plain('string', (value) => value instanceof Text),
  plain('mapping', (value) => value instanceof Dict),
  plain('sequence', isSequence),
  plain('iterable', isIterable),
  plain('callable', isCallable),
  plain('escaped', (value) => value instanceof Text && value.safe),
  caseTest('lower', 'islower'),
  caseTest('upper', 'isupper'),
  remainder('even', 2n, 0n),
  remainder('odd', 2n, 1n),
  [
    'divisibleby',
    (value, args, { budget }) => {
      const [divisor] = bind('divisibleby', args, 'num')
      return !truthy(arithmetic('%', value, divisor!, budget))
    },
  ],
  ['sameas', sameAs],
  ['in', (value, args, { budget }) => contains(bind('in', args, 'seq')[0]!, value, budget)],
  ['filter', (value, args, machine) => nameIn(value, args, (name) => machine.hasFilter(name))],
  ['test', (value, args) => nameIn(value, args, (name) => tests.has(name))],
  ...comparing('==', '==', 'eq', 'equalto'),
  ...comparing('!=', '!=', 'ne'),
  ...comparing('<', '<', 'lt', 'lessthan'),
  ...comparing('<=', '<=', 'le'),
  ...comparing('>', '>', 'gt', 'greaterthan'),
  ...comparing('>=', '>=', 'ge'),
])

function nameIn(value: Value, args: Arguments, known: (name: string) => boolean): boolean {
  bind('filter', args)
  return value instanceof Text && known(value.value)
}
