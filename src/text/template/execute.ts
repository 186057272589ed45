// Runs the statements of a template and gathers what they print.
import type { Block, ForStatement, IfBranch, MacroBody, Statement, Target } from './ast.ts'
import { applyFilter, evaluate, evaluateArguments } from './evaluate.ts'
import { Fault } from './fault.ts'
import { iterate, sizeOf, toArray } from './iterate.ts'
import { Loop } from './loop.ts'
import type { Machine } from './machine.ts'
import { macroFor } from './macro.ts'
import { truthy } from './operators.ts'
import { Scope } from './scope.ts'
import { toText } from './show.ts'
import { Builder, type Text } from './text.ts'
import { Lazy, Namespace, type Value } from './values.ts'

/** How a block ended: by itself, or by a loop control tag inside of it. */
type Ending = 'end' | 'break' | 'continue'

/** Runs a block; `out` receives the text. */
export function execute(block: Block, scope: Scope, machine: Machine, out: Builder): Ending {
  machine.budget.enter()
  let ending: Ending = 'end'
  for (const statement of block) {
    machine.budget.step()
    machine.at = statement.at
    ending = run(statement, scope, machine, out)
    if (ending !== 'end') break
  }
  machine.budget.leave()
  return ending
}

function run(node: Statement, scope: Scope, machine: Machine, out: Builder): Ending {
  switch (node.kind) {
    case 'text':
      print(node.text, machine, out)
      return 'end'
    case 'print':
      print(evaluate(node.value, scope, machine), machine, out)
      return 'end'
    case 'if':
      return branch(node.branches, node.otherwise, scope, machine, out)
    case 'for':
      return forLoop(node, scope, machine, out)
    case 'break':
    case 'continue':
      return node.kind
    case 'set':
      assign(node.target, evaluate(node.value, scope, machine), scope, machine)
      return 'end'
    case 'set block': {
      const text = capture(node.body, new Scope(scope), machine)
      const value = node.filter ? applyFilter(node.filter, text, scope, machine) : text
      assign(node.target, value, scope, machine)
      return 'end'
    }
    case 'with': {
      // Values are evaluated outside, so that targets do not see each other.
      const values = node.targets.map(([, value]) => evaluate(value, scope, machine))
      const inner = new Scope(scope)
      node.targets.forEach(([target], i) => {
        assign(target, values[i]!, inner, machine)
      })
      return execute(node.body, inner, machine, out)
    }
    case 'macro':
      scope.set(node.name, makeMacro(node.name, node.macro, scope, machine))
      return 'end'
    case 'call block':
      callBlock(node, scope, machine, out)
      return 'end'
    case 'filter block': {
      const text = capture(node.body, new Scope(scope), machine)
      print(applyFilter(node.filter, text, scope, machine), machine, out)
      return 'end'
    }
    case 'block':
    case 'generation':
      return execute(node.body, new Scope(scope), machine, out)
  }
}

function print(value: Value, machine: Machine, out: Builder): void {
  const text = toText(value, machine.budget)
  machine.budget.make(text.value.length)
  out.add(text)
}

/** The text a block prints. */
function capture(block: Block, scope: Scope, machine: Machine): Text {
  const out = new Builder()
  execute(block, scope, machine, out)
  return out.build()
}

function branch(
  branches: readonly IfBranch[],
  otherwise: Block,
  scope: Scope,
  machine: Machine,
  out: Builder,
): Ending {
  for (const { test, body } of branches) {
    if (truthy(evaluate(test, scope, machine))) return execute(body, scope, machine, out)
  }
  return execute(otherwise, scope, machine, out)
}

function assign(target: Target, value: Value, scope: Scope, machine: Machine): void {
  if (target.kind === 'name') {
    scope.set(target.name, value)
    return
  }
  machine.at = target.at
  if (target.kind === 'member') {
    const object = scope.get(target.object)
    if (object instanceof Namespace) object.attributes.set(target.name, value)
    else throw new Fault(`cannot assign an attribute of ${target.object}, which is no namespace`)
    return
  }
  const items = toArray(value, machine.budget)
  if (items.length !== target.items.length) {
    const problem = items.length < target.items.length ? 'not enough' : 'too many'
    throw new Fault(`${problem} values to unpack: ${items.length} for ${target.items.length} names`)
  }
  target.items.forEach((one, i) => {
    assign(one, items[i]!, scope, machine)
  })
}

function forLoop(node: ForStatement, scope: Scope, machine: Machine, out: Builder): Ending {
  const source = evaluate(node.source, scope, machine)
  loopOver(node, source, 0, scope, machine, out)
  return 'end'
}

function loopOver(
  node: ForStatement,
  source: Value,
  depth: number,
  scope: Scope,
  machine: Machine,
  out: Builder,
): void {
  machine.at = node.at
  const items = iterate(source, machine.budget)
  const chosen = node.filter ? filtered(node, items, scope, machine) : items
  const sized = node.filter === undefined && !(source instanceof Lazy)
  const loop = new Loop(
    chosen,
    sized ? Number(sizeOf(source) ?? 0n) : undefined,
    depth,
    node.recursive ? recursion(node, depth, scope, machine) : undefined,
  )
  for (let item = loop.advance(); item !== undefined; item = loop.advance()) {
    const inner = new Scope(scope)
    inner.set('loop', loop)
    assign(node.target, item, inner, machine)
    if (execute(node.body, inner, machine, out) === 'break') break
  }
  if (loop.index0 < 0) execute(node.otherwise, new Scope(scope), machine, out)
}

/** `for … if …`: the condition sees the items, but no `loop`. */
function* filtered(
  node: ForStatement,
  items: Iterable<Value>,
  scope: Scope,
  machine: Machine,
): Generator<Value> {
  for (const item of items) {
    const inner = new Scope(scope)
    assign(node.target, item, inner, machine)
    if (truthy(evaluate(node.filter!, inner, machine))) yield item
  }
}

/** `loop(items)` inside a recursive loop: its body over other items, one level deeper. */
function recursion(
  node: ForStatement,
  depth: number,
  scope: Scope,
  machine: Machine,
): Loop['recurse'] {
  return ({ positional }) => {
    if (positional[0] === undefined) throw new Fault('loop() needs something to iterate')
    const out = new Builder()
    machine.budget.enter()
    loopOver(node, positional[0], depth + 1, scope, machine, out)
    machine.budget.leave()
    return out.build()
  }
}

function makeMacro(name: string, macro: MacroBody, scope: Scope, machine: Machine): Value {
  return macroFor(name, macro, scope, machine, (inner) => capture(macro.body, inner, machine))
}

type CallBlock = Extract<Statement, { kind: 'call block' }>

function callBlock(node: CallBlock, scope: Scope, machine: Machine, out: Builder): void {
  if (node.call.kind !== 'call') throw new Fault(`a call block cannot call a ${node.call.kind}`)
  const callee = evaluate(node.call.callee, scope, machine)
  const { positional, named } = evaluateArguments(node.call.args, scope, machine)
  const caller = makeMacro('', node.caller, scope, machine)
  machine.at = node.at
  print(
    machine.call(callee, { positional, named: new Map(named).set('caller', caller) }),
    machine,
    out,
  )
}
