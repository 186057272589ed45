// Byte-pair encoding on vocabularies small enough to follow by hand.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { UnsupportedModelError } from '../../../src/errors/index.ts'
import {
  createTokenizer,
  type Tokenizer,
  type VocabularySource,
} from '../../../src/text/tokenizer/index.ts'
import { byteTokens, type Piece, pieces } from './vocabularies.ts'

/** All bytes in the alphabet of GPT-2, in the order of its vocabulary. */
const alphabet: Piece[] = (() => {
  const isPrintable = (b: number) => (b > 0x20 && b < 0x7f) || (b > 0xa0 && b < 0xad) || b > 0xad
  const bytes = Array.from({ length: 256 }, (_, byte) => byte)
  const others = bytes.filter((byte) => !isPrintable(byte))
  return bytes.map(
    (b): Piece => [String.fromCharCode(isPrintable(b) ? b : 256 + others.indexOf(b))],
  )
})()

function bpe(
  list: readonly Piece[],
  merges: string[],
  more: Partial<VocabularySource> = {},
): Tokenizer {
  return createTokenizer({ model: 'gpt2', pre: 'gpt-2', ...pieces(list), merges, ...more })
}

const shown = (tokenizer: Tokenizer, text: string): string[] =>
  Array.from(tokenizer.encode(text), (id) => tokenizer.pieceText(id))

describe('byte-pair merging', () => {
  const list: Piece[] = [...alphabet, ['ab'], ['abc'], ['bc'], ['Ġa'], ['aa'], ['aaaa']]

  test('joins in the order of the merges, leftmost first', () => {
    const tokenizer = bpe(list, ['b c', 'a b', 'ab c', 'a a', 'aa aa'])
    expect(shown(tokenizer, 'abc')).toEqual(['a', 'bc'])
    expect(shown(tokenizer, 'aaaaa')).toEqual(['aaaa', 'a'])
    expect(shown(tokenizer, 'aaa')).toEqual(['aa', 'a'])
  })

  test('the first of two equal merges counts', () => {
    const tokenizer = bpe(list, ['a b', 'b c', 'a b'])
    expect(shown(tokenizer, 'abc')).toEqual(['ab', 'c'])
  })

  test('spaces are part of words', () => {
    expect(shown(bpe(list, ['Ġ a']), 'a a')).toEqual(['a', 'Ġa'])
  })

  test('a word that is a token stays whole where merges are ignored', () => {
    const merges = ['b c']
    expect(shown(bpe(list, merges), 'abc')).toEqual(['a', 'bc'])
    expect(shown(bpe(list, merges, { pre: 'llama-bpe', addBos: false }), 'abc')).toEqual(['abc'])
  })

  test('a joined piece that is no token falls apart again', () => {
    expect(shown(bpe([...alphabet], ['a b', 'ab c']), 'abc')).toEqual(['a', 'b', 'c'])
  })

  test('any text comes back', () => {
    const tokenizer = bpe(list, ['a b', 'b c', 'Ġ a', 'a a', 'aa aa'])
    const text = fc.string({ unit: fc.oneof(fc.constantFrom('a', 'b', ' ', 'é'), fc.string()) })
    fc.assert(
      fc.property(text, (each) => {
        expect(tokenizer.decode(tokenizer.encode(each))).toBe(each.toWellFormed())
      }),
      { numRuns: 200 },
    )
  })

  test('long words take the way of short ones', () => {
    const tokenizer = bpe(list, ['a b', 'b c', 'a a', 'aa aa'])
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(letters, (word) => {
        // "x" joins with nothing, so that the long word is made of the short ones.
        const long = Array.from({ length: 12 }, () => word).join('x')
        const parts = Array.from({ length: 12 }, () => shown(tokenizer, word))
        expect(shown(tokenizer, long)).toEqual(
          parts.flatMap((part, i) => (i ? ['x', ...part] : part)),
        )
      }),
      { numRuns: 100 },
    )
  })
})

describe('a text without word borders', () => {
  test('of a mebibyte takes a moment, not the hours of quadratic time', () => {
    const tokenizer = bpe([...alphabet, ['aa'], ['aaaa']], ['a a', 'aa aa'])
    const start = performance.now()
    expect(tokenizer.encode('a'.repeat(1 << 20))).toHaveLength(1 << 18)
    expect(performance.now() - start).toBeLessThan(20_000)
  })
})

describe('wrong UTF-8', () => {
  const tokenizer = bpe(alphabet, [])
  const decoded = (hex: string) =>
    tokenizer.decodeBytes(tokenizer.encodeBytes(Uint8Array.fromHex(hex))).toHex()
  const replacement = 'efbfbd'

  test.each([
    ['a byte that starts nothing', '41ff42', `41${replacement}42`],
    ['a continuation byte', '80', replacement],
    ['a cut character, byte by byte', 'f09f98', replacement.repeat(3)],
    ['an overlong form counts as its code point', 'c0af', '2f'],
    ['a surrogate is kept', 'eda080', 'eda080'],
    ['two surrogates are not one character', 'eda0bdedb880', 'eda0bdedb880'],
    ['beyond U+10FFFF', 'f4908080', replacement.repeat(4)],
  ])('%s', (_, input, output) => {
    expect(decoded(input)).toBe(output)
  })
})

describe('plain pieces', () => {
  const list: Piece[] = [
    ...byteTokens,
    ['<bos>', 0, 'control'],
    ['▁'],
    ['▁▁'],
    ['a'],
    ['▁a'],
    ['a▁'],
    ['\n'],
    ['\n\n'],
  ]
  const gemma = (merges: string[]) =>
    createTokenizer({ model: 'gemma4', ...pieces(list), merges, ids: { bos: 256 }, addBos: false })

  test('spaces are marked and characters without a piece become bytes', () => {
    const tokenizer = gemma(['▁ a'])
    expect(shown(tokenizer, 'a aé')).toEqual(['<bos>', 'a', '▁a', '<0xC3>', '<0xA9>'])
    expect(tokenizer.decode(tokenizer.encode('a aé'))).toBe('a aé')
  })

  test('merges may cross the border in front of a space mark', () => {
    expect(shown(gemma(['a ▁']), 'a a')).toEqual(['<bos>', 'a▁', 'a'])
    expect(shown(gemma(['▁ ▁', '▁ a']), 'a   a')).toEqual(['<bos>', 'a', '▁▁', '▁a'])
  })

  test('a run of line feeds that is a token needs no merges', () => {
    expect(shown(gemma([]), '\n\n')).toEqual(['<bos>', '\n\n'])
    expect(shown(gemma([]), '\n\n\n')).toEqual(['<bos>', '\n', '\n', '\n'])
  })
})

describe('whitespace vocabularies', () => {
  test('drop whitespace, and capitals where the file says so', () => {
    const list: Piece[] = [['<unk>', 0, 'unknown'], ['a'], ['b'], ['ab']]
    const source = { model: 'whitespace', pre: 'whitespace', ...pieces(list), merges: ['a b'] }
    const shownBy = (more: Partial<VocabularySource>) =>
      shown(createTokenizer({ ...source, ids: { unknown: 0 }, ...more }), ' AB\tab ')
    expect(shownBy({ lowercase: true })).toEqual(['ab', 'ab'])
    expect(shownBy({})).toEqual(['<unk>', '<unk>', 'ab'])
  })
})

describe('files', () => {
  test('an unknown pre-tokenizer is a warning, missing merges an error', () => {
    expect(bpe(alphabet, [], { pre: 'mystery' }).warnings[0]).toContain("'mystery'")
    expect(bpe(alphabet, [], { pre: undefined }).warnings[0]).toContain('tokenizer.ggml.pre')
    const source = { model: 'gpt2', pre: 'gpt-2', ...pieces(alphabet) }
    expect(() => createTokenizer(source)).toThrow(UnsupportedModelError)
    expect(() => createTokenizer({ ...source, pre: 'kimi-k2' })).not.toThrow()
  })
})
