// JSON Schema: combinations, and what is refused by name or cannot be met.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { GrammarError } from '../../../src/errors/index.ts'
import {
  compileJsonSchema,
  type JsonSchema,
  type JsonSchemaOptions,
  type SchemaWarning,
} from '../../../src/text/grammar/index.ts'
import { expectLanguage, refusal, vocabulary } from './schema_language.ts'

// Machines are slow now and then; what must not take long says so itself.
setDefaultTimeout(600_000)

describe('combinations', () => {
  test('allOf joins properties and requirements', () => {
    const part = (name: string) => ({
      type: 'object',
      properties: { [name]: { type: 'integer' } },
      required: [name],
    })
    expectLanguage({ allOf: [part('a'), part('b')] }, [{ a: 1, b: 2 }], [{ a: 1 }, { b: 2 }])
    expectLanguage(
      { ...part('a'), allOf: [{ properties: { a: { minimum: 3 } } }] },
      [{ a: 3 }],
      [{ a: 2 }],
    )
  })

  test('anyOf, also beside other keywords', () => {
    expectLanguage(
      { anyOf: [{ type: 'string', maxLength: 2 }, { type: 'null' }] },
      ['ab', null],
      ['abc', 1],
    )
    expectLanguage(
      {
        type: 'object',
        properties: { a: {}, b: {} },
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
      },
      [{ a: 1 }, { b: 1 }, { a: 1, b: 1 }],
      [{}],
    )
    expectLanguage({ type: ['integer', 'null'] }, [1, null], ['a', 1.5])
  })

  test('oneOf when its branches exclude each other, whatever shows it', () => {
    const kind = (value: string, more: object = {}) => ({
      type: 'object',
      properties: { kind: { const: value }, ...more },
      required: ['kind'],
    })
    expectLanguage(
      { oneOf: [kind('a', { x: { type: 'integer' } }), kind('b')] },
      [{ kind: 'a', x: 1 }, { kind: 'b' }],
      [{ kind: 'c' }, { kind: 'b', x: 1 }],
    )
    expectLanguage(
      {
        oneOf: [
          { type: 'string' },
          { type: 'integer', minimum: 5 },
          { type: 'integer', maximum: 4 },
        ],
      },
      ['a', 5, 4],
      [null],
    )
    expectLanguage(
      { type: 'string', oneOf: [{ const: 'a' }, { enum: ['b', 'c'] }] },
      ['a', 'c'],
      ['d'],
    )
    expectLanguage(
      {
        oneOf: [
          { type: 'object', properties: { a: {} }, required: ['a'] },
          { type: 'object', properties: { b: {} }, additionalProperties: false },
        ],
      },
      [{ a: 1 }, { b: 1 }, {}],
      [{ c: 1 }],
    )
    const error = refusal({ properties: { p: { oneOf: [{ type: 'string' }, { minLength: 2 }] } } })
    expect([error.keyword, error.path]).toEqual(['oneOf', '/properties/p'])
  })

  test('references, recursive ones, anchors and ids', () => {
    const node = {
      type: 'object',
      properties: { v: { type: 'integer' }, next: { $ref: '#/$defs/node' } },
      required: ['v'],
    }
    expectLanguage(
      { $defs: { node }, $ref: '#/$defs/node' },
      [{ v: 1 }, { v: 1, next: { v: 2, next: { v: 3 } } }],
      [{ next: { v: 1 } }, { v: 1, next: 2 }],
    )
    expectLanguage({ type: 'array', items: { $ref: '#' } }, [[], [[], [[]]]], [[1]])
    expectLanguage(
      {
        $id: 'https://example.org/s',
        $defs: { 'a/b~c': { type: 'null' }, n: { $anchor: 'here', const: 1 } },
        anyOf: [{ $ref: '#/$defs/a~1b~0c' }, { $ref: 'https://example.org/s#here' }],
      },
      [null, 1],
      [2],
    )
    expectLanguage(
      { $defs: { s: { type: 'string' } }, $ref: '#/$defs/s', maxLength: 1 },
      ['a'],
      ['ab', 1],
    )
  })

  test('references that lead nowhere', () => {
    for (const $ref of ['#/$defs/none', '#none', 'other.json', '#/%zz', '#']) {
      expect(refusal({ $ref, $defs: {} }).keyword).toBe('$ref')
    }
    expect(
      refusal({
        $ref: '#/$defs/a',
        $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } },
      }).message,
    ).toMatch(/refers to itself/)
  })
})

describe('what nothing can meet', () => {
  const schemas: JsonSchema[] = [
    false,
    { type: 'string', minLength: 5, maxLength: 2 },
    { minLength: 5, maxLength: 2 },
    { type: 'integer', minimum: 3, maximum: 2 },
    { type: 'number', exclusiveMinimum: 1, maximum: 1 },
    { enum: [] },
    { type: [] },
    { type: 'string', enum: [1, 2] },
    { allOf: [{ type: 'string' }, { type: 'null' }] },
    { type: 'array', minItems: 2, items: false },
    { type: 'array', minItems: 3, maxItems: 2 },
    { type: 'object', required: ['a'], properties: { a: false } },
    { type: 'object', required: ['self'], properties: { self: { $ref: '#' } } },
    { type: 'string', pattern: '^a$', minLength: 2 },
    { type: 'object', properties: { a: {} }, minProperties: 2 },
  ]
  for (const schema of schemas) {
    test(JSON.stringify(schema), () => expect(refusal(schema).message).toMatch(/unsatisfiable/))
  }
})

describe('what is not supported', () => {
  const keywords: [string, unknown][] = [
    ['not', {}],
    ['if', {}],
    ['then', {}],
    ['else', {}],
    ['contains', {}],
    ['minContains', 1],
    ['patternProperties', {}],
    ['propertyNames', {}],
    ['dependentRequired', {}],
    ['dependentSchemas', {}],
    ['unevaluatedProperties', false],
    ['unevaluatedItems', false],
    ['$dynamicRef', '#a'],
    ['additionalItems', false],
    ['nullable', true],
    ['madeUp', 1],
  ]
  for (const [keyword, value] of keywords) {
    test(`${keyword} is refused by name, or ignored with a warning`, () => {
      const schema = { type: 'array', items: { type: 'string', [keyword]: value } }
      const error = refusal(schema)
      expect([error.keyword, error.path]).toEqual([keyword, '/items'])
      const warnings: SchemaWarning[] = []
      expectLanguage(schema, [['a']], [[1]], {
        unsupported: 'ignore',
        onWarning: (warning) => warnings.push(warning),
      })
      expect(warnings.map(({ keyword: name, path }) => [name, path])).toEqual([[keyword, '/items']])
    })
  }

  test('unknown formats, repeated items and overlapping oneOf too', () => {
    const ignore: JsonSchemaOptions = { unsupported: 'ignore', whitespace: 'none' }
    expect(refusal({ type: 'string', format: 'postcode' }).keyword).toBe('format')
    expect(refusal({ type: 'array', uniqueItems: true }).keyword).toBe('uniqueItems')
    expectLanguage({ type: 'string', format: 'postcode' }, ['a'], [1], ignore)
    expectLanguage({ type: 'array', uniqueItems: true }, [[1, 1]], [1], ignore)
    expectLanguage({ oneOf: [{ type: 'string' }, { const: 'a' }] }, ['a', 'b'], [1], ignore)
    expectLanguage({ type: 'string', pattern: '(?=a)', maxLength: 1 }, ['b'], ['ab'], ignore)
  })

  test('annotations and x- keywords say nothing', () => {
    expectLanguage(
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: 't',
        description: 'd',
        default: 1,
        examples: [],
        deprecated: true,
        'x-order': 3,
        const: 1,
      },
      [1],
      [2],
    )
  })
})

describe('malformed schemas', () => {
  const schemas: [JsonSchema, string][] = [
    [{ type: 'strng' }, 'type'],
    [{ minLength: '3' }, 'minLength'],
    [{ minLength: -1 }, 'minLength'],
    [{ maxItems: 1.5 }, 'maxItems'],
    [{ multipleOf: 0 }, 'multipleOf'],
    [{ minimum: Number.NaN }, 'minimum'],
    [{ required: 'a' }, 'required'],
    [{ properties: { a: 1 } }, 'properties'],
    [{ items: [{}] }, 'items'],
    [{ enum: 1 }, 'enum'],
    [{ anyOf: [] }, 'anyOf'],
    [{ allOf: {} }, 'allOf'],
    [{ $ref: 1 }, '$ref'],
  ]
  for (const [schema, keyword] of schemas) {
    test(JSON.stringify(schema), () => expect(refusal(schema).keyword).toBe(keyword))
  }

  test('what is no schema, and options that are not valid', () => {
    for (const schema of [null, 1, 'x', undefined]) {
      expect(() => compileJsonSchema(schema as never, vocabulary)).toThrow(TypeError)
    }
    expect(() => compileJsonSchema({}, vocabulary, { whitespace: 'some' as never })).toThrow(
      TypeError,
    )
    expect(() => compileJsonSchema({}, vocabulary, { unsupported: 'drop' as never })).toThrow(
      TypeError,
    )
  })
})

describe('bounds', () => {
  test('schemas that would take forever end in an error or in time', () => {
    let deep: JsonSchema = { type: 'null' }
    for (let i = 0; i < 5000; i++) deep = { type: 'array', items: deep }
    const wide = { anyOf: Array.from({ length: 3 }, (_, i) => ({ const: i })) }
    const product = { allOf: Array.from({ length: 20 }, () => wide) }
    const many = Object.fromEntries(
      Array.from({ length: 300 }, (_, i) => [`p${i}`, { type: 'string' }]),
    )
    const large: JsonSchema[] = [
      deep,
      product,
      { allOf: [...product.allOf, false] },
      { type: 'string', pattern: '(a|b)*a(a|b){3000}', minLength: 1 },
      { type: 'string', pattern: '^(a|b)*a(a|b){3000}$' },
      { type: 'object', properties: many, minProperties: 150 },
      { type: 'string', pattern: '^(a+)+$', minLength: 1, maxLength: 30_000 },
      { type: 'string', pattern: '^.*a.{20}$', maxLength: 100 },
      { type: 'integer', multipleOf: 251, minimum: 12345 },
      { type: 'array', items: { type: 'integer' }, minItems: 100_000 },
    ]
    for (const schema of large) {
      const start = performance.now()
      try {
        compileJsonSchema(schema, vocabulary).start().mask()
      } catch (error) {
        expect(error).toBeInstanceOf(GrammarError)
      }
      expect(performance.now() - start).toBeLessThan(20_000)
    }
  })
})
