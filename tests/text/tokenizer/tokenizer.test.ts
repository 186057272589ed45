// What holds for every tokenizer: special tokens, bad ids, odd strings, slices.
import { describe, expect, test } from 'bun:test'
import { UnsupportedModelError } from '../../../src/errors/index.ts'
import { createTokenizer } from '../../../src/text/tokenizer/index.ts'
import { byteTokens, type Piece, spm } from './vocabularies.ts'

const list: Piece[] = [
  ['<unk>', 0, 'unknown'],
  ['<s>', 0, 'control'],
  ['</s>', 0, 'control'],
  ...byteTokens,
  ['▁', -1],
  ['a', -2],
  ['▁a', -1.5],
]
const tokenizer = spm(list, { addBos: true, addSpacePrefix: true })
const a = list.findIndex(([text]) => text === '▁a')

describe('special tokens', () => {
  test('the empty text has a BOS where one is added, and nothing else', () => {
    expect([...tokenizer.encode('')]).toEqual([1])
    expect([...tokenizer.encode('', { addSpecial: false })]).toEqual([])
  })

  test('a text that starts with a BOS has one BOS', () => {
    expect([...tokenizer.encode('<s>a', { parseSpecial: true })]).toEqual([1, a])
    expect([...tokenizer.encode('<s>a', { parseSpecial: true, addSpecial: false })]).toEqual([1, a])
    expect([...tokenizer.encode('<s>a', { parseSpecial: true, repeatBos: true })]).toEqual([
      1,
      1,
      a,
    ])
  })

  test('a text that only spells them has none', () => {
    expect([...tokenizer.encode('<s></s>', { addSpecial: false })]).not.toContain(1)
  })

  test('a user who spells them in a prompt gets text, wherever borders lie', () => {
    const prompt = '🦙<s>a</s>'
    const parse = (...untrusted: number[]) => [
      ...tokenizer.encode(prompt, { parseSpecial: true, addSpecial: false, untrusted }),
    ]
    expect(parse()).toContain(1)
    // In UTF-16 units 🦙 takes two; a border inside it counts as its start.
    expect(parse(2, 6)).not.toContain(1)
    expect(parse(2, 6)).toContain(2)
    expect(parse(1, 5)).not.toContain(1)
    expect(parse(0, 2)).toContain(1)
    expect(parse(0, 2, 6, 10)).not.toContain(2)
  })

  test('they are found by name and end generations', () => {
    expect(tokenizer.idOf('</s>')).toBe(2)
    expect(tokenizer.idOf('<nothing>')).toBeUndefined()
    expect(tokenizer.isEndOfGeneration(2)).toBe(true)
    expect(tokenizer.isEndOfGeneration(a)).toBe(false)
    expect(tokenizer.pieceBytes(2)).toHaveLength(0)
    expect(tokenizer.decode([2], { special: true })).toBe('</s>')
  })
})

describe('decoding', () => {
  test('a text comes back as it was, with its leading spaces', () => {
    for (const text of ['a', ' a', '  a a', '', ' ', '\ta\n', 'é🦙']) {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)
    }
  })

  test('a bad id is a RangeError that names its position', () => {
    for (const bad of [-1, list.length, 1.5, Number.NaN, 'x', null, undefined, 2n ** 70n]) {
      const ids = [a, bad] as number[]
      expect(() => tokenizer.decode(ids)).toThrow(RangeError)
      expect(() => tokenizer.decode(ids)).toThrow(/^token 1 is /)
    }
    expect(() => tokenizer.pieceBytes(-1)).toThrow('ids are integers from 0 to')
  })
})

describe('odd strings', () => {
  test('what is no text is a TypeError', () => {
    expect(() => tokenizer.encode(undefined as unknown as string)).toThrow(TypeError)
    expect(() => tokenizer.encodeBytes('a' as unknown as Uint8Array)).toThrow(TypeError)
  })

  test('a lone surrogate counts as U+FFFD', () => {
    expect([...tokenizer.encode('\ud800')]).toEqual([...tokenizer.encode('\ufffd')])
    expect(tokenizer.decode(tokenizer.encode('a\udc00a'))).toBe('a\ufffda')
  })
})

describe('encodeAsync', () => {
  const text = 'a'.repeat(1 << 16)

  test('gives the ids of encode and lets timers run', async () => {
    let ticks = 0
    const timer = setInterval(() => ticks++, 1)
    const ids = await tokenizer.encodeAsync(text.repeat(4))
    clearInterval(timer)
    expect(ids).toEqual(tokenizer.encode(text.repeat(4)))
    expect(ticks).toBeGreaterThan(2)
  })

  test('two at once do not disturb each other', async () => {
    const [left, right] = await Promise.all([
      tokenizer.encodeAsync(text),
      tokenizer.encodeAsync(` ${text} `),
    ])
    expect(left).toEqual(tokenizer.encode(text))
    expect(right).toEqual(tokenizer.encode(` ${text} `))
  })

  test('stops when aborted', async () => {
    const reason = new Error('enough')
    const controller = new AbortController()
    const running = tokenizer.encodeAsync(text.repeat(8), { signal: controller.signal })
    controller.abort(reason)
    expect(running).rejects.toBe(reason)
    expect(tokenizer.encodeAsync('a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })
})

describe('bad vocabularies', () => {
  test('an unknown kind is refused by name', () => {
    const source = { model: 'constructor', tokens: ['a'] }
    expect(() => createTokenizer(source)).toThrow(UnsupportedModelError)
    expect(() => createTokenizer(source)).toThrow("unknown tokenizer 'constructor'")
  })

  test('too few scores or types are refused with both counts', () => {
    const tokens = ['a', 'b']
    const scores = new Float32Array(1)
    expect(() => createTokenizer({ model: 'llama', tokens, scores })).toThrow(
      '1 scores for 2 tokens',
    )
    const types = new Int32Array(1)
    expect(() => createTokenizer({ model: 'llama', tokens, types })).toThrow('1 types for 2 tokens')
  })
})
