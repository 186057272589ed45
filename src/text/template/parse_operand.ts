// Parses operands: literals, names, and the attributes, items, calls, filters and tests after them.
import type { CallArguments, Expression, FilterExpression } from './ast.ts'
import { trustedText } from './text.ts'
import { show, type TokenStream } from './token_stream.ts'
import { none, type Value } from './values.ts'

const constants: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', none],
  ['None', none],
])

const noArguments: CallArguments = { positional: [], named: [], list: undefined, dict: undefined }

export interface TupleOptions {
  /** Whether items may be `a if b else c`. Default: true. */
  readonly conditional?: boolean
  /** A name that ends the tuple, such as `in`. */
  readonly stop?: string
  readonly mayBeEmpty?: boolean
}

export abstract class OperandParser {
  readonly tokens: TokenStream
  /** Names read since the innermost macro began, one set per open macro. */
  protected readonly reads: Set<string>[] = []

  constructor(tokens: TokenStream) {
    this.tokens = tokens
  }

  abstract expression(conditional?: boolean): Expression
  abstract tuple(options?: TupleOptions): Expression

  protected primary(): Expression {
    const { tokens } = this
    const { kind, value, at } = tokens.current
    if (kind === 'name') return this.#name()
    if (kind === 'string') return this.#string()
    if (kind === 'integer') return { kind: 'constant', value: BigInt(tokens.take().value), at }
    if (kind === 'float') return { kind: 'constant', value: Number(tokens.take().value), at }
    if (kind === 'operator' && value === '(') {
      tokens.take()
      const inside = tokens.nested(() => this.tuple({ mayBeEmpty: true }))
      tokens.expect('operator', ')')
      return inside
    }
    if (kind === 'operator' && value === '[') return this.#list()
    if (kind === 'operator' && value === '{') return this.#dict()
    return tokens.fail(`unexpected ${show(tokens.current)}`)
  }

  #name(): Expression {
    const { value, at } = this.tokens.take()
    const constant = constants.get(value)
    if (constant !== undefined) return { kind: 'constant', value: constant, at }
    for (const names of this.reads) names.add(value)
    return { kind: 'name', name: value, at }
  }

  /** Literals that follow each other are one string. */
  #string(): Expression {
    const { at } = this.tokens.current
    let value = ''
    while (this.tokens.is('string')) value += this.tokens.take().value
    return { kind: 'constant', value: trustedText(value), at }
  }

  #list(): Expression {
    const { at } = this.tokens.expect('operator', '[')
    const items: Expression[] = []
    while (!this.tokens.is('operator', ']')) {
      items.push(this.expression())
      if (!this.tokens.skip('operator', ',')) break
    }
    this.tokens.expect('operator', ']')
    return { kind: 'list', items, at }
  }

  #dict(): Expression {
    const { at } = this.tokens.expect('operator', '{')
    const pairs: [Expression, Expression][] = []
    while (!this.tokens.is('operator', '}')) {
      const key = this.expression()
      this.tokens.expect('operator', ':')
      pairs.push([key, this.expression()])
      if (!this.tokens.skip('operator', ',')) break
    }
    this.tokens.expect('operator', '}')
    return { kind: 'dict', pairs, at }
  }

  protected postfix(start: Expression): Expression {
    let result = start
    for (;;) {
      const { at } = this.tokens.current
      if (this.tokens.skip('operator', '.')) result = this.#member(result, at)
      else if (this.tokens.is('operator', '[')) result = this.#subscript(result)
      else if (this.tokens.is('operator', '(')) {
        result = { kind: 'call', callee: result, args: this.callArguments(), at }
      } else return result
    }
  }

  #member(object: Expression, at: number): Expression {
    const token = this.tokens.take()
    if (token.kind === 'name') return { kind: 'attribute', object, name: token.value, at }
    if (token.kind !== 'integer') this.tokens.fail('expected a name or a number', token.at)
    const index: Expression = { kind: 'constant', value: BigInt(token.value), at: token.at }
    return { kind: 'item', object, index, at }
  }

  #subscript(object: Expression): Expression {
    const { at } = this.tokens.expect('operator', '[')
    if (this.tokens.is('operator', ':')) return this.#slice(object, undefined, at)
    const items = [this.expression()]
    if (this.tokens.is('operator', ':')) return this.#slice(object, items[0], at)
    let isTuple = false
    while (this.tokens.skip('operator', ',')) {
      isTuple = true
      if (!this.tokens.is('operator', ']')) items.push(this.expression())
    }
    this.tokens.expect('operator', ']')
    const index: Expression = isTuple ? { kind: 'tuple', items, at } : items[0]!
    return { kind: 'item', object, index, at }
  }

  #slice(object: Expression, start: Expression | undefined, at: number): Expression {
    const bound = (): Expression | undefined =>
      this.tokens.is('operator', ':') || this.tokens.is('operator', ']')
        ? undefined
        : this.expression()
    this.tokens.expect('operator', ':')
    const stop = bound()
    const step = this.tokens.skip('operator', ':') ? bound() : undefined
    this.tokens.expect('operator', ']')
    return { kind: 'slice', object, bounds: [start, stop, step], at }
  }

  callArguments(): CallArguments {
    const { tokens } = this
    const positional: Expression[] = []
    const named: [string, Expression][] = []
    let list: Expression | undefined
    let dict: Expression | undefined
    tokens.expect('operator', '(')
    while (!tokens.is('operator', ')')) {
      const { at } = tokens.current
      if (dict) tokens.fail('no argument may follow **', at)
      if (tokens.skip('operator', '*')) {
        if (list) tokens.fail('only one * argument is allowed', at)
        list = this.expression()
      } else if (tokens.skip('operator', '**')) {
        dict = this.expression()
      } else if (tokens.is('name') && tokens.aheadIs('operator', '=')) {
        const name = tokens.take().value
        tokens.take()
        named.push([name, this.expression()])
      } else {
        if (list || named.length > 0) tokens.fail('positional arguments come first', at)
        positional.push(this.expression())
      }
      if (!tokens.skip('operator', ',')) break
    }
    tokens.expect('operator', ')')
    return { positional, named, list, dict }
  }

  protected filters(start: Expression): Expression {
    let result = start
    for (;;) {
      const { at } = this.tokens.current
      if (this.tokens.skip('operator', '|')) result = this.filter(result)
      else if (this.tokens.is('name', 'is')) result = this.#test(result)
      else if (this.tokens.is('operator', '(')) {
        result = { kind: 'call', callee: result, args: this.callArguments(), at }
      } else return result
    }
  }

  /** A filter's name and arguments, after `|` or at the start of a filter block. */
  filter(object: Expression | undefined): FilterExpression {
    const { at } = this.tokens.current
    const name = this.#dottedName()
    const args = this.tokens.is('operator', '(') ? this.callArguments() : noArguments
    return { kind: 'filter', name, object, args, at }
  }

  #dottedName(): string {
    let name = this.tokens.expect('name').value
    while (this.tokens.skip('operator', '.')) name += `.${this.tokens.expect('name').value}`
    return name
  }

  #test(object: Expression): Expression {
    const { at } = this.tokens.expect('name', 'is')
    const negated = this.tokens.skip('name', 'not')
    const name = this.#dottedName()
    let args = noArguments
    if (this.tokens.is('operator', '(')) args = this.callArguments()
    else if (this.#testOperandFollows()) {
      args = { ...noArguments, positional: [this.postfix(this.primary())] }
    }
    const test: Expression = { kind: 'test', name, object, args, at }
    return negated ? { kind: 'unary', operator: 'not', operand: test, at } : test
  }

  /** `x is divisibleby 3` needs no parentheses. */
  #testOperandFollows(): boolean {
    const { kind, value } = this.tokens.current
    if (kind === 'name') {
      if (value === 'is') this.tokens.fail('tests cannot be chained with is')
      return value !== 'else' && value !== 'or' && value !== 'and'
    }
    if (kind === 'operator') return value === '[' || value === '{'
    return kind === 'string' || kind === 'integer' || kind === 'float'
  }
}
