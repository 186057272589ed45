// Reads GBNF, the grammar notation of llama.cpp (its grammars/README.md describes it).
import { GrammarError } from '../../errors/index.ts'
import { allCodePoints, codePoints, looseComplement } from './code_points.ts'
import { choice, type Expression, empty, type Rules, repeat, rule, sequence } from './expression.ts'

/** Deepest nesting of parentheses. */
const depthMax = 500

/** Largest count in `{m,n}`. */
const repetitionMax = 1_000_000

/** Finds the id of the token with exactly this text, for `<text>`. */
export type FindToken = (text: string) => number | undefined

/**
 * Parses a grammar whose start is the rule `root`. A rule defined twice has its last definition.
 * The empty string is the grammar that allows everything.
 *
 * ```ts
 * parseGbnf('root ::= item ("," item)*\nitem ::= [0-9]{1,3}')
 * ```
 *
 * @throws GrammarError with `path` line:column for a mistake in the notation, an undefined rule, a
 * missing `root`, or a `<text>` that is no single token.
 */
export function parseGbnf(source: string, findToken: FindToken = () => undefined): Rules {
  if (source === '') {
    const anyToken: Expression = { kind: 'token', ids: [], negated: true }
    return { start: 'root', rules: new Map([['root', repeat(anyToken, 0)]]) }
  }
  return new Parser(source, findToken).parse()
}

class Parser {
  readonly #source: string
  readonly #findToken: FindToken
  readonly #rules = new Map<string, Expression>()
  /** Where each rule is first used. */
  readonly #uses = new Map<string, number>()
  #at = 0
  #depth = 0

  constructor(source: string, findToken: FindToken) {
    this.#source = source
    this.#findToken = findToken
  }

  parse(): Rules {
    this.#skipSpace(true)
    while (this.#at < this.#source.length) this.#parseRule()
    for (const [name, at] of this.#uses) {
      if (!this.#rules.has(name)) this.#fail(`the rule ${name} is not defined`, name, at)
    }
    if (!this.#rules.has('root')) this.#fail('there is no rule root', 'root')
    return { start: 'root', rules: this.#rules }
  }

  #parseRule(): void {
    const name = this.#parseName()
    if (name === '') this.#fail(`expected the name of a rule, found ${this.#found()}`)
    this.#skipSpace(false)
    if (!this.#source.startsWith('::=', this.#at)) {
      this.#fail(`expected ::= after ${name}, found ${this.#found()}`, name)
    }
    this.#at += 3
    this.#skipSpace(true)
    this.#rules.set(name, this.#parseChoice(false))
    if (this.#at < this.#source.length && !this.#isNewline()) {
      this.#fail(`expected a new line, found ${this.#found()}`, name)
    }
    this.#skipSpace(true)
  }

  #parseChoice(nested: boolean): Expression {
    const items = [this.#parseSequence(nested)]
    while (this.#source[this.#at] === '|') {
      this.#at++
      this.#skipSpace(true)
      items.push(this.#parseSequence(nested))
    }
    return choice(...items)
  }

  #parseSequence(nested: boolean): Expression {
    const items: Expression[] = []
    for (;;) {
      const start = this.#at
      const item = this.#parseItem()
      if (item !== undefined) {
        items.push(item)
      } else {
        const bounds = this.#parseRepetition()
        if (bounds === undefined) return items.length === 0 ? empty : sequence(...items)
        const last = items.pop()
        if (last === undefined) this.#fail('nothing stands before the repetition', 'repeat', start)
        items.push(repeat(last, ...bounds))
      }
      this.#skipSpace(nested)
    }
  }

  /** A literal, class, group, dot, token or rule name; undefined when none begins here. */
  #parseItem(): Expression | undefined {
    const char = this.#source[this.#at]
    switch (char) {
      case '"':
        return this.#parseLiteral()
      case '[':
        return this.#parseClass()
      case '.':
        this.#at++
        return { kind: 'class', points: looseComplement([]), encoding: 'loose' }
      case '(':
        return this.#parseGroup()
      case '<':
      case '!':
        return this.#parseToken()
    }
    const start = this.#at
    const name = this.#parseName()
    if (name === '') return undefined
    if (!this.#uses.has(name)) this.#uses.set(name, start)
    return rule(name)
  }

  #parseLiteral(): Expression {
    const start = this.#at++
    let text = ''
    while (this.#source[this.#at] !== '"') {
      if (this.#atEnd()) this.#fail('the literal has no closing quote', 'literal', start)
      text += String.fromCodePoint(this.#parseCharacter())
    }
    this.#at++
    return { kind: 'bytes', bytes: new TextEncoder().encode(text) }
  }

  #parseClass(): Expression {
    const start = this.#at++
    const negated = this.#source[this.#at] === '^'
    if (negated) this.#at++
    const pairs: number[] = []
    while (this.#source[this.#at] !== ']') {
      if (this.#atEnd()) this.#fail('the class has no closing bracket', 'class', start)
      const first = this.#parseCharacter()
      let last = first
      if (this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']') {
        this.#at++
        if (this.#atEnd()) this.#fail('the class has no closing bracket', 'class', start)
        last = this.#parseCharacter()
        if (last < first) this.#fail('the range is upside down', 'class', start)
      }
      pairs.push(first, last)
    }
    this.#at++
    const points = codePoints(pairs)
    if (!negated && points.length === 0) this.#fail('the class is empty', 'class', start)
    return { kind: 'class', points: negated ? looseComplement(points) : points, encoding: 'loose' }
  }

  #parseGroup(): Expression {
    const start = this.#at++
    if (++this.#depth > depthMax) {
      this.#fail(`parentheses are nested more than ${depthMax} deep`, 'group', start)
    }
    this.#skipSpace(true)
    const inner = this.#parseChoice(true)
    if (this.#source[this.#at] !== ')') {
      this.#fail(`expected ), found ${this.#found()}`, 'group')
    }
    this.#at++
    this.#depth--
    return inner
  }

  /** `<[12]>`, `<text>`, each perhaps after `!`. */
  #parseToken(): Expression {
    const start = this.#at
    const negated = this.#source[this.#at] === '!'
    if (negated) this.#at++
    const match = /^<(?:\[(\d{1,10})\]|[^\s<>]+)>/.exec(
      this.#source.slice(this.#at, this.#at + 512),
    )
    if (match === null) this.#fail('expected <[id]> or <text>', 'token', start)
    this.#at += match[0].length
    const id = match[1] === undefined ? this.#findToken(match[0]) : Number(match[1])
    if (id === undefined) {
      this.#fail(`${match[0]} is not one token of the vocabulary`, 'token', start)
    }
    return { kind: 'token', ids: [id], negated }
  }

  #parseRepetition(): [number, number] | undefined {
    const start = this.#at
    switch (this.#source[this.#at]) {
      case '*':
        this.#at++
        return [0, Number.POSITIVE_INFINITY]
      case '+':
        this.#at++
        return [1, Number.POSITIVE_INFINITY]
      case '?':
        this.#at++
        return [0, 1]
      case '{':
        break
      default:
        return undefined
    }
    const match = /^\{\s*(\d+)\s*(?:(,)\s*(\d+)?\s*)?\}/.exec(
      this.#source.slice(this.#at, this.#at + 80),
    )
    if (match === null) this.#fail('expected {m}, {m,} or {m,n}', 'repeat')
    this.#at += match[0].length
    const min = Number(match[1])
    const open = match[2] === undefined ? min : Number.POSITIVE_INFINITY
    const max = match[3] === undefined ? open : Number(match[3])
    if (max < min) this.#fail(`the repetition ${match[0]} ends below its start`, 'repeat', start)
    if (min > repetitionMax || (max > repetitionMax && max !== Number.POSITIVE_INFINITY)) {
      this.#fail(`the repetition ${match[0]} is above ${repetitionMax}`, 'repeat', start)
    }
    return [min, max]
  }

  /** A code point, perhaps as an escape. */
  #parseCharacter(): number {
    const point = this.#source.codePointAt(this.#at)!
    this.#at += point > 0xffff ? 2 : 1
    if (point !== 0x5c) return point
    const start = this.#at - 1
    const kind = this.#source[this.#at++]
    const simple = kind === undefined ? -1 : 'trn\\"[]'.indexOf(kind)
    if (simple >= 0) return '\t\r\n\\"[]'.charCodeAt(simple)
    const length = kind === 'x' ? 2 : kind === 'u' ? 4 : kind === 'U' ? 8 : 0
    const digits = this.#source.slice(this.#at, this.#at + length)
    if (length === 0 || !new RegExp(`^[0-9a-fA-F]{${length}}$`).test(digits)) {
      this.#fail(`${this.#source.slice(start, this.#at + length)} is no escape`, 'escape', start)
    }
    this.#at += length
    const value = Number.parseInt(digits, 16)
    if (value > allCodePoints[1]!) this.#fail(`${digits} is no code point`, 'escape', start)
    return value
  }

  #parseName(): string {
    const start = this.#at
    while (/[A-Za-z0-9_-]/.test(this.#source[this.#at] ?? '')) this.#at++
    return this.#source.slice(start, this.#at)
  }

  #skipSpace(newlines: boolean): void {
    for (;;) {
      const char = this.#source[this.#at]
      if (char === '#') {
        while (!this.#atEnd() && !this.#isNewline()) this.#at++
      } else if (char === ' ' || char === '\t' || (newlines && this.#isNewline())) {
        this.#at++
      } else {
        return
      }
    }
  }

  #isNewline(): boolean {
    const char = this.#source[this.#at]
    return char === '\n' || char === '\r'
  }

  #atEnd(): boolean {
    return this.#at >= this.#source.length
  }

  #found(): string {
    return this.#atEnd() ? 'the end' : JSON.stringify(this.#source[this.#at])
  }

  #fail(problem: string, keyword = 'grammar', at = this.#at): never {
    const before = this.#source.slice(0, at)
    const line = before.split('\n').length
    const column = at - before.lastIndexOf('\n')
    throw new GrammarError(keyword, `${line}:${column}`, problem)
  }
}
