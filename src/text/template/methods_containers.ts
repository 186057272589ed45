// Methods and attributes of everything but strings.
import { bind } from './arguments.ts'
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { iterate } from './iterate.ts'
import { Loop } from './loop.ts'
import { equal } from './operators.ts'
import { trustedText } from './text.ts'
import {
  type Arguments,
  asInteger,
  Dict,
  Group,
  List,
  Macro,
  Namespace,
  Native,
  none,
  Range,
  Tuple,
  type Value,
  View,
} from './values.ts'

/** Methods of Python that change their object; chat templates run in an immutable sandbox. */
const changing: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['dict', new Set(['clear', 'pop', 'popitem', 'setdefault', 'update'])],
  ['list', new Set('append clear extend insert pop remove reverse sort'.split(' '))],
])

/** The attribute of a value that is no string; undefined when there is none of that name. */
export function attributeOf(object: Value, name: string, budget: Budget): Value | undefined {
  if (object instanceof Namespace) return object.attributes.get(name)
  if (object instanceof Dict) return dictMethod(object, name, budget) ?? refused('dict', name)
  if (object instanceof List) return sequenceMethod(object, name, budget) ?? refused('list', name)
  if (object instanceof Tuple) return tupleAttribute(object, name, budget)
  if (object instanceof Range) return rangeAttribute(object, name, budget)
  if (object instanceof Loop) return loopAttribute(object, name, budget)
  if (object instanceof Macro) return macroAttribute(object, name)
  if (object instanceof View && name === 'mapping') return object.dict
  if (typeof object === 'number' && name === 'is_integer') {
    return new Native(name, (args) => {
      bind(name, args)
      return Number.isInteger(object)
    })
  }
  return undefined
}

function refused(type: string, name: string): Native | undefined {
  if (!changing.get(type)!.has(name)) return undefined
  return new Native(name, () => {
    throw new Fault(`${type}.${name} would change the ${type}; use a namespace and new values`)
  })
}

function dictMethod(dict: Dict, name: string, budget: Budget): Native | undefined {
  switch (name) {
    case 'items':
    case 'keys':
    case 'values':
      return new Native(name, (args) => {
        bind(name, args)
        return new View(name, dict)
      })
    case 'get':
      return new Native(name, (args) => {
        const [key, fallback] = bind(name, args, 'key', 'default?')
        return dict.get(key!) ?? fallback ?? none
      })
    case 'copy':
      return new Native(name, (args) => {
        bind(name, args)
        budget.make(dict.entries.size)
        const copy = new Dict()
        for (const [key, value] of dict.entries.values()) copy.set(key, value)
        return copy
      })
    default:
      return undefined
  }
}

function sequenceMethod(
  sequence: List | Tuple | Range,
  name: string,
  budget: Budget,
): Native | undefined {
  if (name === 'copy' && sequence instanceof List) return new Native(name, () => sequence)
  if (name === 'count') {
    return new Native(name, (args) => {
      const [wanted] = bind(name, args, 'value')
      let count = 0n
      for (const item of iterate(sequence, budget)) if (equal(item, wanted!, budget)) count++
      return count
    })
  }
  if (name !== 'index') return undefined
  return new Native(name, (args) => {
    const [wanted, start, stop] = bind(name, args, 'value', 'start?', 'stop?')
    const from = asInteger(start) ?? 0n
    const to = asInteger(stop)
    let index = 0n
    for (const item of iterate(sequence, budget)) {
      const inside = index >= from && (to === undefined || index < to)
      if (inside && equal(item, wanted!, budget)) return index
      index++
    }
    throw new Fault(`the value is not in the ${sequence.type}`)
  })
}

function tupleAttribute(tuple: Tuple, name: string, budget: Budget): Value | undefined {
  if (tuple instanceof Group && name === 'grouper') return tuple.items[0]
  if (tuple instanceof Group && name === 'list') return tuple.items[1]
  return sequenceMethod(tuple, name, budget)
}

function rangeAttribute(range: Range, name: string, budget: Budget): Value | undefined {
  if (name === 'start' || name === 'stop' || name === 'step') return range[name]
  return sequenceMethod(range, name, budget)
}

function macroAttribute(macro: Macro, name: string): Value | undefined {
  if (name === 'name') return macro.name === '' ? none : trustedText(macro.name)
  return name === 'arguments' ? new Tuple(macro.parameters.map(trustedText)) : undefined
}

function loopAttribute(loop: Loop, name: string, budget: Budget): Value | undefined {
  switch (name) {
    case 'index':
      return BigInt(loop.index0 + 1)
    case 'index0':
      return BigInt(loop.index0)
    case 'revindex':
      return BigInt(loop.length - loop.index0)
    case 'revindex0':
      return BigInt(loop.length - loop.index0 - 1)
    case 'first':
      return loop.index0 === 0
    case 'last':
      return loop.last
    case 'length':
      return BigInt(loop.length)
    case 'depth':
      return BigInt(loop.depth0 + 1)
    case 'depth0':
      return BigInt(loop.depth0)
    case 'previtem':
      return loop.previous
    case 'nextitem':
      return loop.next
    case 'cycle':
      return new Native(name, (args) => cycle(args, loop.index0))
    case 'changed':
      return new Native(name, ({ positional }) =>
        loop.changed(new Tuple(positional), (a, b) => equal(a, b, budget)),
      )
    default:
      return undefined
  }
}

function cycle({ positional }: Arguments, index: number): Value {
  if (positional.length === 0) throw new Fault('no items for cycling given')
  return positional[index % positional.length]!
}
