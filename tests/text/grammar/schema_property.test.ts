// Property tests: whatever a schema's grammar completes is JSON that ajv accepts, and JSON that ajv
// accepts (in declared order, without undeclared properties) is matched.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import Ajv2020 from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { GrammarError } from '../../../src/errors/index.ts'
import {
  type CompiledGrammar,
  compileJsonSchema,
  type JsonSchema,
} from '../../../src/text/grammar/index.ts'
import { sample } from '../../tier.ts'
import { makeVocabulary, pieces } from './vocabulary.ts'

// Machines are slow now and then; what must not take long says so itself.
setDefaultTimeout(600_000)

const vocabulary = makeVocabulary(pieces)
const runs = sample({ test: 40, ci: 400, full: 10_000 })

const small = fc.integer({ min: -30, max: 30 })
const count = fc.integer({ min: 0, max: 4 })
const names = ['a', 'b', 'na', 'name', 'é"x']
const patterns = [
  '^[a-z]+$',
  'b',
  '\\S',
  '^a?b*$',
  '[0-9]{2}',
  '^(x|yz)',
  'é$',
  '^.{2,4}$',
  'a|^b$',
]
const scalars = fc.constantFrom<unknown[]>(null, true, false, 0, 1, -3, 2.5, '', 'a', 'é"x', 'name')

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })

/** Drops keywords that were not drawn. */
function drawn(keywords: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(keywords).filter(([, value]) => value !== undefined))
}

const { schema: schemas } = fc.letrec<{ schema: JsonSchema }>((tie) => {
  const inner = tie('schema')
  const properties = fc.dictionary(fc.constantFrom(...names), inner, { maxKeys: 3 })
  return {
    schema: fc.oneof(
      { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<JsonSchema>(true, { type: 'null' }, { type: 'boolean' }, {}),
      fc.record({ enum: fc.array(scalars, { minLength: 1, maxLength: 4 }) }).map(drawn),
      fc
        .record({
          type: fc.constantFrom('number', 'integer'),
          minimum: maybe(small),
          exclusiveMaximum: maybe(fc.oneof(small, fc.constantFrom(0.5, 1e-7, 2 ** 40 + 0.25))),
          multipleOf: maybe(fc.constantFrom(2, 3)),
        })
        .map(drawn),
      fc
        .record({
          type: fc.constant('string'),
          minLength: maybe(count),
          maxLength: maybe(count),
          pattern: maybe(fc.constantFrom(...patterns)),
        })
        .map(drawn),
      fc
        .record({
          type: fc.constant('array'),
          items: maybe(inner),
          prefixItems: maybe(fc.array(inner, { minLength: 1, maxLength: 2 })),
          minItems: maybe(count),
          maxItems: maybe(count),
        })
        .map(drawn),
      fc
        .record({
          type: fc.constant('object'),
          properties: maybe(properties),
          required: maybe(fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 })),
          additionalProperties: maybe(inner),
        })
        .map(drawn),
      fc.record({ anyOf: fc.array(inner, { minLength: 1, maxLength: 3 }) }).map(drawn),
      fc.record({ allOf: fc.array(inner, { minLength: 1, maxLength: 2 }) }).map(drawn),
    ),
  }
})

/** undefined when nothing meets the schema. */
function compile(schema: JsonSchema, whitespace: 'none' | 'common'): CompiledGrammar | undefined {
  try {
    return compileJsonSchema(schema, vocabulary, { whitespace })
  } catch (error) {
    if (error instanceof GrammarError && /unsatisfiable/.test(error.message)) return undefined
    throw error
  }
}

/**
 * Draws tokens until the grammar is complete and a coin says so; undefined when it takes too long.
 */
function randomText(grammar: CompiledGrammar, random: () => number): string | undefined {
  const state = grammar.start()
  const bytes: number[] = []
  for (let step = 0; step < 100; step++) {
    const mask = state.mask()
    if (state.isComplete && random() < 0.5)
      return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes))
    const allowed: number[] = []
    for (let token = 0; token < vocabulary.size; token++) {
      if (((mask[token >>> 5]! >>> (token & 31)) & 1) === 1 && token !== vocabulary.end)
        allowed.push(token)
    }
    if (allowed.length === 0) break
    // Closing characters come often, so that most walks end.
    const closing = allowed.filter((token) => '"]}'.includes(String.fromCharCode(token)))
    const from = closing.length > 0 && random() < 0.4 ? closing : allowed
    const token = from[Math.floor(random() * from.length)]!
    state.accept(token)
    bytes.push(...vocabulary.bytes(token))
  }
  return state.isComplete
    ? new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes))
    : undefined
}

function randomNumbers(seed: number): () => number {
  let state = seed | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

function validator(schema: JsonSchema): (value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
  return ajv.compile(schema as object) as (value: unknown) => boolean
}

describe('random schemas', () => {
  test('what the grammar completes parses and validates', () => {
    let complete = 0
    fc.assert(
      fc.property(schemas, fc.integer({ min: 1, max: 2 ** 31 }), (schema, seed) => {
        const grammar = compile(schema, seed % 2 === 0 ? 'none' : 'common')
        if (grammar === undefined) return
        const isValid = validator(schema)
        const random = randomNumbers(seed)
        for (let walk = 0; walk < 4; walk++) {
          const text = randomText(grammar, random)
          if (text === undefined) continue
          complete++
          if (!isValid(JSON.parse(text))) {
            throw new Error(`${text} is not valid for ${JSON.stringify(schema)}`)
          }
        }
      }),
      { numRuns: runs },
    )
    expect(complete).toBeGreaterThan(runs)
  })

  test('a mask allows exactly the tokens that can be accepted', () => {
    fc.assert(
      fc.property(schemas, fc.integer({ min: 1, max: 2 ** 31 }), (schema, seed) => {
        const state = compile(schema, 'common')?.start()
        const random = randomNumbers(seed)
        for (let step = 0; step < 12 && state !== undefined && !state.isFinished; step++) {
          const mask = state.mask()
          const allowed: number[] = []
          for (let token = 0; token < vocabulary.size; token++) {
            const isSet = ((mask[token >>> 5]! >>> (token & 31)) & 1) === 1
            if (isSet !== state.allows(token)) {
              throw new Error(`token ${token} at step ${step} of ${JSON.stringify(schema)}`)
            }
            if (isSet) allowed.push(token)
          }
          if (allowed.length === 0) throw new Error(`a dead end in ${JSON.stringify(schema)}`)
          state.accept(allowed[Math.floor(random() * allowed.length)]!)
        }
      }),
      { numRuns: Math.ceil(runs / 3) },
    )
  })
})

/** Values for the schemas above, likely and unlikely ones. */
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalars,
    small,
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }),
    fc.constantFrom('ab', 'b', 'abc', 'x', 'yz', '12', ' ', 'éé', '😀'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .subarray(names)
      .chain((keys) =>
        fc
          .tuple(...keys.map(() => tie('value')))
          .map((list) => keys.map((key, i) => [key, list[i]])),
      )
      .map((pairs) => Object.fromEntries(pairs)),
  ),
})).value

test('valid values are matched in their compact form, invalid ones are not', () => {
  let valid = 0
  const types = ['number', 'integer', 'string', 'boolean', 'null']
  const flat = schemas.filter(
    (schema) => typeof schema === 'object' && types.includes(String(schema.type)),
  )
  fc.assert(
    fc.property(
      fc.oneof(flat, fc.record({ type: fc.constant('array'), items: flat })),
      fc.array(values, { minLength: 20, maxLength: 20 }),
      (schema, list) => {
        const grammar = compile(schema as JsonSchema, 'none')
        const isValid = validator(schema as JsonSchema)
        for (const value of [...list, list.filter((item) => typeof item === 'number')]) {
          const text = JSON.stringify(value)
          if (text.includes('e-')) continue
          const state = grammar?.start()
          const matched =
            state?.acceptBytes(new TextEncoder().encode(text)) === true && state.isComplete
          if (isValid(value)) valid++
          if (matched !== isValid(value)) {
            throw new Error(
              `${text} ${matched ? 'is' : 'is not'} matched by ${JSON.stringify(schema)}`,
            )
          }
        }
      },
    ),
    { numRuns: runs },
  )
  expect(valid).toBeGreaterThan(runs / 4)
})
