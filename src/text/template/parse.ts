// Parses a template's statements; expressions are in parse_expression.ts.
import type {
  Block,
  Expression,
  FilterExpression,
  IfBranch,
  MacroBody,
  Signature,
  Statement,
  Target,
} from './ast.ts'
import { SyntaxFault } from './fault.ts'
import { tokenize } from './lexer.ts'
import { ExpressionParser } from './parse_expression.ts'
import { trustedText } from './text.ts'
import { TokenStream } from './token_stream.ts'

/** Tags of Jinja that need other templates, escaping or translations; chat templates have none. */
const refused: Readonly<Record<string, string>> = {
  include: 'a chat template stands alone',
  import: 'a chat template stands alone',
  from: 'a chat template stands alone',
  extends: 'a chat template stands alone',
  autoescape: 'chat templates are not escaped',
  do: 'chat templates are rendered without that extension',
  trans: 'chat templates are rendered without that extension',
  debug: 'chat templates are rendered without that extension',
}

const notAssignable: ReadonlySet<string> = new Set([
  'true',
  'True',
  'false',
  'False',
  'none',
  'None',
])

/** `source` must be normalised (`normaliseSource`). Throws `SyntaxFault`. */
export function parse(source: string): Block {
  return new StatementParser(new TokenStream(tokenize(source))).template()
}

class StatementParser extends ExpressionParser {
  /** Open loops around the current statement, counted within its macro. */
  #loops = 0

  template(): Block {
    return this.#statements([])
  }

  /** Statements up to a tag named in `ends`, which becomes the current token. */
  #statements(ends: readonly string[]): Block {
    const { tokens } = this
    const result: Statement[] = []
    for (;;) {
      const { kind, value, at } = tokens.take()
      if (kind === 'data') result.push({ kind: 'text', text: trustedText(value), at })
      else if (kind === 'print begin') {
        result.push({ kind: 'print', value: this.tuple(), at })
        tokens.expect('print end')
      } else if (kind === 'block begin') {
        if (tokens.is('name') && ends.includes(tokens.current.value)) return result
        result.push(...tokens.nested(() => this.#statement()))
        tokens.expect('block end')
      } else {
        if (ends.length > 0) tokens.fail(`expected {% ${ends.join(' %} or {% ')} %}`, at)
        return result
      }
    }
  }

  /** The rest of a tag, its body, and the name of the tag that ended it (consumed). */
  #body(...ends: string[]): { body: Block; end: string } {
    this.tokens.skip('operator', ':')
    this.tokens.expect('block end')
    const body = this.#statements(ends)
    return { body, end: this.tokens.take().value }
  }

  #statement(): Statement[] {
    const { value, at } = this.tokens.expect('name')
    const statement = this.#tag(value, at)
    return Array.isArray(statement) ? statement : [statement]
  }

  #tag(tag: string, at: number): Statement | Statement[] {
    switch (tag) {
      case 'if':
        return this.#if(at)
      case 'for':
        return this.#for(at)
      case 'set':
        return this.#set(at)
      case 'with':
        return this.#with(at)
      case 'macro':
        return this.#macro(at)
      case 'call':
        return this.#callBlock(at)
      case 'filter': {
        const filter = this.#filterChain(undefined)
        return { kind: 'filter block', filter, body: this.#body('endfilter').body, at }
      }
      case 'block':
        return this.#block(at)
      case 'generation':
        return {
          kind: 'generation',
          body: this.#outsideLoops(() => this.#body('endgeneration')).body,
          at,
        }
      case 'print':
        return this.#print(at)
      case 'break':
      case 'continue':
        if (this.#loops === 0) throw new SyntaxFault(at, `${tag} stands outside of a loop`)
        return { kind: tag, at }
      default:
        return this.#unknownTag(tag, at)
    }
  }

  #unknownTag(tag: string, at: number): never {
    const reason = refused[tag]
    if (reason !== undefined) throw new SyntaxFault(at, `{% ${tag} %} is not supported: ${reason}`)
    const stray = tag.startsWith('end') || tag === 'else' || tag === 'elif'
    throw new SyntaxFault(at, stray ? `{% ${tag} %} closes nothing` : `unknown tag ${tag}`)
  }

  #if(at: number): Statement {
    const branches: IfBranch[] = []
    for (;;) {
      const test = this.tuple({ conditional: false })
      const { body, end } = this.#body('elif', 'else', 'endif')
      branches.push({ test, body })
      if (end === 'elif') continue
      const otherwise = end === 'else' ? this.#body('endif').body : []
      return { kind: 'if', branches, otherwise, at }
    }
  }

  #for(at: number): Statement {
    const target = this.#target('in')
    this.tokens.expect('name', 'in')
    const source = this.tuple({ conditional: false, stop: 'recursive' })
    const filter = this.tokens.skip('name', 'if') ? this.expression() : undefined
    const recursive = this.tokens.skip('name', 'recursive')
    this.#loops++
    const { body, end } = this.#body('endfor', 'else')
    this.#loops--
    const otherwise = end === 'else' ? this.#body('endfor').body : []
    return { kind: 'for', target, source, filter, recursive, body, otherwise, at }
  }

  #set(at: number): Statement {
    const target = this.#target()
    if (this.tokens.skip('operator', '=')) return { kind: 'set', target, value: this.tuple(), at }
    const filter = this.tokens.skip('operator', '|') ? this.#filterChain(undefined) : undefined
    return { kind: 'set block', target, filter, body: this.#body('endset').body, at }
  }

  #with(at: number): Statement {
    const targets: [Target, Expression][] = []
    while (!this.tokens.is('block end') && !this.tokens.is('operator', ':')) {
      if (targets.length > 0) this.tokens.expect('operator', ',')
      const target = this.#target()
      this.tokens.expect('operator', '=')
      targets.push([target, this.expression()])
    }
    return { kind: 'with', targets, body: this.#body('endwith').body, at }
  }

  #macro(at: number): Statement {
    const name = this.tokens.expect('name').value
    const { parameters, defaults } = this.#signature()
    return { kind: 'macro', name, macro: this.#macroBody(parameters, defaults, 'endmacro'), at }
  }

  #callBlock(at: number): Statement {
    const signature = this.tokens.is('operator', '(') ? this.#signature() : undefined
    const call = this.expression()
    if (call.kind !== 'call') this.tokens.fail('expected a call', call.at)
    const { parameters, defaults } = signature ?? { parameters: [], defaults: [] }
    return {
      kind: 'call block',
      call,
      caller: this.#macroBody(parameters, defaults, 'endcall'),
      at,
    }
  }

  #signature(): Pick<Signature, 'parameters' | 'defaults'> {
    const { tokens } = this
    const parameters: string[] = []
    const defaults: Expression[] = []
    tokens.expect('operator', '(')
    while (!tokens.is('operator', ')')) {
      parameters.push(tokens.expect('name').value)
      if (tokens.skip('operator', '=')) defaults.push(this.expression())
      else if (defaults.length > 0) tokens.fail('a parameter without default follows one with')
      if (!tokens.skip('operator', ',')) break
    }
    tokens.expect('operator', ')')
    return { parameters, defaults }
  }

  #macroBody(
    parameters: readonly string[],
    defaults: readonly Expression[],
    end: string,
  ): MacroBody {
    const names = new Set<string>()
    this.reads.push(names)
    const { body } = this.#outsideLoops(() => this.#body(end))
    this.reads.pop()
    const uses = (name: string) => names.has(name) && !parameters.includes(name)
    const signature = {
      parameters,
      defaults,
      usesRest: uses('varargs'),
      usesNamedRest: uses('kwargs'),
      usesCaller: uses('caller'),
    }
    return { signature, body }
  }

  /** Bodies that run as functions of their own cannot break a loop around them. */
  #outsideLoops<T>(parseBody: () => T): T {
    const loops = this.#loops
    this.#loops = 0
    const result = parseBody()
    this.#loops = loops
    return result
  }

  #filterChain(object: Expression | undefined): FilterExpression {
    let filter = this.filter(object)
    while (this.tokens.skip('operator', '|')) filter = this.filter(filter)
    return filter
  }

  #block(at: number): Statement {
    const { tokens } = this
    const name = tokens.expect('name').value
    tokens.skip('name', 'scoped')
    tokens.skip('name', 'required')
    const { body } = this.#outsideLoops(() => this.#body('endblock'))
    tokens.skip('name', name)
    return { kind: 'block', body, at }
  }

  #print(at: number): Statement[] {
    const result: Statement[] = []
    while (!this.tokens.is('block end')) {
      result.push({ kind: 'print', value: this.expression(), at })
      if (!this.tokens.skip('operator', ',')) break
    }
    return result
  }

  /** Names separated by commas, `namespace.name` included. */
  #target(stop?: string): Target {
    const { at } = this.tokens.current
    const items = [this.#singleTarget()]
    let isTuple = false
    while (this.tokens.skip('operator', ',')) {
      isTuple = true
      const { tokens } = this
      if (tokens.is('operator', '=') || tokens.is('operator', ')')) break
      if (tokens.is('block end') || (stop !== undefined && tokens.is('name', stop))) break
      items.push(this.#singleTarget())
    }
    return isTuple ? { kind: 'targets', items, at } : items[0]!
  }

  #singleTarget(): Target {
    const { tokens } = this
    const { at } = tokens.current
    if (tokens.skip('operator', '(')) {
      const inside = tokens.nested(() => this.#target())
      tokens.expect('operator', ')')
      return inside
    }
    const name = tokens.expect('name').value
    if (notAssignable.has(name)) tokens.fail(`cannot assign to ${name}`, at)
    if (!tokens.skip('operator', '.')) return { kind: 'name', name, at }
    return { kind: 'member', object: name, name: tokens.expect('name').value, at }
  }
}
