// Makes callable values of macros and call blocks.
import type { MacroBody } from './ast.ts'
import { evaluate } from './evaluate.ts'
import { Fault } from './fault.ts'
import type { Machine } from './machine.ts'
import { Scope } from './scope.ts'
import { quoteName } from './show.ts'
import { type Text, trustedText } from './text.ts'
import { type Arguments, Dict, Macro, Tuple, Undefined, type Value } from './values.ts'

/** `body` renders the macro in the scope of one call. */
export function macroFor(
  name: string,
  { signature }: MacroBody,
  scope: Scope,
  machine: Machine,
  body: (inner: Scope) => Text,
): Macro {
  return new Macro(name, signature.parameters, (args) => {
    machine.budget.enter()
    const inner = new Scope(scope)
    bindParameters(name, signature, args, inner, machine)
    const text = body(inner)
    machine.budget.leave()
    return text
  })
}

function bindParameters(
  name: string,
  signature: MacroBody['signature'],
  args: Arguments,
  inner: Scope,
  machine: Machine,
): void {
  const { parameters, defaults } = signature
  const rest = new Map(args.named)
  parameters.forEach((parameter, i) => {
    const given = args.positional[i] ?? rest.get(parameter)
    if (args.positional[i] === undefined) rest.delete(parameter)
    inner.set(parameter, given ?? fallback(parameter, i))
  })
  function fallback(parameter: string, i: number): Value {
    const expression = defaults[i - (parameters.length - defaults.length)]
    if (expression) return evaluate(expression, inner, machine)
    return new Undefined(`parameter ${quoteName(parameter)} was not provided`)
  }
  if (signature.usesCaller) {
    inner.set('caller', rest.get('caller') ?? new Undefined('No caller defined'))
    rest.delete('caller')
  }
  const extra = args.positional.slice(parameters.length)
  if (signature.usesRest) inner.set('varargs', new Tuple(extra))
  else if (extra.length > 0) {
    throw new Fault(`macro ${quoteName(name)} takes at most ${parameters.length} argument(s)`)
  }
  if (signature.usesNamedRest) inner.set('kwargs', dictOf(rest))
  else if (rest.size > 0) {
    throw new Fault(`macro ${quoteName(name)} has no argument ${quoteName([...rest.keys()][0]!)}`)
  }
}

function dictOf(entries: Iterable<readonly [string, Value]>): Dict {
  const dict = new Dict()
  for (const [name, value] of entries) dict.set(trustedText(name), value)
  return dict
}
