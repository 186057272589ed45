// Reaching into items by attribute paths, and folding case, for filters that choose or order.
import type { Machine } from './machine.ts'
import { truthy } from './operators.ts'
import { Text, trustedText } from './text.ts'
import { lower, mapCase } from './text_case.ts'
import { given, Undefined, type Value } from './values.ts'

export type Getter = (item: Value) => Value

/** Follows a dotted path such as `function.name` or `0.role`; whole numbers are positions. */
export function attributeGetter(attribute: Value, machine: Machine, fallback?: Value): Getter {
  const path =
    attribute instanceof Text
      ? attribute.value.split('.').map((part) => (/^\d+$/.test(part) ? BigInt(part) : part))
      : [attribute]
  const steps = path.map((part) => (typeof part === 'string' ? trustedText(part) : part))
  return (item) => {
    let value = item
    for (const step of steps) {
      machine.budget.step()
      value = machine.lookup.item(value, step)
      if (given(fallback) && value instanceof Undefined) {
        value = fallback
      }
    }
    return value
  }
}

export function optionalGetter(attribute: Value | undefined, machine: Machine): Getter {
  if (!given(attribute)) return (item) => item
  return attributeGetter(attribute, machine)
}

/** Strings are compared in lower case unless asked otherwise. */
export function folded(value: Value, caseSensitive: Value | undefined): Value {
  const keep = caseSensitive !== undefined && truthy(caseSensitive)
  return value instanceof Text && !keep ? mapCase(value, lower) : value
}
