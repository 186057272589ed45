// The % operator of strings: printf-style formatting.
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { escapeHtml } from './markup.ts'
import { formatFloat } from './number_format.ts'
import { repr, showInteger, toText } from './show.ts'
import { Builder, Text, trustedText } from './text.ts'
import { asInteger, Dict, List, Tuple, typeName, Undefined, type Value } from './values.ts'

const directive = /%(?:\(([^)]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?[hlL]?([\s\S])?/g

/** `format % values`; `values` is one value, a tuple of them, or a dict for `%(name)s`. */
export function formatPercent(format: Text, values: Value, budget: Budget): Text {
  return new PercentFormatter(format, values, budget).run()
}

class PercentFormatter {
  readonly #format: Text
  readonly #values: Value
  readonly #items: readonly Value[]
  readonly #budget: Budget
  #next = 0
  #usedNames = false

  constructor(format: Text, values: Value, budget: Budget) {
    this.#format = format
    this.#values = values
    this.#items = values instanceof Tuple ? values.items : [values]
    this.#budget = budget
  }

  run(): Text {
    const out = new Builder()
    let end = 0
    for (const match of this.#format.value.matchAll(directive)) {
      this.#budget.step()
      out.add(this.#format.slice(end, match.index))
      end = match.index + match[0].length
      const text = this.#one(match)
      this.#budget.make(text.value.length)
      out.add(this.#format.safe ? escapeHtml(text) : text)
    }
    out.add(this.#format.slice(end))
    const spare = this.#next < this.#items.length && !this.#usedNames
    if (spare && !isSubscriptable(this.#values)) {
      throw new Fault('not all arguments converted during string formatting')
    }
    this.#budget.make(out.length)
    return out.build(this.#format.safe)
  }

  #take(): Value {
    if (this.#next >= this.#items.length) throw new Fault('not enough arguments for format string')
    return this.#items[this.#next++]!
  }

  #count(written: string | undefined): number | undefined {
    if (written === undefined) return undefined
    if (written !== '*') return Number(written)
    const count = asInteger(this.#take())
    if (count === undefined) throw new Fault('* wants int')
    return Number(count)
  }

  #one(match: RegExpExecArray): Text {
    const [whole, name, flags, width, precision, kind] = match
    if (kind === undefined) throw new Fault('incomplete format')
    let size = this.#count(width) ?? 0
    const digits = whole.includes('.') ? (this.#count(precision) ?? 0) : undefined
    if (kind === '%') return trustedText('%')
    const left = flags!.includes('-') || size < 0
    size = Math.abs(size)
    this.#budget.make(size + (digits ?? 0))
    const value = name === undefined ? this.#take() : this.#named(name)
    const text = this.#convert(value, kind, flags!, digits)
    const numeric = !'rsac'.includes(kind)
    return pad(text, size, left ? '<' : numeric && flags!.includes('0') ? '=' : '>')
  }

  #named(name: string): Value {
    this.#usedNames = true
    if (!(this.#values instanceof Dict)) throw new Fault('format requires a mapping')
    const value = this.#values.named(name)
    if (value === undefined) throw new Fault(`no key '${name}' for the format string`)
    return value
  }

  #convert(value: Value, kind: string, flags: string, digits: number | undefined): Text {
    switch (kind) {
      case 's':
        return cut(toText(value, this.#budget), digits)
      case 'r':
      case 'a':
        return cut(repr(value, this.#budget), digits)
      case 'c':
        return this.#character(value)
      case 'd':
      case 'i':
      case 'u':
        return trustedText(signed(padDigits(showInteger(whole(value, kind)), digits), flags))
      case 'o':
      case 'x':
      case 'X':
        return trustedText(
          signed(padDigits(radix(whole(value, kind, true), kind, flags), digits), flags),
        )
      default: {
        if (!'eEfFgG'.includes(kind)) throw new Fault(`unsupported format character '${kind}'`)
        const number = typeof value === 'number' ? value : Number(whole(value, kind))
        return trustedText(
          signed(formatFloat(number, kind, digits ?? 6, flags.includes('#')), flags),
        )
      }
    }
  }

  #character(value: Value): Text {
    if (value instanceof Text && value.length === 1) return value
    const code = asInteger(value)
    if (code === undefined || code < 0n || code > 0x10ffffn) {
      throw new Fault('%c requires int or char')
    }
    return trustedText(String.fromCodePoint(Number(code)))
  }
}

/** Python lets anything but a tuple that has items go unused: it may be meant for `%(name)s`. */
function isSubscriptable(values: Value): boolean {
  return values instanceof Dict || values instanceof List || values instanceof Undefined
}

function whole(value: Value, kind: string, exact = false): bigint {
  const integer = asInteger(value)
  if (integer !== undefined) return integer
  if (typeof value === 'number' && Number.isFinite(value) && !exact)
    return BigInt(Math.trunc(value))
  throw new Fault(`%${kind} format: a number is required, not ${typeName(value)}`)
}

function radix(value: bigint, kind: string, flags: string): string {
  const digits = (value < 0n ? -value : value).toString(kind === 'o' ? 8 : 16)
  const prefix = flags.includes('#') ? `0${kind.toLowerCase()}` : ''
  const text = prefix + digits
  return (value < 0n ? '-' : '') + (kind === 'X' ? text.toUpperCase() : text)
}

function padDigits(text: string, digits: number | undefined): string {
  if (digits === undefined) return text
  const sign = text.startsWith('-') ? '-' : ''
  return sign + text.slice(sign.length).padStart(digits, '0')
}

function signed(text: string, flags: string): string {
  if (text.startsWith('-')) return text
  if (flags.includes('+')) return `+${text}`
  return flags.includes(' ') ? ` ${text}` : text
}

function cut(text: Text, length: number | undefined): Text {
  return length === undefined || length >= text.length ? text : text.slice(0, text.offset(length))
}

/** `=` puts zeros between sign and digits. */
export function pad(text: Text, width: number, align: '<' | '>' | '=' | '^', fill?: Text): Text {
  const missing = width - text.length
  if (missing <= 0) return text
  const filler = fill ?? trustedText(align === '=' ? '0' : ' ')
  const before = align === '<' ? 0 : align === '^' ? Math.floor(missing / 2) : missing
  const prefix = align === '=' ? /^[-+ ]?(?:0[xXob])?/.exec(text.value)![0].length : 0
  const out = new Builder()
  out.add(text.slice(0, prefix))
  for (let i = 0; i < before; i++) out.add(filler)
  out.add(text.slice(prefix))
  for (let i = before; i < missing; i++) out.add(filler)
  return out.build(text.safe)
}
