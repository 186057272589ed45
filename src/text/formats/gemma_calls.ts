// Gemma's own notation of calls: call:name{key:<|"|>text<|"|>,count:2,list:[true]}.
import type { RawCall } from './call_body.ts'

/** Nesting that is followed; deeper values are no calls. */
const depthMax = 64

/** `quote` is the mark around strings: `<|"|>` in Gemma 4, `<escape>` in FunctionGemma. */
export function gemmaCalls(inside: string, quote: string): RawCall[] | undefined {
  const reader = new Reader(inside.trim(), quote)
  const call = reader.call()
  return call && [call]
}

class Reader {
  readonly #text: string
  readonly #quote: string
  #at = 0

  constructor(text: string, quote: string) {
    this.#text = text
    this.#quote = quote
  }

  call(): RawCall | undefined {
    const header = /^call:([\w.-]+)\s*(?=\{)/.exec(this.#text)
    if (!header) return undefined
    this.#at = header[0].length
    const args = this.#value(0)
    return args === undefined || this.#at < this.#text.length
      ? undefined
      : { name: header[1]!, args }
  }

  /** Undefined where the notation is broken; null is a value. */
  #value(depth: number): unknown {
    if (depth > depthMax) return undefined
    if (this.#skip('{')) return this.#object(depth)
    if (this.#skip('[')) return this.#array(depth)
    if (this.#skip(this.#quote)) return this.#string()
    return this.#scalar()
  }

  #object(depth: number): unknown {
    const result = new Map<string, unknown>()
    while (!this.#skip('}')) {
      if (result.size > 0 && !this.#skip(',')) return undefined
      const key = this.#key()
      const value = key === undefined ? undefined : this.#value(depth + 1)
      if (value === undefined) return undefined
      result.set(key!, value)
    }
    return Object.fromEntries(result)
  }

  #array(depth: number): unknown {
    const result: unknown[] = []
    while (!this.#skip(']')) {
      if (result.length > 0 && !this.#skip(',')) return undefined
      const value = this.#value(depth + 1)
      if (value === undefined) return undefined
      result.push(value)
    }
    return result
  }

  #key(): string | undefined {
    const quoted = this.#skip(this.#quote)
    const end = this.#text.indexOf(quoted ? `${this.#quote}:` : ':', this.#at)
    if (end < 0) return undefined
    const key = this.#text.slice(this.#at, end)
    this.#at = end + (quoted ? this.#quote.length : 0) + 1
    return quoted ? key : key.trim()
  }

  #string(): string | undefined {
    const end = this.#text.indexOf(this.#quote, this.#at)
    if (end < 0) return undefined
    const value = this.#text.slice(this.#at, end)
    this.#at = end + this.#quote.length
    return value
  }

  #scalar(): unknown {
    const pattern = /[^,\]}]+/y
    pattern.lastIndex = this.#at
    const word = pattern.exec(this.#text)?.[0].trim()
    if (word === undefined || word === '') return undefined
    this.#at = pattern.lastIndex
    if (word === 'null' || word === 'None') return null
    if (/^(true|false)$/i.test(word)) return word.toLowerCase() === 'true'
    return /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(word) ? Number(word) : word
  }

  #skip(mark: string): boolean {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
    if (!this.#text.startsWith(mark, this.#at)) return false
    this.#at += mark.length
    return true
  }
}
