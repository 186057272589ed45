// Functions every chat template may call.
import { bind, textArgument } from './arguments.ts'
import { Fault } from './fault.ts'
import { iterate, toArray } from './iterate.ts'
import type { Machine } from './machine.ts'
import type { Scope } from './scope.ts'
import { toText } from './show.ts'
import { strftime } from './strftime.ts'
import { trustedText } from './text.ts'
import {
  type Arguments,
  asInteger,
  Dict,
  Namespace,
  Native,
  none,
  Range,
  typeName,
  type Value,
} from './values.ts'

/** Longest range, as Jinja's sandbox has it. */
const rangeMax = 100_000n

export function defineGlobals(scope: Scope, machine: Machine): void {
  const define = (name: string, call: (args: Arguments) => Value) => {
    scope.set(name, new Native(name, call))
  }
  define('range', range)
  define('dict', (args) => fill(new Dict(), args, machine))
  define('namespace', (args) => {
    const namespace = new Namespace()
    for (const [key, value] of fill(new Dict(), args, machine).entries.values()) {
      namespace.attributes.set(textArgument('namespace key', key).value, value)
    }
    return namespace
  })
  define('cycler', ({ positional }) => cycler(positional))
  define('joiner', (args) => joiner(args, machine))
  define('raise_exception', (args) => {
    const message = toText(bind('raise_exception', args, 'message')[0]!, machine.budget).value
    throw new Fault(message, message)
  })
  define('strftime_now', (args) => {
    const format = textArgument('strftime_now argument', bind('strftime_now', args, 'format')[0])
    return trustedText(strftime(machine.clock(), format.value))
  })
}

function range({ positional, named }: Arguments): Value {
  if (named.size > 0) throw new Fault('range takes no named arguments')
  const numbers = positional.map((value) => {
    const number = asInteger(value)
    if (number === undefined) {
      throw new Fault(`'${typeName(value)}' object cannot be interpreted as an integer`)
    }
    return number
  })
  if (numbers.length < 1 || numbers.length > 3) throw new Fault('range takes 1 to 3 integers')
  const [start, stop, step] = numbers.length === 1 ? [0n, numbers[0]!, 1n] : numbers
  if (step === 0n) throw new Fault('range() arg 3 must not be zero')
  const result = new Range(start!, stop!, step ?? 1n)
  if (result.length > rangeMax) throw new Fault(`a range of more than ${rangeMax} items`)
  return result
}

/** `dict(other, name=value)`: `other` is a mapping or pairs. */
function fill(dict: Dict, { positional, named }: Arguments, machine: Machine): Dict {
  if (positional.length > 1) throw new Fault('at most one positional argument is allowed')
  const [source] = positional
  if (source instanceof Dict) {
    for (const [key, value] of source.entries.values()) dict.set(key, value)
  } else if (source !== undefined) {
    for (const pair of iterate(source, machine.budget)) {
      const parts = toArray(pair, machine.budget)
      if (parts.length !== 2) throw new Fault('a dict is made of pairs')
      dict.set(parts[0]!, parts[1]!)
    }
  }
  for (const [name, value] of named) dict.set(trustedText(name), value)
  return dict
}

/** Goes round its values: `next()`, `reset()` and `current`. */
function cycler(values: readonly Value[]): Namespace {
  if (values.length === 0) throw new Fault('at least one item has to be provided')
  const result = new Namespace()
  let position = 0
  const move = (to: number) => {
    position = to % values.length
    result.attributes.set('current', values[position]!)
  }
  move(0)
  result.attributes.set(
    'next',
    new Native('next', () => {
      const value = values[position]!
      move(position + 1)
      return value
    }),
  )
  result.attributes.set(
    'reset',
    new Native('reset', () => {
      move(0)
      return none
    }),
  )
  return result
}

/** Empty when first called, the separator from then on. */
function joiner(args: Arguments, machine: Machine): Native {
  const [separator] = bind('joiner', args, 'sep?')
  const text = toText(separator ?? trustedText(', '), machine.budget)
  let used = false
  return new Native('joiner', () => {
    const result = used ? text : trustedText('')
    used = true
    return result
  })
}
