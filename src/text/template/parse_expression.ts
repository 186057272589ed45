// Parses expressions with Jinja's precedence: or, and, not, order, + -, ~, * / // %, **, signs.
import type { BinaryOperator, CompareOperator, Comparison, Expression } from './ast.ts'
import { OperandParser, type TupleOptions } from './parse_operand.ts'
import { show } from './token_stream.ts'

const comparisons: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>='])

export class ExpressionParser extends OperandParser {
  /** One expression; `a if b else c` included unless `conditional` is false. */
  override expression(conditional = true): Expression {
    return this.tokens.nested(() => (conditional ? this.#condition() : this.#or()))
  }

  /** Expressions separated by commas make a tuple. `stops` are names that may end it. */
  override tuple(options: TupleOptions = {}): Expression {
    const at = this.tokens.current.at
    const items: Expression[] = []
    let isTuple = false
    while (!this.#tupleEnds(options.stop)) {
      items.push(this.expression(options.conditional ?? true))
      if (!this.tokens.skip('operator', ',')) break
      isTuple = true
    }
    if (isTuple || (items.length === 0 && options.mayBeEmpty)) return { kind: 'tuple', items, at }
    return items[0] ?? this.tokens.fail(`expected an expression, got ${show(this.tokens.current)}`)
  }

  #tupleEnds(stop: string | undefined): boolean {
    const { tokens } = this
    if (tokens.is('print end') || tokens.is('block end') || tokens.is('operator', ')')) return true
    return stop !== undefined && tokens.is('name', stop)
  }

  #condition(): Expression {
    let yes = this.#or()
    while (this.tokens.is('name', 'if')) {
      const { at } = this.tokens.take()
      const test = this.#or()
      const no = this.tokens.skip('name', 'else') ? this.expression() : undefined
      yes = { kind: 'condition', test, yes, no, at }
    }
    return yes
  }

  #or(): Expression {
    let left = this.#and()
    while (this.tokens.is('name', 'or')) {
      const { at } = this.tokens.take()
      left = { kind: 'or', left, right: this.#and(), at }
    }
    return left
  }

  #and(): Expression {
    let left = this.#not()
    while (this.tokens.is('name', 'and')) {
      const { at } = this.tokens.take()
      left = { kind: 'and', left, right: this.#not(), at }
    }
    return left
  }

  #not(): Expression {
    if (!this.tokens.is('name', 'not')) return this.#compare()
    const { at } = this.tokens.take()
    return { kind: 'unary', operator: 'not', operand: this.tokens.nested(() => this.#not()), at }
  }

  #compare(): Expression {
    const { at } = this.tokens.current
    const first = this.#sum()
    const rest: Comparison[] = []
    for (let op = this.#comparison(); op !== undefined; op = this.#comparison()) {
      rest.push({ operator: op, right: this.#sum() })
    }
    return rest.length === 0 ? first : { kind: 'compare', first, rest, at }
  }

  #comparison(): CompareOperator | undefined {
    const { tokens } = this
    if (tokens.is('operator') && comparisons.has(tokens.current.value)) {
      return tokens.take().value as CompareOperator
    }
    if (tokens.skip('name', 'in')) return 'in'
    if (!tokens.is('name', 'not') || !tokens.aheadIs('name', 'in')) return undefined
    tokens.take()
    tokens.take()
    return 'not in'
  }

  #sum(): Expression {
    return this.#binary(['+', '-'], () => this.#concat())
  }

  #concat(): Expression {
    const { at } = this.tokens.current
    const items = [this.#product()]
    while (this.tokens.skip('operator', '~')) items.push(this.#product())
    return items.length === 1 ? items[0]! : { kind: 'concat', items, at }
  }

  #product(): Expression {
    return this.#binary(['*', '/', '//', '%'], () =>
      // Jinja's power is left-associative, unlike Python's.
      this.#binary(['**'], () => this.#unary(true)),
    )
  }

  #binary(operators: readonly BinaryOperator[], operand: () => Expression): Expression {
    let left = operand()
    for (;;) {
      const token = this.tokens.current
      const operator = token.kind === 'operator' && operators.find((op) => op === token.value)
      if (!operator) return left
      this.tokens.take()
      left = { kind: 'binary', operator, left, right: operand(), at: token.at }
    }
  }

  #unary(withFilters: boolean): Expression {
    const token = this.tokens.current
    let result: Expression
    if (token.kind === 'operator' && (token.value === '-' || token.value === '+')) {
      this.tokens.take()
      const operand = this.tokens.nested(() => this.#unary(false))
      result = { kind: 'unary', operator: token.value, operand, at: token.at }
    } else {
      result = this.primary()
    }
    result = this.postfix(result)
    return withFilters ? this.filters(result) : result
  }
}
