// What a file says about its vocabulary, before any default is filled in.
import type { Strings } from './string_table.ts'

/** Ids of tokens with a role; -1 where the vocabulary has none. */
export interface SpecialIds {
  bos: number
  eos: number
  /** Ends a turn of a conversation. */
  eot: number
  /** Ends a message that another of the same turn follows. */
  eom: number
  unknown: number
  separator: number
  padding: number
  mask: number
  fimPrefix: number
  fimSuffix: number
  fimMiddle: number
  fimPadding: number
  fimRepository: number
  fimSeparator: number
}

/** Kinds of tokens, by the numbers GGUF files use. */
export const TokenType = {
  undefined: 0,
  normal: 1,
  unknown: 2,
  control: 3,
  userDefined: 4,
  unused: 5,
  byte: 6,
} as const

/**
 * The input of `createTokenizer`. Only `model` and `tokens` must be there (and `merges` for
 * byte-pair vocabularies); what is left out gets the default of its kind of vocabulary.
 */
export interface VocabularySource {
  /** `llama`, `gpt2`, `gemma4`, `bert`, `t5`, `rwkv`, `plamo2`, `whitespace`, `none`. */
  model: string
  /** How byte-pair vocabularies cut text into words, for example `llama-bpe`. */
  pre?: string | undefined
  /** Name and architecture of the model: a few token properties are known by these alone. */
  name?: string | undefined
  architecture?: string | undefined
  tokens: Strings
  /** One per token. */
  scores?: Float32Array | undefined
  /** One `TokenType` per token. */
  types?: Int32Array | undefined
  /** Pairs of pieces with a space between, best first. */
  merges?: Strings | undefined
  ids?: Partial<SpecialIds> | undefined
  addBos?: boolean | undefined
  addEos?: boolean | undefined
  addSeparator?: boolean | undefined
  addSpacePrefix?: boolean | undefined
  removeExtraWhitespaces?: boolean | undefined
  lowercase?: boolean | undefined
  stripAccents?: boolean | undefined
  /** SentencePiece's compiled normalization rules. */
  precompiledCharsmap?: Uint8Array | undefined
}
