// str() and repr() of values.
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { Loop } from './loop.ts'
import { Builder, Text, trustedText } from './text.ts'
import {
  Dict,
  Lazy,
  List,
  Macro,
  Namespace,
  Native,
  none,
  Range,
  Thing,
  Tuple,
  Undefined,
  type Value,
  View,
} from './values.ts'

/** What `{{ value }}` prints. */
export function toText(value: Value, budget: Budget): Text {
  if (value instanceof Text) return value
  if (value instanceof Undefined) return trustedText('')
  if (!(value instanceof Thing)) return trustedText(showScalar(value))
  const builder = new Builder()
  writeRepr(value, builder, budget)
  return builder.build()
}

/** What a value looks like inside a printed list. */
export function repr(value: Value, budget: Budget): Text {
  const builder = new Builder()
  writeRepr(value, builder, budget)
  return builder.build()
}

/** Digits Python prints of an int before it refuses, for fear of quadratic time. */
const digitsMax = 4300

function showScalar(value: boolean | bigint | number): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return typeof value === 'bigint' ? showInteger(value) : showFloat(value)
}

export function showInteger(value: bigint): string {
  const digits = value.toString()
  if (digits.length > digitsMax) throw new Fault(`an int of more than ${digitsMax} digits`)
  return digits
}

/** The shortest digits that read back as the same float, with Python's choice of exponents. */
export function showFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const [mantissa, power] = Math.abs(value).toExponential().split('e') as [string, string]
  const digits = mantissa.replace('.', '')
  const exponent = Number(power)
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : ''
    const size = String(Math.abs(exponent)).padStart(2, '0')
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? '-' : '+'}${size}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

function writeRepr(value: Value, out: Builder, budget: Budget): void {
  budget.step()
  if (value instanceof Text) out.add(quote(value, budget))
  else if (value instanceof Thing) {
    budget.enter()
    writeThing(value, out, budget)
    budget.leave()
  } else out.push(showScalar(value), false)
}

function writeThing(value: Thing, out: Builder, budget: Budget): void {
  if (value instanceof List) writeItems(value.items, '[', ']', out, budget)
  else if (value instanceof Tuple) {
    writeItems(value.items, '(', value.items.length === 1 ? ',)' : ')', out, budget)
  } else if (value instanceof Dict) writeDict(value, out, budget)
  else if (value instanceof View) {
    out.push(`${value.type}(`, false)
    writeItems([...value.items()], '[', ']', out, budget)
    out.push(')', false)
  } else if (value instanceof Namespace) {
    const dict = new Dict()
    for (const [name, item] of value.attributes) dict.set(trustedText(name), item)
    out.push('<Namespace ', false)
    writeRepr(dict, out, budget)
    out.push('>', false)
  } else if (value instanceof Range) out.push(showRange(value), false)
  else out.push(describe(value), false)
}

function describe(value: Thing): string {
  if (value === none) return 'None'
  if (value instanceof Undefined) return 'Undefined'
  if (value instanceof Macro) return `<Macro '${value.name}'>`
  if (value instanceof Native) return `<built-in method ${value.name}>`
  if (value instanceof Loop) return `<LoopContext ${value.index0 + 1}/${value.length}>`
  return `<${value instanceof Lazy ? value.type : 'object'}>`
}

function showRange(range: Range): string {
  const step = range.step === 1n ? '' : `, ${range.step}`
  return `range(${range.start}, ${range.stop}${step})`
}

function writeItems(
  items: readonly Value[],
  open: string,
  close: string,
  out: Builder,
  budget: Budget,
): void {
  out.push(open, false)
  items.forEach((item, i) => {
    if (i > 0) out.push(', ', false)
    writeRepr(item, out, budget)
  })
  out.push(close, false)
}

function writeDict(dict: Dict, out: Builder, budget: Budget): void {
  let separator = '{'
  for (const [key, value] of dict.entries.values()) {
    out.push(separator, false)
    writeRepr(key, out, budget)
    out.push(': ', false)
    writeRepr(value, out, budget)
    separator = ', '
  }
  out.push(dict.entries.size === 0 ? '{}' : '}', false)
}

/** Characters Python escapes in a repr: controls, unassigned, separators other than space. */
const unprintable = /[\\\p{C}\p{Zl}\p{Zp}\p{Zs}]/u
const unprintables = new RegExp(unprintable, 'gu')

const short: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  ' ': ' ',
}

function quote(text: Text, budget: Budget): Text {
  budget.make(text.value.length)
  const mark = text.value.includes("'") && !text.value.includes('"') ? '"' : "'"
  const escaped = text.mapRuns((run) => {
    const result = run.replace(
      unprintables,
      (character) => short[character] ?? escapeCharacter(character),
    )
    return mark === "'" ? result.replaceAll("'", "\\'") : result
  })
  const builder = new Builder()
  builder.push(text.safe ? `Markup(${mark}` : mark, false)
  builder.add(escaped)
  builder.push(text.safe ? `${mark})` : mark, false)
  return builder.build()
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0)!
  const hex = code.toString(16)
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}

/** A name in quotes, for messages. */
export function quoteName(name: string): string {
  return name.includes("'") ? JSON.stringify(name) : `'${name}'`
}
