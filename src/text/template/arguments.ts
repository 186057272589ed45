// Matches the arguments of a call with the parameters of a function.
import { Fault } from './fault.ts'
import { Text } from './text.ts'
import {
  type Arguments,
  asInteger,
  given,
  none,
  requireDefined,
  typeName,
  type Value,
} from './values.ts'

export const noArguments: Arguments = { positional: [], named: new Map() }

/** The given arguments in the order of `parameters`; a name ending in `?` may be absent. */
export function bind(
  what: string,
  args: Arguments,
  ...parameters: readonly string[]
): (Value | undefined)[] {
  if (args.positional.length > parameters.length) {
    throw new Fault(
      `${what} takes at most ${parameters.length} argument(s), got ${args.positional.length}`,
    )
  }
  const names = parameters.map((name) => name.replace('?', ''))
  const result: (Value | undefined)[] = parameters.map((_, i) => args.positional[i])
  for (const [name, value] of args.named) {
    const i = names.indexOf(name)
    if (i < 0) throw new Fault(`${what} has no argument '${name}'`)
    if (result[i] !== undefined) throw new Fault(`${what} got two values for '${name}'`)
    result[i] = value
  }
  parameters.forEach((name, i) => {
    if (result[i] === undefined && !name.endsWith('?')) {
      throw new Fault(`${what} needs the argument '${name}'`)
    }
  })
  return result
}

export function textArgument(what: string, value: Value | undefined): Text {
  if (value instanceof Text) return value
  if (value !== undefined) requireDefined(value)
  throw new Fault(`${what} must be str, not ${typeName(value ?? none)}`)
}

/** `None` counts as absent. */
export function optionalText(what: string, value: Value | undefined): Text | undefined {
  return given(value) ? textArgument(what, value) : undefined
}

/** As a JavaScript number, cut to ±2^53: lengths and positions are far smaller. */
export function integerArgument(what: string, value: Value | undefined, fallback: number): number {
  if (!given(value)) return fallback
  const integer = asInteger(value)
  if (integer === undefined) {
    requireDefined(value)
    throw new Fault(`${what} must be int, not ${typeName(value)}`)
  }
  return clamp(integer)
}

export function clamp(value: bigint): number {
  const number = Number(value)
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, number))
}
