// JSON Schema 2020-12 as a grammar.
import { GrammarError } from '../../../errors/index.ts'
import { CompiledGrammar } from '../compiled_grammar.ts'
import { choice, type Expression, type Rules, repeat, rule, sequence, text } from '../expression.ts'
import type { GrammarVocabulary } from '../token_trie.ts'
import {
  elementGoal,
  largest,
  listedValues,
  meantTypes,
  prefixLength,
  smallest,
  type ValueType,
} from './constraints.ts'
import { isImpossible } from './disjoint.ts'
import { type Conjunction, Expander } from './expand.ts'
import { bracketed, jsonRule, jsonRules, literal, type Whitespace } from './json_text.ts'
import {
  type Atom,
  type JsonSchema,
  KeywordPolicy,
  type Located,
  type UnsupportedOptions,
} from './keywords.ts'
import { numberExpression } from './numbers.ts'
import { objectExpression } from './objects.ts'
import { stringExpression } from './strings.ts'
import { meetsAll } from './validate.ts'

/** Most rules a schema may need. */
const ruleMax = 20_000

/** How a schema becomes a grammar. */
export interface JsonSchemaOptions extends UnsupportedOptions {
  /**
   * 'common' (default) lets JSON be printed as programs and models do: one space, or a line break
   * and indentation, after brackets, commas and colons and before closing brackets. 'none' is the
   * compact form alone.
   */
  whitespace?: Whitespace | undefined
}

/**
 * Compiles a JSON Schema for a vocabulary: every text that the grammar completes is JSON that the
 * schema accepts.
 *
 * Supported exactly: `type`, `enum`, `const`; `minimum`, `maximum`, `exclusiveMinimum`,
 * `exclusiveMaximum`, whole `multipleOf`; `minLength`, `maxLength`, regular `pattern`s, the
 * `format`s date, time, date-time, uuid, ipv4 and email; `items`, `prefixItems`, `minItems`,
 * `maxItems`; `properties`, `required`, `additionalProperties`, `minProperties`, `maxProperties`;
 * `allOf`, `anyOf`, `oneOf` with branches that exclude each other, `$ref` within the schema. Every
 * other keyword that restricts values is refused by name.
 *
 * Decided where the standard leaves or gives more: properties come in the order of their
 * declaration; an object without `additionalProperties` has the declared properties only; a schema
 * without `type` means the types that its keywords speak of.
 *
 * ```ts
 * const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
 * const state = compileJsonSchema(schema, vocabulary).start()
 * ```
 *
 * @throws GrammarError {keyword, path} for a keyword that is not supported or not valid, and when
 * nothing can meet the schema.
 */
export function compileJsonSchema(
  schema: JsonSchema,
  vocabulary: GrammarVocabulary,
  options: JsonSchemaOptions = {},
): CompiledGrammar {
  return new CompiledGrammar(jsonSchemaRules(schema, options), vocabulary)
}

/** The rules of a schema, without a vocabulary. @throws as `compileJsonSchema`. */
export function jsonSchemaRules(schema: JsonSchema, options: JsonSchemaOptions = {}): Rules {
  const { whitespace = 'common', unsupported = 'refuse' } = options
  if (whitespace !== 'common' && whitespace !== 'none') {
    throw new TypeError(`whitespace must be 'common' or 'none', got ${String(whitespace)}`)
  }
  if (unsupported !== 'refuse' && unsupported !== 'ignore') {
    throw new TypeError(`unsupported must be 'refuse' or 'ignore', got ${String(unsupported)}`)
  }
  if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null)) {
    throw new TypeError(`a schema must be an object or a boolean, got ${String(schema)}`)
  }
  return new SchemaCompiler(schema, new KeywordPolicy(options), whitespace).compile()
}

class SchemaCompiler {
  readonly #root: JsonSchema
  readonly #policy: KeywordPolicy
  readonly #expander: Expander
  readonly #rules: Map<string, Expression>
  readonly #queue: { name: string; goal: readonly Located[] }[] = []

  constructor(root: JsonSchema, policy: KeywordPolicy, whitespace: Whitespace) {
    this.#root = root
    this.#policy = policy
    this.#rules = jsonRules(whitespace)
    this.#expander = new Expander(root, policy, (a, b, others) =>
      isImpossible([a, b, ...others], this.#expander),
    )
  }

  compile(): Rules {
    const start = 'schema'
    this.#queue.push({ name: start, goal: [{ schema: this.#root, path: '' }] })
    for (let next = this.#queue.pop(); next !== undefined; next = this.#queue.pop()) {
      const ways = this.#expander.expand(next.goal)
      this.#rules.set(next.name, choice(...ways.flatMap((atoms) => this.#conjunction(atoms))))
    }
    return { start, rules: this.#rules }
  }

  /** A call of the rule for a goal, which is made once. */
  readonly #goal = (goal: readonly Located[]): Expression => {
    const paths = [...new Set(goal.filter(({ schema }) => schema !== true).map(({ path }) => path))]
    if (paths.length === 0) return rule(jsonRule.value)
    const name = `schema ${paths.sort().join(' & ')}`
    if (!this.#rules.has(name)) {
      if (this.#rules.size >= ruleMax) {
        throw new GrammarError('schema', paths[0]!, `more than ${ruleMax} combinations of parts`)
      }
      this.#rules.set(name, choice())
      this.#queue.push({ name, goal })
    }
    return rule(name)
  }

  #conjunction(atoms: Conjunction): Expression[] {
    this.#refuseUnique(atoms)
    const listed = listedValues(atoms)
    if (listed !== undefined) {
      return listed.filter((value) => meetsAll(value, atoms, this.#expander)).map(literal)
    }
    const { types, isWhole } = meantTypes(atoms)
    return [...types].map((type) => this.#type(type, isWhole, atoms))
  }

  #type(type: ValueType, isWhole: boolean, atoms: Conjunction): Expression {
    switch (type) {
      case 'null':
        return text('null')
      case 'boolean':
        return choice(text('true'), text('false'))
      case 'number':
        return numberExpression(atoms, isWhole, this.#policy)
      case 'string':
        return stringExpression(atoms, this.#policy)
      case 'array':
        return this.#array(atoms)
      case 'object':
        return objectExpression(atoms, this.#goal, this.#policy)
    }
  }

  /** First elements one by one, each of which may be the last; then the rest, counted. */
  #array(atoms: Conjunction): Expression {
    const min = largest(atoms, 'minItems', 0)
    const max = smallest(atoms, 'maxItems', Number.POSITIVE_INFINITY)
    if (min > max) return choice()
    const comma = sequence(text(','), rule(jsonRule.space))
    const prefix = Math.min(prefixLength(atoms), max)
    const edges: { from: number; to: number; label: Expression }[] = []
    const accepting: boolean[] = []
    for (let index = 0; index <= prefix; index++) accepting.push(index >= min)
    for (let index = 0; index < prefix; index++) {
      const element = this.#goal(elementGoal(atoms, index))
      const label = index === 0 ? element : sequence(comma, element)
      edges.push({ from: index, to: index + 1, label })
    }
    if (max > prefix) {
      const element = this.#goal(elementGoal(atoms, prefix))
      const rest = sequence(comma, element)
      const low = Math.max(1, min - prefix)
      // At the beginning of the array the first element has no comma.
      const label =
        prefix > 0
          ? repeat(rest, low, max - prefix)
          : sequence(element, repeat(rest, low - 1, max - 1))
      edges.push({ from: prefix, to: accepting.push(true) - 1, label })
    }
    return bracketed('[', { kind: 'graph', edges, accepting }, ']')
  }

  #refuseUnique(atoms: Conjunction): void {
    const holder: Atom | undefined = atoms.find(({ schema }) => schema.uniqueItems === true)
    const isShort = smallest(atoms, 'maxItems', Number.POSITIVE_INFINITY) <= 1
    if (holder === undefined || isShort || listedValues(atoms) !== undefined) return
    this.#policy.refuse('uniqueItems', holder.path, 'the keyword is not supported')
  }
}
