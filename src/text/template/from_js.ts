// Turns what a caller passes (JSON-like JavaScript) into values of a render, marked as untrusted.
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { Text, trustedText, untrustedText } from './text.ts'
import { Dict, List, none, type Value } from './values.ts'

/** Text whose special tokens may be parsed; see `trusted`. */
export class TrustedString {
  readonly value: string

  constructor(value: string) {
    this.value = value
  }

  toString(): string {
    return this.value
  }

  toJSON(): string {
    return this.value
  }
}

/**
 * Marks text the program itself wrote, so that special tokens in it count as such when a prompt is
 * tokenized. Anything else passed to a template is plain text, whatever it spells.
 *
 * ```ts
 * template.render({ messages: [{ role: 'user', content: trusted('<|vision_start|>…') }] })
 * ```
 */
export function trusted(text: string): TrustedString {
  return new TrustedString(text)
}

/**
 * Numbers with an integral value below 2^53 become ints (JSON's `1.0` and `1` are the same number
 * here), others floats; `undefined` members are left out; functions and symbols are refused.
 */
export function fromJs(source: unknown, budget: Budget): Value {
  budget.step()
  switch (typeof source) {
    case 'string':
      return untrustedText(source)
    case 'boolean':
    case 'bigint':
      return source
    case 'number':
      return Number.isSafeInteger(source) && !Object.is(source, -0) ? BigInt(source) : source
    case 'undefined':
      return none
    case 'object':
      return source === null ? none : fromObject(source, budget)
    default:
      throw new Fault(`a template cannot use a ${typeof source}`)
  }
}

function fromObject(source: object, budget: Budget): Value {
  if (source instanceof TrustedString) return trustedText(source.value)
  if (source instanceof Text) return source
  if (source instanceof String) return untrustedText(String(source))
  budget.enter()
  const result = Array.isArray(source) ? listOf(source, budget) : dictOf(source, budget)
  budget.leave()
  return result
}

function listOf(source: readonly unknown[], budget: Budget): List {
  budget.make(source.length)
  return new List(source.map((item) => fromJs(item, budget)))
}

function dictOf(source: object, budget: Budget): Dict {
  const result = new Dict()
  const entries = source instanceof Map ? source.entries() : Object.entries(source)
  for (const [name, item] of entries) {
    budget.make(1)
    if (item !== undefined) result.set(fromJs(name, budget), fromJs(item, budget))
  }
  return result
}
