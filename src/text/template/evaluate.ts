// Evaluates the expressions of a template's syntax tree.

import { noArguments, textArgument } from './arguments.ts'
import { arithmetic, negate } from './arithmetic.ts'
import type { CallArguments, Expression, FilterExpression, SliceBounds } from './ast.ts'
import { Fault } from './fault.ts'
import { iterate } from './iterate.ts'
import type { Machine } from './machine.ts'
import { compare, truthy } from './operators.ts'
import type { Scope } from './scope.ts'
import { quoteName, toText } from './show.ts'
import { concat, type Text } from './text.ts'
import {
  type Arguments,
  Dict,
  List,
  none,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts'

export function evaluate(node: Expression, scope: Scope, machine: Machine): Value {
  const { budget } = machine
  budget.step()
  if (node.kind === 'constant') return node.value
  machine.at = node.at
  if (node.kind === 'name') {
    return scope.get(node.name) ?? new Undefined(`${quoteName(node.name)} is undefined`)
  }
  budget.enter()
  const value = compound(node, scope, machine)
  budget.leave()
  return value
}

type Compound = Exclude<Expression, { kind: 'constant' | 'name' }>

function compound(node: Compound, scope: Scope, machine: Machine): Value {
  const { budget, lookup } = machine
  switch (node.kind) {
    case 'attribute': {
      const object = evaluate(node.object, scope, machine)
      machine.at = node.at
      return lookup.attribute(object, node.name)
    }
    case 'item': {
      const object = evaluate(node.object, scope, machine)
      const index = evaluate(node.index, scope, machine)
      machine.at = node.at
      return lookup.item(object, index)
    }
    case 'slice':
      return slice(node.object, node.bounds, node.at, scope, machine)
    case 'call':
      return call(node.callee, node.args, node.at, scope, machine)
    case 'filter':
      return applyFilter(node, undefined, scope, machine)
    case 'test': {
      const object = evaluate(node.object, scope, machine)
      const args = evaluateArguments(node.args, scope, machine)
      machine.at = node.at
      return machine.test(node.name, object, args)
    }
    case 'compare':
      return compareChain(node, scope, machine)
    case 'and':
    case 'or': {
      const left = evaluate(node.left, scope, machine)
      if (truthy(left) === (node.kind === 'or')) return left
      return evaluate(node.right, scope, machine)
    }
    case 'unary': {
      const operand = evaluate(node.operand, scope, machine)
      machine.at = node.at
      return node.operator === 'not' ? !truthy(operand) : negate(operand, node.operator)
    }
    case 'binary': {
      const left = evaluate(node.left, scope, machine)
      const right = evaluate(node.right, scope, machine)
      machine.at = node.at
      return arithmetic(node.operator, left, right, budget)
    }
    case 'condition': {
      if (truthy(evaluate(node.test, scope, machine))) return evaluate(node.yes, scope, machine)
      if (node.no) return evaluate(node.no, scope, machine)
      return new Undefined('the condition was false and there is no else')
    }
    case 'concat':
      return concatenate(
        node.items.map((item) => evaluate(item, scope, machine)),
        machine,
      )
    case 'list':
      return new List(evaluateAll(node.items, scope, machine))
    case 'tuple':
      return new Tuple(evaluateAll(node.items, scope, machine))
    case 'dict': {
      const dict = new Dict()
      budget.make(node.pairs.length)
      for (const [key, value] of node.pairs) {
        dict.set(evaluate(key, scope, machine), evaluate(value, scope, machine))
      }
      return dict
    }
  }
}

function evaluateAll(nodes: readonly Expression[], scope: Scope, machine: Machine): Value[] {
  machine.budget.make(nodes.length)
  return nodes.map((node) => evaluate(node, scope, machine))
}

function slice(
  target: Expression,
  bounds: SliceBounds,
  at: number,
  scope: Scope,
  machine: Machine,
): Value {
  const object = evaluate(target, scope, machine)
  const [start, stop, step] = bounds.map((bound) =>
    bound ? evaluate(bound, scope, machine) : none,
  )
  machine.at = at
  return machine.lookup.slice(object, start!, stop!, step!)
}

function call(
  callee: Expression,
  args: CallArguments,
  at: number,
  scope: Scope,
  machine: Machine,
): Value {
  const target = evaluate(callee, scope, machine)
  const given = evaluateArguments(args, scope, machine)
  machine.at = at
  return machine.call(target, given)
}

/** Applies a filter or a chain of them, to `input` where the innermost has no object itself. */
export function applyFilter(
  node: FilterExpression,
  input: Value | undefined,
  scope: Scope,
  machine: Machine,
): Value {
  const { object } = node
  let value = input
  if (object?.kind === 'filter') value = applyFilter(object, input, scope, machine)
  else if (object) value = evaluate(object, scope, machine)
  const args = evaluateArguments(node.args, scope, machine)
  machine.at = node.at
  return machine.filter(node.name, value!, args)
}

type CompareNode = Extract<Expression, { kind: 'compare' }>

/** `a < b < c` evaluates b once and stops at the first link that fails. */
function compareChain(node: CompareNode, scope: Scope, machine: Machine): boolean {
  let left = evaluate(node.first, scope, machine)
  for (const { operator, right } of node.rest) {
    const value = evaluate(right, scope, machine)
    machine.at = node.at
    if (!compare(operator, left, value, machine.budget)) return false
    left = value
  }
  return true
}

/** `~`: everything becomes plain text. */
function concatenate(values: readonly Value[], { budget }: Machine): Text {
  const texts = values.map((value) => toText(value, budget))
  for (const text of texts) budget.make(text.value.length)
  return concat(texts)
}

/** Arguments of a call, `*list` and `**dict` spread out. */
export function evaluateArguments(args: CallArguments, scope: Scope, machine: Machine): Arguments {
  if (args.positional.length + args.named.length === 0 && !args.list && !args.dict) {
    return noArguments
  }
  const positional = evaluateAll(args.positional, scope, machine)
  const named = new Map<string, Value>()
  for (const [name, value] of args.named) named.set(name, evaluate(value, scope, machine))
  if (args.list) {
    for (const item of iterate(evaluate(args.list, scope, machine), machine.budget)) {
      positional.push(item)
    }
  }
  if (args.dict) spread(evaluate(args.dict, scope, machine), named)
  return { positional, named }
}

function spread(value: Value, named: Map<string, Value>): void {
  if (!(value instanceof Dict)) {
    throw new Fault(`argument after ** must be a mapping, not ${typeName(value)}`)
  }
  for (const [key, item] of value.entries.values()) {
    named.set(textArgument('keyword', key).value, item)
  }
}
