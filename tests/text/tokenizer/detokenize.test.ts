// From ids back to text: what is left out, and spaces.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { cleanSpaces } from '../../../src/text/tokenizer/detokenize.ts'
import { colorTokens, showTokens } from '../../../src/text/tokenizer/index.ts'
import { byteTokens, type Piece, spm } from './vocabularies.ts'

const list: Piece[] = [
  ['<unk>', 0, 'unknown'],
  ['<s>', 0, 'control'],
  ['</s>', 0, 'control'],
  ['▁a'],
  ['<u>', 0, 'userDefined'],
  ['▁', 0, 'unused'],
  ...byteTokens,
]
const tokenizer = spm(list, {
  addBos: true,
  addEos: true,
  addSpacePrefix: true,
  ids: { unknown: 0 },
})
const byte = (value: number) => 6 + value

describe('decode', () => {
  test('leaves control tokens out, or writes them', () => {
    expect(tokenizer.decode([1, 3, 3, 2])).toBe('a a')
    expect(tokenizer.decode([1, 3, 3, 2], { special: true })).toBe('<s> a a</s>')
    expect(tokenizer.decode([0, 4], { special: true })).toBe('<unk><u>')
    expect(tokenizer.decode([0, 4])).toBe('<u>')
  })

  test('added tokens can be left out alone', () => {
    expect(tokenizer.decode([1, 3, 2], { removeAdded: true, special: true })).toBe('a')
    expect(tokenizer.decode([1, 1, 3, 2, 2], { removeAdded: true, special: true })).toBe(
      '<s> a</s>',
    )
  })

  test('the prefix space goes, unless it is asked for', () => {
    expect(tokenizer.decode([3])).toBe('a')
    expect(tokenizer.decode([3], { stripPrefix: false })).toBe(' a')
  })

  test('cut characters are U+FFFD in text and themselves in bytes', () => {
    expect(tokenizer.decode([byte(0xf0), byte(0x9f)])).toBe('\ufffd')
    expect(tokenizer.decodeBytes([byte(0xf0), byte(0x9f)]).toHex()).toBe('f09f')
  })

  test('unused tokens stand for nothing', () => {
    expect(tokenizer.decode([5, 3])).toBe('a')
  })
})

describe('cleanSpaces', () => {
  const clean = (text: string) =>
    new TextDecoder().decode(cleanSpaces(new TextEncoder().encode(text)))

  test('joins punctuation and contractions to the word in front', () => {
    expect(clean("Hello , I 'm here ! It 's we 've do n't")).toBe(
      "Hello, I'm here! It's we've do n't",
    )
    expect(clean("rock ' n ' roll")).toBe("rock'n'roll")
  })

  test('works by three rules in turn', () => {
    const text = fc.string({
      unit: fc.constantFrom(' ', "'", '.', ',', 's', 'm', 'r', 'v', 'e', 'x'),
    })
    fc.assert(
      fc.property(text, (each) => {
        const rules = each
          .replace(/ (?=[?!.,])/g, '')
          .replace(/ ' /g, "'")
          .replace(/ (?='(?:s|m|re|ve))/g, '')
        expect(clean(each)).toBe(rules)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('tokens for people', () => {
  test('pieces are printable, cut characters by their bytes', () => {
    const ids = [1, 3, byte(0x0a), byte(0x1b), byte(0xe2), byte(0x5c)]
    const shown = showTokens(tokenizer, ids)
    expect(shown.map(({ text }) => text)).toEqual(['<s>', ' a', '\\n', '\\x1B', '<0xE2>', '\\\\'])
    expect(shown.map(({ special }) => special)).toEqual([true, false, false, false, false, false])
    expect(() => showTokens(tokenizer, [-1])).toThrow(RangeError)
  })

  test('colours give back the text and nothing the terminal would obey', () => {
    const shown = showTokens(tokenizer, [3, byte(0x1b), byte(0x0a), byte(0x5c), 3])
    const colored = colorTokens(shown)
    const bare = colored.replace(/\x1b\[[0-9;]*m/g, '')
    expect(bare).toBe(' a\\x1B\\n\n\\\\ a')
    expect(new Set(colored.match(/48;5;\d+/g)).size).toBe(5)
  })
})
