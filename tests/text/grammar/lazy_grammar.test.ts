// Lazy grammars: nothing is constrained until a trigger comes.
import { describe, expect, test } from 'bun:test'
import { GrammarError } from '../../../src/errors/index.ts'
import { compileGrammar, startLazily } from '../../../src/text/grammar/index.ts'
import { byteTokens, makeVocabulary, pieces } from './vocabulary.ts'

const vocabulary = makeVocabulary([...pieces, '<call>{', 'l>{"', '>x'], ['<tool>'])
const grammar = compileGrammar('root ::= "<call>" "{" "}"', vocabulary)
const tool = vocabulary.tokenId!('<tool>')!
const tokenOf = (text: string) =>
  vocabulary.texts.findIndex((bytes) => Buffer.from(bytes).toString() === text)

function feed(state: ReturnType<typeof startLazily>, ...tokens: number[]): void {
  for (const token of tokens) state.accept(token)
}

describe('words', () => {
  test('the grammar holds from the first byte of the word on', () => {
    const state = startLazily(grammar, { words: ['<call>'] })
    feed(state, ...byteTokens('some text <cal'))
    expect([state.isActive, state.isComplete, state.mask()]).toEqual([false, true, undefined])
    feed(state, ...byteTokens('l>'))
    expect([state.isActive, state.isComplete]).toEqual([true, false])
    expect(() => state.accept(0x78)).toThrow(GrammarError)
    feed(state, ...byteTokens('{}'))
    expect(state.isComplete).toBe(true)
  })

  test('a token that goes on after the word is given to the grammar whole', () => {
    const state = startLazily(grammar, { words: ['<call>'] })
    feed(state, tokenOf('<call>{'))
    expect(state.isActive).toBe(true)
    feed(state, 0x7d)
    expect(state.isComplete).toBe(true)
  })

  test('when what follows in the same token does not fit, the trigger does not count', () => {
    const state = startLazily(grammar, { words: ['<call>'] })
    feed(state, ...byteTokens('<call'), tokenOf('>x'), ...byteTokens(' and '))
    expect(state.isActive).toBe(false)
    feed(state, ...byteTokens('<call>'))
    expect(state.isActive).toBe(true)
  })

  test('of several words the first in the text counts', () => {
    const either = compileGrammar('root ::= "<call>" "{" | "{" "}"', vocabulary)
    const state = startLazily(either, { words: ['{', '<call>'] })
    feed(state, tokenOf('<call>{'))
    expect(state.isComplete).toBe(true)
  })
})

test('a token starts the grammar with itself', () => {
  const named = compileGrammar('root ::= <tool> [a-z]+', vocabulary)
  const state = startLazily(named, { tokens: [tool] })
  feed(state, ...byteTokens('anything'), tool)
  expect(state.isActive).toBe(true)
  expect(() => state.accept(0x31)).toThrow(GrammarError)
  const copy = state.clone()
  feed(copy, ...byteTokens('ab'))
  expect([copy.isComplete, state.isComplete]).toEqual([true, false])
})

test('a clone before the trigger waits by itself', () => {
  const state = startLazily(grammar, { words: ['<call>'] })
  feed(state, ...byteTokens('<ca'))
  const copy = state.clone()
  feed(copy, ...byteTokens('ll>'))
  expect([copy.isActive, state.isActive]).toEqual([true, false])
})

test('triggers that are not valid', () => {
  expect(() => startLazily(grammar, {})).toThrow(RangeError)
  expect(() => startLazily(grammar, { words: [''] })).toThrow(RangeError)
  expect(() => startLazily(grammar, { tokens: [vocabulary.size] })).toThrow(RangeError)
})
