// str.format: replacement fields in braces, and the format specifications after their colon.
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { pad } from './format_percent.ts'
import { escapeHtml } from './markup.ts'
import { formatFloat } from './number_format.ts'
import { repr, showFloat, showInteger, toText } from './show.ts'
import { Builder, Text, trustedText } from './text.ts'
import { type Arguments, asInteger, typeName, type Value } from './values.ts'

/** How a field reaches into a value: the lookups of the template, which refuse private names. */
export interface Lookup {
  attribute(object: Value, name: string): Value
  item(object: Value, index: Value): Value
}

const name = '([^{}[\\].!:]*)'
const path = '((?:\\.[^{}[\\].!:]+|\\[[^{}[\\]]*\\])*)'
/** May hold fields of its own: `{:{width}}`. */
const specification = '((?:[^{}]|\\{[^{}]*\\})*)'
const field = new RegExp(
  `\\{\\{|\\}\\}|\\{${name}${path}(?:!([rsa]))?(?::${specification})?\\}|[{}]`,
  'g',
)

export function formatBraces(format: Text, args: Arguments, lookup: Lookup, budget: Budget): Text {
  const out = new Builder()
  const numbering = { next: 0 }
  writeFields(format, args, lookup, budget, numbering, out)
  budget.make(out.length)
  return out.build(format.safe)
}

function writeFields(
  format: Text,
  args: Arguments,
  lookup: Lookup,
  budget: Budget,
  numbering: { next: number },
  out: Builder,
): void {
  let end = 0
  for (const match of format.value.matchAll(field)) {
    budget.step()
    out.add(format.slice(end, match.index))
    end = match.index + match[0].length
    const [whole, name, path, conversion, specification] = match
    if (whole === '{{' || whole === '}}') out.add(format.slice(match.index, match.index + 1))
    else if (name === undefined) throw new Fault(`single '${whole}' in a format string`)
    else {
      const start = argument(name, args, numbering)
      const value = follow(start, path!, lookup)
      const inner = new Builder()
      writeFields(trustedText(specification ?? ''), args, lookup, budget, numbering, inner)
      const text = formatOne(value, conversion, inner.build().value, budget)
      budget.make(text.value.length)
      out.add(format.safe ? escapeHtml(text) : text)
    }
  }
  out.add(format.slice(end))
}

function argument(name: string, args: Arguments, numbering: { next: number }): Value {
  const index = name === '' ? numbering.next++ : /^\d+$/.test(name) ? Number(name) : undefined
  const value = index === undefined ? args.named.get(name) : args.positional[index]
  if (value !== undefined) return value
  throw new Fault(
    index === undefined
      ? `no argument '${name}' for the format string`
      : `no argument ${index} for the format string`,
  )
}

function follow(start: Value, path: string, lookup: Lookup): Value {
  let value = start
  for (const [, name, index] of path.matchAll(/\.([^.[]+)|\[([^\]]*)\]/g)) {
    if (name !== undefined) value = lookup.attribute(value, name)
    else value = lookup.item(value, /^\d+$/.test(index!) ? BigInt(index!) : trustedText(index!))
  }
  return value
}

function formatOne(
  value: Value,
  conversion: string | undefined,
  specification: string,
  budget: Budget,
): Text {
  if (conversion === 'r' || conversion === 'a') {
    return formatValue(repr(value, budget), specification, budget)
  }
  return formatValue(conversion ? toText(value, budget) : value, specification, budget)
}

const shape =
  /^(?:([\s\S])?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([bcdeEfFgGnosxX%])?$/u

/** `format(value, specification)`: [[fill]align][sign][#][0][width][,][.precision][type]. */
export function formatValue(value: Value, specification: string, budget: Budget): Text {
  if (specification === '') return toText(value, budget)
  const match = shape.exec(specification)
  if (!match) throw new Fault(`invalid format specification '${specification}'`)
  const [, fill, align, sign, , alternate, zero, width, group, precision, kind] = match
  const size = Number(width ?? 0)
  const digits = precision === undefined ? undefined : Number(precision)
  budget.make(size + (digits ?? 0))
  if (value instanceof Text) {
    const cutAt = Math.min(digits ?? value.length, value.length)
    const text = value.slice(0, value.offset(cutAt))
    const side = (align ?? '<') as '<' | '>' | '^'
    return pad(text, size, side, filler(fill ?? (zero ? '0' : undefined)))
  }
  const number = typeof value === 'number' ? value : asInteger(value)
  if (number === undefined) throw new Fault(`cannot format ${typeName(value)} that way`)
  const plain = { digits, kind, group, alternate: alternate !== undefined }
  const body = formatNumber(number, plain, typeof value === 'boolean')
  const signed = body.startsWith('-') || sign === undefined || sign === '-' ? body : sign + body
  const side = (align ?? (zero ? '=' : '>')) as '<' | '>' | '=' | '^'
  const padding = filler(fill ?? (zero ? '0' : align === '=' ? ' ' : undefined))
  return pad(trustedText(signed), size, side, padding)
}

function filler(fill: string | undefined): Text | undefined {
  return fill === undefined ? undefined : trustedText(fill)
}

interface NumberShape {
  readonly digits: number | undefined
  readonly kind: string | undefined
  readonly group: string | undefined
  readonly alternate: boolean
}

function formatNumber(value: bigint | number, form: NumberShape, isBool: boolean): string {
  const { kind, digits, group, alternate } = form
  if (kind === 's') throw new Fault(`format 's' is for strings`)
  if (kind === '%') return `${grouped(formatFloat(Number(value) * 100, 'f', digits ?? 6), group)}%`
  const isFloat = typeof value === 'number' || (kind !== undefined && 'eEfFgG'.includes(kind))
  if (!isFloat) return formatInteger(value as bigint, form, isBool)
  if (kind === undefined && digits === undefined) return grouped(showFloat(Number(value)), group)
  const letter = kind === undefined || kind === 'n' ? 'g' : kind
  if (!'eEfFgG'.includes(letter)) throw new Fault(`format '${kind}' is for integers`)
  return grouped(formatFloat(Number(value), letter, digits ?? 6, alternate), group)
}

const bases: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16 }

function formatInteger(value: bigint, form: NumberShape, isBool: boolean): string {
  const { kind, digits, group, alternate } = form
  if (digits !== undefined) throw new Fault('precision is not allowed for integers')
  if (kind === 'c') return String.fromCodePoint(Number(BigInt.asUintN(20, value)))
  const base = bases[kind ?? 'd']
  if (base === undefined) {
    return grouped(isBool && kind === undefined ? String(value) : showInteger(value), group)
  }
  const text = (value < 0n ? -value : value).toString(base)
  const prefix = alternate ? `0${kind}` : ''
  const shown = prefix + (kind === 'X' ? text.toUpperCase() : text)
  return value < 0n ? `-${shown}` : shown
}

/** Thousands separated, in the part before the point. */
function grouped(text: string, separator: string | undefined): string {
  if (separator === undefined) return text
  return text.replace(/^(-?)(\d+)/, (_, sign: string, digits: string) => {
    return sign + digits.replace(/\B(?=(\d{3})+$)/g, separator)
  })
}
