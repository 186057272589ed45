// Tokenizers: text to ids and back, for every kind of vocabulary that GGUF files carry.

export { preTokenizerNames } from './pre_tokenizers.ts'
export { colorTokens, type ShownToken, showTokens } from './show_tokens.ts'
export { entryBytes, entryText, type Strings, type StringTable } from './string_table.ts'
export {
  createTokenizer,
  createTokenizerAsync,
  type DecodeOptions,
  type EncodeAsyncOptions,
  type EncodeOptions,
  Tokenizer,
} from './tokenizer.ts'
export { Attribute, Vocabulary, type VocabularyKind } from './vocabulary.ts'
export { type MetadataLookup, vocabularyFromMetadata } from './vocabulary_metadata.ts'
export { type SpecialIds, TokenType, type VocabularySource } from './vocabulary_source.ts'
