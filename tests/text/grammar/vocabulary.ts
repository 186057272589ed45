// Vocabularies for tests: every byte, and strings of several bytes.
import type { GrammarVocabulary } from '../../../src/text/grammar/index.ts'

/** Tokens 0 to 255 are the bytes, then `extra`, then one token that ends generation. */
export interface TestVocabulary extends GrammarVocabulary {
  readonly end: number
  readonly texts: readonly Uint8Array[]
}

/** `control` are tokens without bytes, known by their text alone. */
export function makeVocabulary(
  extra: readonly string[],
  control: readonly string[] = [],
): TestVocabulary {
  const encoder = new TextEncoder()
  const texts = [
    ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
    ...extra.map((text) => encoder.encode(text)),
    ...control.map(() => new Uint8Array(0)),
    new Uint8Array(0),
  ]
  const end = texts.length - 1
  const firstControl = 256 + extra.length
  return {
    end,
    texts,
    size: texts.length,
    bytes: (token) => texts[token]!,
    isEndOfGeneration: (token) => token === end,
    tokenId: (text) => {
      const index = control.indexOf(text)
      return index < 0 ? undefined : firstControl + index
    },
  }
}

/** Common pieces of JSON and English, as vocabularies of models have them. */
export const pieces: readonly string[] = [
  ...[' ', ',', ':', '{', '}', '[', ']', '"'].flatMap((a) =>
    ['"', ' ', '\n', ','].map((b) => a + b),
  ),
  ...[
    '":',
    '","',
    '": "',
    '"}',
    '"]',
    '"},',
    '{"',
    '[{"',
    '"name',
    'name":',
    '\\"',
    '\\n',
    '\\u00',
  ],
  ...[
    'the',
    ' the',
    'ing',
    ' a',
    'ab',
    'abc',
    'aa',
    'aaa',
    'aaaa',
    'true',
    'false',
    'null',
    'tr',
    'ue',
  ],
  ...[
    'é',
    'Ã©',
    '日',
    '日本',
    '本語',
    '😀',
    '😀😀',
    'x😀',
    'é"',
    '  ',
    '    ',
    '\n  ',
    '12',
    '123',
    '0.',
    '.5',
  ],
  ...[
    '-1',
    'e+',
    'E1',
    '00',
    '10',
    '100',
    '99',
    ': ',
    ', ',
    ': {',
    '[]',
    '{}',
    ' b',
    'bc',
    'b"',
    'c"',
  ],
]

/** The token ids of a text, by bytes. */
export function byteTokens(text: string): number[] {
  return [...new TextEncoder().encode(text)]
}
