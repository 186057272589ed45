// WordPiece, unigram, RWKV and PLaMo 2 vocabularies, and none at all.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { UnsupportedModelError } from '../../../src/errors/index.ts'
import {
  createTokenizer,
  type Tokenizer,
  type VocabularySource,
} from '../../../src/text/tokenizer/index.ts'
import { byteTokens, type Piece, pieces } from './vocabularies.ts'

function made(
  model: string,
  list: readonly Piece[],
  more: Partial<VocabularySource> = {},
): Tokenizer {
  return createTokenizer({ model, ...pieces(list), ids: { unknown: 0 }, ...more })
}

const shown = (tokenizer: Tokenizer, text: string): string[] =>
  Array.from(tokenizer.encode(text, { addSpecial: false }), (id) => tokenizer.pieceText(id))

describe('WordPiece', () => {
  const list: Piece[] = [
    ['[UNK]', 0, 'unknown'],
    ['[CLS]', 0, 'control'],
    ['[SEP]', 0, 'control'],
    ['▁want'],
    ['want'],
    ['ed'],
    ['▁un'],
    ['▁runn'],
    ['ing'],
    ['▁,'],
    ['▁中'],
    ['▁i'],
  ]
  const ids = { unknown: 0, bos: 1, separator: 2 }
  const bert = made('bert', list, { ids })

  test('takes the longest pieces of small words without accents', () => {
    expect(shown(bert, 'UNwantéd,running')).toEqual(['▁un', 'want', 'ed', '▁,', '▁runn', 'ing'])
  })

  test('a word with an uncovered part is unknown as a whole', () => {
    expect(shown(bert, 'want wantx xyz')).toEqual(['▁want', '[UNK]', '[UNK]'])
  })

  test('ideographs are words, control characters are nothing, İ is i', () => {
    expect(shown(bert, '中中 un\u200b\u0000wanted\u00a0İ')).toEqual([
      ...['▁中', '▁中', '▁un', 'want', 'ed', '▁i'],
    ])
  })

  test('keeps capitals and accents where the file says so', () => {
    const cased = made('bert', list, { ids, lowercase: false })
    expect(shown(cased, 'Want want')).toEqual(['[UNK]', '▁want'])
  })

  test('puts its two tokens around a text', () => {
    expect([...bert.encode('want')]).toEqual([1, 3, 2])
    expect([...bert.encode('')]).toEqual([1, 2])
  })

  test('decoding joins punctuation to words', () => {
    expect(bert.decode(bert.encode('want, want'))).toBe('want, want')
  })
})

describe('unigram', () => {
  const list: Piece[] = [
    ['<unk>', 0, 'unknown'],
    ['a', -2],
    ['b', -2],
    ['c', -2],
    ['ab', -3],
    ['bc', -2.5],
    ['abc', -5.1],
    ['▁', -1],
  ]
  const plain = { addEos: false, ids: { unknown: 0 } }
  const unigram = made('t5', list, plain)

  test('takes the most probable cut, not the longest pieces', () => {
    expect(shown(unigram, 'abc')).toEqual(['a', 'bc'])
  })

  test('several unknown characters in a row are one unknown token', () => {
    expect(shown(unigram, 'aéèb')).toEqual(['a', '<unk>', 'b'])
  })

  test('pieces of users cost nothing', () => {
    const tokenizer = made('t5', [...list, ['bcb', -99, 'userDefined']], plain)
    expect(shown(tokenizer, 'abcb')).toEqual(['a', 'bcb'])
  })

  test('the sum of the scores is the greatest of all cuts', () => {
    const score = new Map(list.map(([piece, value]) => [piece, value ?? 0]))
    const best = (text: string): number => {
      if (text === '') return 0
      const sums = [...score].map(([piece, value]) =>
        piece !== '' && text.startsWith(piece) ? value + best(text.slice(piece.length)) : -Infinity,
      )
      return Math.max(...sums)
    }
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 9 })
    fc.assert(
      fc.property(text, (each) => {
        const sum = shown(unigram, each).reduce((total, piece) => total + score.get(piece)!, 0)
        expect(sum).toBeCloseTo(best(each), 4)
      }),
      { numRuns: 200 },
    )
  })

  test('spaces: a mark in front, and runs of them as one where the file says so', () => {
    const tidy = { ...plain, addSpacePrefix: true, removeExtraWhitespaces: true }
    expect(shown(made('t5', list, tidy), ' a  b ')).toEqual(['▁', 'a', '▁', 'b'])
    const kept = { ...plain, addSpacePrefix: true }
    expect(shown(made('t5', list, kept), 'a  b')).toEqual(['▁', 'a', '▁', '▁', 'b'])
  })

  /**
   * One rule, by hand: node 0 has base 0x100; the child by 0x41 lies at 0x100 ^ 0x41 = 0x141, is a
   * leaf, and its base 0x200 leads to 0x141 ^ 0x200 = 0x341, which holds the offset of the
   * replacement.
   */
  const charsmap = (offset: number): Uint8Array => {
    const index = new Uint32Array(0x342)
    index[0] = 0x100 << 10
    index[0x141] = (0x200 << 10) | (1 << 8) | 0x41
    index[0x341] = 0x80000000 | offset
    const replacements = new TextEncoder().encode('x\0bc\0')
    const bytes = new Uint8Array(4 + index.byteLength + replacements.length)
    new DataView(bytes.buffer).setUint32(0, index.byteLength, true)
    index.forEach((entry, i) => {
      new DataView(bytes.buffer).setUint32(4 + 4 * i, entry, true)
    })
    bytes.set(replacements, 4 + index.byteLength)
    return bytes
  }

  test('the charsmap replaces what it holds', () => {
    const tokenizer = made('t5', list, { ...plain, precompiledCharsmap: charsmap(2) })
    expect(shown(tokenizer, 'aAa')).toEqual(['a', 'bc', 'a'])
  })

  test('a damaged charsmap replaces nothing or is refused', () => {
    const beyond = made('t5', list, { ...plain, precompiledCharsmap: charsmap(1 << 20) })
    expect(shown(beyond, 'aAa')).toEqual(['a', '<unk>', 'a'])
    for (const bytes of [Uint8Array.of(1), Uint8Array.of(255, 255, 255, 255, 0)]) {
      const build = () => made('t5', list, { ...plain, precompiledCharsmap: bytes })
      expect(build).toThrow(UnsupportedModelError)
    }
  })

  test('any charsmap of random bytes ends', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 64, maxLength: 256 }), fc.string(), (bytes, text) => {
        bytes.set([48, 0, 0, 0])
        made('t5', list, { ...plain, precompiledCharsmap: bytes }).encode(`aA${text}`)
      }),
      { numRuns: 300 },
    )
  })
})

describe('RWKV', () => {
  const list: Piece[] = [
    ['<s>', 0, 'control'],
    ['a'],
    ['ab'],
    ['abcd'],
    ['\\n'],
    ['\\xe4\\xb8'],
    ['\\\\'],
  ]
  const rwkv = made('rwkv', list, { ids: {} })

  test('takes the longest piece from the left', () => {
    expect([...rwkv.encode('abca')]).toEqual([2, 1])
    expect([...rwkv.encode('abcda')]).toEqual([3, 1])
  })

  test('pieces are written as in Python', () => {
    expect([...rwkv.encode('a\n\\')]).toEqual([1, 4, 6])
    expect(rwkv.pieceBytes(5).toHex()).toBe('e4b8')
    expect(rwkv.decode([1, 4, 6])).toBe('a\n\\')
  })
})

describe('PLaMo 2', () => {
  const list: Piece[] = [
    ['<unk>', 0, 'unknown'],
    ...byteTokens,
    ['a', -2],
    ['b', -2],
    ['ab', -4],
    ['ba', -3],
  ]
  const plamo = made('plamo2', list)

  test('takes the cheapest cut, the longest piece among equals', () => {
    expect(shown(plamo, 'ab')).toEqual(['ab'])
    expect(shown(plamo, 'aba')).toEqual(['a', 'ba'])
  })

  test('characters without a piece become bytes, a byte order mark in front nothing', () => {
    expect(shown(plamo, '\ufeffaé')).toEqual(['a', '<0xC3>', '<0xA9>'])
  })

  test('every byte must have a token', () => {
    expect(() => made('plamo2', [['a']])).toThrow('no token for the byte 0')
  })
})

describe('no vocabulary', () => {
  const none = createTokenizer({ model: 'none', tokens: ['', ''] })

  test('counts ids, but reads no text', () => {
    expect(none.vocabularySize).toBe(2)
    expect([...none.encode('')]).toEqual([])
    expect(() => none.encode('a')).toThrow('the model has no vocabulary')
    expect(none.decode([0, 1])).toBe('')
  })
})
