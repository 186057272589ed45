// Special tokens in text, against the slow way of looking for each in turn.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Fragment, SpecialSplitter } from '../../../src/text/tokenizer/special_split.ts'
import { runNow } from '../../../src/text/tokenizer/steps.ts'
import { Attribute } from '../../../src/text/tokenizer/vocabulary.ts'
import { type Piece, spm } from './vocabularies.ts'

function split(
  list: readonly Piece[],
  text: string,
  parse: boolean,
  strip: number[] = [],
): string[] {
  const { vocabulary } = spm(list)
  strip.forEach((bits, id) => {
    vocabulary.attributes[id]! |= bits
  })
  const bytes = new TextEncoder().encode(text)
  const show = ({ id, start, end }: Fragment): string =>
    id < 0 ? new TextDecoder().decode(bytes.subarray(start, end)) : `#${id}`
  return runNow(new SpecialSplitter(vocabulary).split(bytes, parse)).map(show)
}

/** Looks for one token after the other, the longest first, in what is still text. */
function byHand(list: readonly Piece[], text: string): string[] {
  const order = list.map((_, id) => id)
  order.sort((a, b) => list[b]![0].length - list[a]![0].length || a - b)
  let parts: (string | number)[] = [text]
  for (const id of order) {
    parts = parts.flatMap((part) => {
      if (typeof part === 'number') return [part]
      return part.split(list[id]![0]).flatMap((each, i) => (i === 0 ? [each] : [id, each]))
    })
  }
  return parts
    .filter((part) => part !== '')
    .map((part) => (typeof part === 'number' ? `#${part}` : part))
}

describe('SpecialSplitter', () => {
  test('finds what looking for each token in turn finds', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '<'), minLength: 1, maxLength: 4 })
    const names = fc.uniqueArray(name, { minLength: 1, maxLength: 6 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '<'), maxLength: 24 })
    fc.assert(
      fc.property(names, text, (list, each) => {
        const pieces = list.map((piece): Piece => [piece, 0, 'control'])
        expect(split(pieces, each, true)).toEqual(byHand(pieces, each))
      }),
      { numRuns: 1000 },
    )
  })

  test('control tokens are found when asked for, tokens of users always', () => {
    const list: Piece[] = [
      ['<c>', 0, 'control'],
      ['<u>', 0, 'userDefined'],
      ['<n>', 0, 'normal'],
    ]
    expect(split(list, 'x<c><u><n>', false)).toEqual(['x<c>', '#1', '<n>'])
    expect(split(list, 'x<c><u><n>', true)).toEqual(['x', '#0', '#1', '<n>'])
  })

  test('takes the whitespace that belongs to a token, up to the next token', () => {
    const list: Piece[] = [
      ['<l>', 0, 'control'],
      ['<r>', 0, 'control'],
    ]
    const strip = [Attribute.stripLeft, Attribute.stripRight]
    expect(split(list, ' a \n<l> b <r> \t c', true, strip)).toEqual([' a', '#0', ' b ', '#1', 'c'])
    expect(split(list, '<r>  <l>', true, strip)).toEqual(['#1', '#0'])
  })

  test('no control token stands in untrusted text, and a shorter one may stand before it', () => {
    const list: Piece[] = [
      ['<a><b>', 0, 'control'],
      ['<a>', 0, 'control'],
      ['<b>', 0, 'control'],
      ['<u>', 0, 'userDefined'],
    ]
    const { vocabulary } = spm(list)
    const parts = (text: string, ...untrusted: number[]) => {
      const bytes = new TextEncoder().encode(text)
      const marks = new Uint8Array(bytes.length).fill(1, untrusted[0], untrusted[1])
      const fragments = runNow(new SpecialSplitter(vocabulary).split(bytes, true, marks))
      return fragments.map(({ id, start, end }) => (id < 0 ? text.slice(start, end) : `#${id}`))
    }
    expect(parts('<a><b>', 0, 0)).toEqual(['#0'])
    expect(parts('<a><b>', 3, 6)).toEqual(['#1', '<b>'])
    expect(parts('<a><b>', 2, 3)).toEqual(['<a>', '#2'])
    expect(parts('<a><u>', 0, 6)).toEqual(['<a>', '#3'])
  })

  test('a megabyte of tokens that overlap everywhere takes a moment', () => {
    const list = Array.from({ length: 31 }, (_, i): Piece => ['\n'.repeat(i + 1), 0, 'userDefined'])
    const start = performance.now()
    expect(split(list, '\n'.repeat(1 << 20), false)).toHaveLength(Math.ceil((1 << 20) / 31))
    expect(performance.now() - start).toBeLessThan(10_000)
  })
})
