// SentencePiece BPE on vocabularies small enough to follow by hand.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { byteTokens, type Piece, spm } from './vocabularies.ts'

const names = (list: readonly Piece[], ids: Int32Array) => [...ids].map((id) => list[id]![0])

describe('SentencePiece merging', () => {
  const scored: Piece[] = [['?'], ['a', -1], ['b', -2], ['c', -3], ['ab', -4], ['bc', -3.5]]

  test('joins the best score first, not the leftmost pair', () => {
    expect(names(scored, spm(scored).encode('abc'))).toEqual(['a', 'bc'])
  })

  test('joins the leftmost pair among equal scores', () => {
    const list: Piece[] = [['?'], ['a', -1], ['aa', -2]]
    expect(names(list, spm(list).encode('aaa'))).toEqual(['aa', 'a'])
    expect(names(list, spm(list).encode('aaaa'))).toEqual(['aa', 'aa'])
  })

  test('a long word and its walk through a heap give the ids of joining by hand', () => {
    const list: Piece[] = [
      ['?'],
      ['a', -9],
      ['b', -9],
      ['ab', -1],
      ['aba', -2],
      ['ba', -3],
      ['abab', -4],
    ]
    const tokenizer = spm(list)
    const byHand = (text: string): string[] => {
      const parts = [...text]
      for (;;) {
        let best = -1
        parts.forEach((_, i) => {
          const score = (at: number) =>
            list.find(([piece]) => piece === `${parts[at]}${parts[at + 1] ?? '|'}`)?.[1] ??
            -Infinity
          if (score(i) > (best < 0 ? -Infinity : score(best))) best = i
        })
        if (best < 0) return parts
        parts.splice(best, 2, parts[best]! + parts[best + 1]!)
      }
    }
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b'), { maxLength: 120 }), (letters) => {
        const text = letters.join('')
        expect(names(list, tokenizer.encode(text))).toEqual(byHand(text))
      }),
      { numRuns: 60 },
    )
  })

  test('borders in front of space marks do not change what a piece may cover', () => {
    const list: Piece[] = [
      ['?'],
      ['▁', -5],
      ['x', -5],
      ['y', -5],
      ['x▁', -1],
      ['▁y', -2],
      ['▁▁', -1],
    ]
    expect(names(list, spm(list).encode('x y y  y'))).toEqual(['x▁', 'y', '▁y', '▁▁', 'y'])
  })
})

describe('a text without word borders', () => {
  test('of a mebibyte takes a moment, not the hours of quadratic time', () => {
    const tokenizer = spm([['?'], ['▁', -9], ['▁▁', -1], ['a', -9], ['aa', -2], ['aaaa', -1]])
    const start = performance.now()
    expect(tokenizer.encode('a'.repeat(1 << 20))).toHaveLength(1 << 18)
    expect(tokenizer.encode(' '.repeat(1 << 20))).toHaveLength(1 << 19)
    expect(performance.now() - start).toBeLessThan(20_000)
  })
})

describe('SentencePiece fallback', () => {
  test('a character without a piece becomes its bytes', () => {
    const list: Piece[] = [['<unk>', 0, 'unknown'], ...byteTokens]
    const tokenizer = spm(list)
    expect(names(list, tokenizer.encode('🦙'))).toEqual(['<0xF0>', '<0x9F>', '<0xA6>', '<0x99>'])
    expect(tokenizer.decode(tokenizer.encode('🦙'))).toBe('🦙')
  })

  test('without byte tokens it becomes the unknown token, once', () => {
    expect([...spm([['<unk>', 0, 'unknown'], ['a']]).encode('a🦙a')]).toEqual([1, 0, 1])
  })

  test('text that spells a control token or a byte token stays text', () => {
    const list: Piece[] = [
      ['<unk>', 0, 'unknown'],
      ['<', -1],
      ['s', -1],
      ['>', -1],
      ['<s', -1],
      ['<s>', 0, 'control'],
      ...byteTokens,
    ]
    const tokenizer = spm(list)
    expect([...tokenizer.encode('<s>')]).toEqual([4, 3])
    expect([...tokenizer.encode('<s>', { parseSpecial: true })]).toEqual([5])
  })

  test('any text without space marks comes back', () => {
    const tokenizer = spm([['<unk>', 0, 'unknown'], ['▁'], ['▁a', -1], ['é', -2], ...byteTokens])
    const text = fc.string({ unit: fc.oneof(fc.constantFrom(' ', 'a', 'é'), fc.string()) })
    fc.assert(
      fc.property(text, (string) => {
        fc.pre(!string.includes('▁'))
        expect(tokenizer.decode(tokenizer.encode(string))).toBe(string)
      }),
      { numRuns: 200 },
    )
  })
})
