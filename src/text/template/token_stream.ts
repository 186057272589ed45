// Walks the tokens of a template and words what was expected where.
import { SyntaxFault } from './fault.ts'
import type { Token, TokenKind } from './lexer.ts'

/** Nesting of expressions and blocks the parser follows before it refuses. */
const nestingMax = 200

export class TokenStream {
  readonly #tokens: readonly Token[]
  #next = 0
  #nesting = 0

  /** `tokens` end with one of kind `end`. */
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  get current(): Token {
    return this.#tokens[this.#next]!
  }

  get ahead(): Token {
    return this.#tokens[Math.min(this.#next + 1, this.#tokens.length - 1)]!
  }

  /** The current token, moving past it; the end stays. */
  take(): Token {
    const token = this.current
    if (token.kind !== 'end') this.#next++
    return token
  }

  is(kind: TokenKind, value?: string): boolean {
    return matches(this.current, kind, value)
  }

  aheadIs(kind: TokenKind, value?: string): boolean {
    return matches(this.ahead, kind, value)
  }

  /** Moves past the current token if it is the one named. */
  skip(kind: TokenKind, value?: string): boolean {
    if (!this.is(kind, value)) return false
    this.take()
    return true
  }

  expect(kind: TokenKind, value?: string): Token {
    if (!this.is(kind, value)) this.fail(`expected ${value ?? kind}, got ${show(this.current)}`)
    return this.take()
  }

  fail(problem: string, at = this.current.at): never {
    throw new SyntaxFault(at, problem)
  }

  /** Runs `parse` one level deeper. */
  nested<T>(parse: () => T): T {
    if (this.#nesting >= nestingMax) this.fail(`nested deeper than ${nestingMax} levels`)
    this.#nesting++
    const result = parse()
    this.#nesting--
    return result
  }
}

function matches(token: Token, kind: TokenKind, value: string | undefined): boolean {
  return token.kind === kind && (value === undefined || token.value === value)
}

/** A token as an error message names it. */
export function show(token: Token): string {
  if (token.kind === 'end') return 'the end of the template'
  if (token.kind === 'string') return 'a string'
  return token.value === '' ? token.kind : token.value
}
