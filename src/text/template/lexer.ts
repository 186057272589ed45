// Splits a template into data and the tokens of its tags, with Jinja's white-space rules as chat
// templates use them: trim_blocks and lstrip_blocks on, one trailing newline dropped.
import { SyntaxFault } from './fault.ts'
import { onlySpaces, skipSpaces, skipSpacesBack } from './spaces.ts'
import { decodeString } from './string_escapes.ts'

export type TokenKind =
  | 'data'
  | 'block begin'
  | 'block end'
  | 'print begin'
  | 'print end'
  | 'name'
  | 'string'
  | 'integer'
  | 'float'
  | 'operator'
  | 'end'

export interface Token {
  readonly kind: TokenKind
  /** Data, name, operator or decoded string; digits without underscores. */
  readonly value: string
  readonly at: number
}

/** Longest first, so that `//` is not two `/`. */
const operator = /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}<>=.:|,;]/y
const name = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/uy
const float = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy
const integer = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy
const string = /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y

/** In the order they are tried. */
const patterns: readonly (readonly [TokenKind, RegExp])[] = [
  ['float', float],
  ['integer', integer],
  ['name', name],
  ['string', string],
  ['operator', operator],
]

const closers: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' }

/** Line ends become `\n` and one trailing newline goes, before offsets are counted. */
export function normaliseSource(source: string): string {
  const lines = source.replace(/\r\n?/g, '\n')
  return lines.endsWith('\n') ? lines.slice(0, -1) : lines
}

/** `source` must be normalised. Throws `SyntaxFault`. */
export function tokenize(source: string): Token[] {
  return new Lexer(source).run()
}

class Lexer {
  readonly #source: string
  readonly #tokens: Token[] = []
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  run(): Token[] {
    while (this.#at < this.#source.length) this.#data()
    this.#push('end', '', this.#source.length)
    return this.#tokens
  }

  #push(kind: TokenKind, value: string, at: number): void {
    this.#tokens.push({ kind, value, at })
  }

  /** Data up to the next tag, then that tag. */
  #data(): void {
    const start = this.#at
    const open = this.#nextOpening(start)
    if (open < 0) {
      this.#push('data', this.#source.slice(start), start)
      this.#at = this.#source.length
      return
    }
    const kind = this.#source[open + 1]!
    const sign = this.#signAt(open + 2)
    this.#pushData(start, open, sign, kind !== '{')
    this.#at = open + 2 + sign.length
    if (kind === '#') this.#comment(open)
    else if (kind === '{') this.#tag('print begin', 'print end', '}}', open)
    else if (!this.#raw(open)) this.#tag('block begin', 'block end', '%}', open)
  }

  #nextOpening(from: number): number {
    for (
      let at = this.#source.indexOf('{', from);
      at >= 0;
      at = this.#source.indexOf('{', at + 1)
    ) {
      const next = this.#source[at + 1]
      if (next === '{' || next === '%' || next === '#') return at
    }
    return -1
  }

  #signAt(at: number): string {
    const sign = this.#source[at]
    return sign === '-' || sign === '+' ? sign : ''
  }

  /** `-` strips all white space before the tag; else a tag alone on its line loses its indent. */
  #pushData(start: number, end: number, sign: string, mayLoseIndent: boolean): void {
    let stop = end
    if (sign === '-') stop = skipSpacesBack(this.#source, end, start)
    else if (sign === '' && mayLoseIndent) {
      const newline = this.#source.lastIndexOf('\n', end - 1)
      const line = end > 0 && newline >= start ? newline + 1 : start
      const startsLine = line === 0 || this.#source[line - 1] === '\n'
      if (startsLine && onlySpaces.test(this.#source.slice(line, end))) stop = line
    }
    if (stop > start) this.#push('data', this.#source.slice(start, stop), start)
  }

  #comment(open: number): void {
    const close = this.#source.indexOf('#}', this.#at)
    if (close < 0) throw new SyntaxFault(open, 'a comment is not closed; expected #}')
    const before = close > this.#at ? this.#source[close - 1]! : ''
    this.#afterClosing(close + 2, before === '-' || before === '+' ? before : '')
  }

  /** What follows a block tag: `-` strips white space, `+` keeps it, nothing drops one newline. */
  #afterClosing(at: number, sign: string): void {
    if (sign === '-') this.#at = skipSpaces(this.#source, at)
    else this.#at = sign === '' && this.#source[at] === '\n' ? at + 1 : at
  }

  /** `{% raw %}…{% endraw %}`; false when the tag is another one. */
  #raw(open: number): boolean {
    const begin = /\s*raw\s*(?:-%\}\s*|%\})/y
    begin.lastIndex = this.#at
    if (!begin.test(this.#source)) return false
    const start = begin.lastIndex
    const end = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/g
    end.lastIndex = start
    const match = end.exec(this.#source)
    if (!match) throw new SyntaxFault(open, 'a raw block is not closed; expected {% endraw %}')
    this.#pushData(start, match.index, match[1]!, true)
    this.#afterClosing(end.lastIndex, match[2]!)
    return true
  }

  #tag(begin: TokenKind, end: TokenKind, closing: string, open: number): void {
    this.#push(begin, '', open)
    const brackets: string[] = []
    for (;;) {
      this.#at = skipSpaces(this.#source, this.#at)
      const at = this.#at
      if (at >= this.#source.length) {
        throw new SyntaxFault(open, `a tag is not closed; expected ${closing}`)
      }
      if (brackets.length === 0 && this.#closing(closing)) {
        this.#push(end, '', at)
        return
      }
      this.#token(brackets)
    }
  }

  /** Consumes the end of a tag, its sign included. */
  #closing(closing: string): boolean {
    const sign = this.#signAt(this.#at)
    if (!this.#source.startsWith(closing, this.#at + sign.length)) return false
    if (closing === '%}') this.#afterClosing(this.#at + sign.length + 2, sign)
    else if (sign === '') this.#at += 2
    else if (sign === '-') this.#at = skipSpaces(this.#source, this.#at + 3)
    else return false
    return true
  }

  #token(brackets: string[]): void {
    const at = this.#at
    const { kind, value } = this.#scan() ?? this.#unreadable()
    if (kind === 'operator') this.#balance(value, at, brackets)
    this.#push(kind, value, at)
  }

  #scan(): { kind: TokenKind; value: string } | undefined {
    const at = this.#at
    for (const [kind, pattern] of patterns) {
      const value = this.#match(pattern)
      if (value === undefined) continue
      if (kind === 'string') return { kind, value: decodeString(value.slice(1, -1), at) }
      const isNumber = kind === 'float' || kind === 'integer'
      return { kind, value: isNumber ? value.replaceAll('_', '') : value }
    }
    return undefined
  }

  #unreadable(): never {
    const character = String.fromCodePoint(this.#source.codePointAt(this.#at)!)
    const quote = character === '"' || character === "'"
    throw new SyntaxFault(this.#at, quote ? 'a string is not closed' : `unexpected ${character}`)
  }

  #balance(symbol: string, at: number, brackets: string[]): void {
    if (symbol in closers) brackets.push(closers[symbol]!)
    else if (symbol === '}' || symbol === ')' || symbol === ']') {
      const expected = brackets.pop()
      if (expected === symbol) return
      const wish = expected === undefined ? '' : `, expected ${expected}`
      throw new SyntaxFault(at, `unexpected ${symbol}${wish}`)
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#source)
    if (!match) return undefined
    this.#at = pattern.lastIndex
    return match[0]
  }
}
