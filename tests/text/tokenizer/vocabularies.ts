// Small vocabularies written by hand for tests.
import {
  createTokenizer,
  type Tokenizer,
  TokenType,
  type VocabularySource,
} from '../../../src/text/tokenizer/index.ts'

/** A piece with its score and type; types default to normal, scores to 0. */
export type Piece = readonly [text: string, score?: number, type?: keyof typeof TokenType]

/** The parts of a source that a list of pieces gives. */
export function pieces(
  list: readonly Piece[],
): Pick<VocabularySource, 'tokens' | 'scores' | 'types'> {
  return {
    tokens: list.map(([text]) => text),
    scores: Float32Array.from(list, ([, score]) => score ?? 0),
    types: Int32Array.from(list, ([, , type]) => TokenType[type ?? 'normal']),
  }
}

/** A SentencePiece vocabulary without prefix space or BOS, so that ids are those of the pieces. */
export function spm(list: readonly Piece[], more: Partial<VocabularySource> = {}): Tokenizer {
  return createTokenizer({
    model: 'llama',
    ...pieces(list),
    addBos: false,
    addSpacePrefix: false,
    ids: { unknown: 0 },
    ...more,
  })
}

/** `<0x00>` to `<0xFF>`. */
export const byteTokens: readonly Piece[] = Array.from({ length: 256 }, (_, byte) => [
  `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  0,
  'byte',
])
