// Constrained output: grammars and schemas that decide which tokens may come next.
import { CompiledGrammar } from './compiled_grammar.ts'
import { parseGbnf } from './gbnf.ts'
import { type GrammarVocabulary, trieOf } from './token_trie.ts'

export { CompiledGrammar, GrammarState } from './compiled_grammar.ts'
export { type FindToken, parseGbnf } from './gbnf.ts'
export { type GrammarTriggers, LazyGrammarState, startLazily } from './lazy_grammar.ts'
export { type PartialJson, parsePartialJson } from './partial_json.ts'
export { compileJsonSchema, type JsonSchemaOptions, jsonSchemaRules } from './schema/json_schema.ts'
export type { JsonSchema, SchemaWarning } from './schema/keywords.ts'
export type { GrammarVocabulary } from './token_trie.ts'

/**
 * Compiles a GBNF grammar for a vocabulary.
 *
 * ```ts
 * const grammar = compileGrammar('root ::= "yes" | "no"', vocabulary)
 * const state = grammar.start()
 * const token = sampler.sample(logits, state.mask())
 * state.accept(token)
 * ```
 *
 * The trie of the vocabulary is made at the first grammar and kept for the vocabulary object.
 *
 * @throws GrammarError when the grammar is not valid, is left-recursive or matches nothing.
 */
export function compileGrammar(gbnf: string, vocabulary: GrammarVocabulary): CompiledGrammar {
  const findToken = (text: string) => vocabulary.tokenId?.(text) ?? findByBytes(vocabulary, text)
  return new CompiledGrammar(parseGbnf(gbnf, findToken), vocabulary)
}

/**
 * Makes the trie of a vocabulary ahead of its first grammar: some 100 ms for 128,000 tokens, once
 * for each vocabulary object.
 */
export function prepareVocabulary(vocabulary: GrammarVocabulary): void {
  trieOf(vocabulary)
}

function findByBytes(vocabulary: GrammarVocabulary, text: string): number | undefined {
  const wanted = new TextEncoder().encode(text)
  for (let token = 0; token < vocabulary.size; token++) {
    const bytes = vocabulary.bytes(token)
    if (bytes.length === wanted.length && bytes.every((byte, i) => byte === wanted[i])) return token
  }
  return undefined
}
