// What tests of JSON Schema say: which texts a schema matches, and how it is refused.
import { expect } from 'bun:test'
import { GrammarError } from '../../../src/errors/index.ts'
import {
  compileJsonSchema,
  type JsonSchema,
  type JsonSchemaOptions,
} from '../../../src/text/grammar/index.ts'
import { makeVocabulary, pieces } from './vocabulary.ts'

export const vocabulary = makeVocabulary(pieces)
const encoder = new TextEncoder()

/** Expects the compact forms of values inside to be matched, those outside not. */
export function expectLanguage(
  schema: JsonSchema,
  inside: unknown[],
  outside: unknown[],
  options: JsonSchemaOptions = { whitespace: 'none' },
): void {
  const grammar = compileJsonSchema(schema, vocabulary, options)
  const matches = (text: string) => {
    const state = grammar.start()
    return state.acceptBytes(encoder.encode(text)) && state.isComplete
  }
  const write = (value: unknown) => (value instanceof Raw ? value.text : JSON.stringify(value))
  for (const text of inside.map(write)) expect([text, matches(text)]).toEqual([text, true])
  for (const text of outside.map(write)) expect([text, matches(text)]).toEqual([text, false])
}

/** Text that is not the compact form of a value. */
export class Raw {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** The GrammarError that a schema is refused with. */
export function refusal(schema: JsonSchema, options?: JsonSchemaOptions): GrammarError {
  try {
    compileJsonSchema(schema, vocabulary, options)
  } catch (error) {
    expect(error).toBeInstanceOf(GrammarError)
    return error as GrammarError
  }
  throw new Error(`not refused: ${JSON.stringify(schema)}`)
}
