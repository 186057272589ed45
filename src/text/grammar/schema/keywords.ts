// The keywords of JSON Schema 2020-12: which count, which say nothing about values, which are
// refused.
import { GrammarError } from '../../../errors/index.ts'

/** A JSON Schema 2020-12, or a part of one. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown }

/** A part of a schema and where it stands: a JSON pointer. */
export interface Located {
  schema: JsonSchema
  path: string
}

/** A part that is an object, with its keywords checked. */
export interface Atom {
  schema: { readonly [keyword: string]: unknown }
  path: string
}

/** Says what happens to keywords that are not supported. */
export interface UnsupportedOptions {
  /** 'refuse' (default) throws a GrammarError; 'ignore' goes on without the keyword. */
  unsupported?: 'refuse' | 'ignore' | undefined
  /** Told of each keyword that was ignored. */
  onWarning?: ((warning: SchemaWarning) => void) | undefined
}

export interface SchemaWarning {
  keyword: string
  /** Where it stands: a JSON pointer. */
  path: string
  problem: string
}

/** Keywords that do not restrict values. */
const annotations = new Set([
  ...['$schema', '$id', '$anchor', '$defs', '$comment', '$vocabulary', 'definitions', 'title'],
  ...['description', 'default', 'examples', 'example', 'deprecated', 'readOnly', 'writeOnly'],
  ...[
    'contentEncoding',
    'contentMediaType',
    'contentSchema',
    'discriminator',
    'externalDocs',
    'xml',
  ],
])

type Check = (value: unknown) => boolean

const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value)
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isSchema: Check = (value) =>
  typeof value === 'boolean' ||
  (typeof value === 'object' && value !== null && !Array.isArray(value))
const isList =
  (item: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(item)
const isSchemaList: Check = (value) => isList(isSchema)(value) && (value as []).length > 0
const isSchemaMap: Check = (value) =>
  isSchema(value) && typeof value === 'object' && Object.values(value as object).every(isSchema)
const isString: Check = (value) => typeof value === 'string'

export const typeNames = [
  'null',
  'boolean',
  'number',
  'integer',
  'string',
  'array',
  'object',
] as const
const isType: Check = (value) => (typeNames as readonly unknown[]).includes(value)

/** What each supported keyword takes, in words and as a check. */
const supported: Record<string, readonly [string, Check]> = {
  type: ['a type or a list of types', (value) => isType(value) || isList(isType)(value)],
  enum: ['a list', Array.isArray],
  const: ['a value', () => true],
  multipleOf: ['a number above 0', (value) => isNumber(value) && (value as number) > 0],
  minimum: ['a number', isNumber],
  maximum: ['a number', isNumber],
  exclusiveMinimum: ['a number', isNumber],
  exclusiveMaximum: ['a number', isNumber],
  minLength: ['a count', isCount],
  maxLength: ['a count', isCount],
  pattern: ['a string', isString],
  format: ['a string', isString],
  items: ['a schema', isSchema],
  prefixItems: ['a list of schemas', isSchemaList],
  minItems: ['a count', isCount],
  maxItems: ['a count', isCount],
  uniqueItems: ['a boolean', (value) => typeof value === 'boolean'],
  properties: ['schemas by name', isSchemaMap],
  required: ['a list of names', isList(isString)],
  additionalProperties: ['a schema', isSchema],
  minProperties: ['a count', isCount],
  maxProperties: ['a count', isCount],
  $ref: ['a string', isString],
  allOf: ['a list of schemas', isSchemaList],
  anyOf: ['a list of schemas', isSchemaList],
  oneOf: ['a list of schemas', isSchemaList],
}

/** The types that a keyword says something about. */
export const keywordTypes: Record<string, (typeof typeNames)[number]> = {
  multipleOf: 'number',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  minLength: 'string',
  maxLength: 'string',
  pattern: 'string',
  format: 'string',
  items: 'array',
  prefixItems: 'array',
  minItems: 'array',
  maxItems: 'array',
  uniqueItems: 'array',
  properties: 'object',
  required: 'object',
  additionalProperties: 'object',
  minProperties: 'object',
  maxProperties: 'object',
}

/** Refuses or drops what is not supported, as the options say. */
export class KeywordPolicy {
  readonly #options: UnsupportedOptions
  readonly #warned = new Set<string>()

  constructor(options: UnsupportedOptions) {
    this.#options = options
  }

  /**
   * Called where a keyword cannot be heeded; returns when it is to be ignored.
   *
   * @throws GrammarError by default.
   */
  refuse(keyword: string, path: string, problem: string): void {
    if (this.#options.unsupported !== 'ignore') throw new GrammarError(keyword, path, problem)
    const key = `${keyword} ${path}`
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    this.#options.onWarning?.({ keyword, path, problem })
  }

  /** The supported keywords of a part of a schema. */
  check({ schema, path }: Located & { schema: object }): Atom {
    const kept: Record<string, unknown> = {}
    for (const [keyword, value] of Object.entries(schema)) {
      if (annotations.has(keyword) || keyword.startsWith('x-')) continue
      const known = Object.hasOwn(supported, keyword) ? supported[keyword] : undefined
      if (known === undefined) {
        if (value !== undefined) this.refuse(keyword, path, 'the keyword is not supported')
      } else if (!known[1](value)) {
        throw new GrammarError(keyword, path, `must be ${known[0]}`)
      } else {
        kept[keyword] = value
      }
    }
    return { schema: kept, path }
  }
}

/** A path with one more step, escaped as JSON pointers are. */
export function below(path: string, ...steps: (string | number)[]): string {
  return [
    path,
    ...steps.map((step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1')),
  ].join('/')
}
