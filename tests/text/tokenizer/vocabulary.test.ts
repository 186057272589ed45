// What a file says about a vocabulary and what that implies.
import { describe, expect, test } from 'bun:test'
import { UnsupportedModelError } from '../../../src/errors/index.ts'
import {
  Attribute,
  createTokenizer,
  createTokenizerAsync,
  vocabularyFromMetadata,
} from '../../../src/text/tokenizer/index.ts'
import { type Piece, pieces, spm } from './vocabularies.ts'

const named = (...names: string[]): Piece[] => ['<unk>', ...names].map((name) => [name])

describe('special tokens known by name', () => {
  test('the first usual name ends turns, every usual name ends generations', () => {
    const tokenizer = spm(named('<|endoftext|>', '<|im_end|>', '<|fim_prefix|>', '<|file_sep|>'))
    expect(tokenizer.ids).toMatchObject({ eot: 2, fimPrefix: 3, fimSeparator: 4, fimSuffix: -1 })
    expect([1, 2, 3, 4].map((id) => tokenizer.isEndOfGeneration(id))).toEqual([
      true,
      true,
      false,
      true,
    ])
  })

  test('they are control tokens, whatever their type', () => {
    const tokenizer = spm(named('<|im_end|>', '<s>'))
    expect(tokenizer.isSpecial(1)).toBe(true)
    expect(tokenizer.isSpecial(2)).toBe(false)
    expect([...tokenizer.encode('<|im_end|>', { parseSpecial: true })]).toEqual([1])
    expect([...tokenizer.encode('<|im_end|>')]).not.toContain(1)
  })

  test('in harmony <|end|> ends a message and not the generation', () => {
    const alone = spm(named('<|end|>', '<|endoftext|>'))
    expect(alone.ids.eot).toBe(1)
    expect(alone.isEndOfGeneration(1)).toBe(true)
    const harmony = spm(named('<|end|>', '<|endoftext|>', '<|return|>', '<|call|>'))
    expect(harmony.ids.eot).toBe(2)
    expect([1, 2, 3, 4].map((id) => harmony.isEndOfGeneration(id))).toEqual([
      false,
      true,
      true,
      true,
    ])
    expect(harmony.decode([1])).toBe('<|end|>')
  })

  test('with <|tool_response> the tag </s> is text', () => {
    const tokenizer = spm(named('</s>', '<|tool_response>'), { ids: { eos: 2, unknown: 0 } })
    expect(tokenizer.isEndOfGeneration(1)).toBe(false)
    expect(tokenizer.isSpecial(1)).toBe(false)
  })

  test('the ids of the file come first; those out of range warn and fall back', () => {
    const tokenizer = spm(named('a', 'b', '<|im_end|>'), { ids: { bos: 2, eot: 1, eos: 99 } })
    expect(tokenizer.ids).toMatchObject({ bos: 2, eot: 1, eos: 2 })
    expect(tokenizer.warnings).toEqual(['the eos token 99 is not in the vocabulary of 4'])
  })

  test('a token that shall be added but is not there is a warning', () => {
    const source = { model: 'gemma4', ...pieces(named('a')), merges: [] }
    const tokenizer = createTokenizer(source)
    expect(tokenizer.warnings).toEqual(['the file asks for a bos token but names none'])
    expect([...tokenizer.encode('')]).toEqual([])
  })
})

describe('odd lists', () => {
  test('tokens without text match nothing, and of equal ones the first is found', () => {
    const tokenizer = spm([['<unk>', 0, 'unknown'], [''], ['a'], ['a']])
    expect([...tokenizer.encode('aa')]).toEqual([2, 2])
    expect(tokenizer.pieceText(1)).toBe('[EMPTY_1]')
    expect(tokenizer.warnings[0]).toContain("the first is 3 'a'")
  })

  test('scores that are no numbers are the worst', () => {
    const list: Piece[] = [['?'], ['a'], ['b'], ['c'], ['ab', Number.NaN], ['bc', -1e30]]
    expect(Array.from(spm(list).encode('abc'), (id) => list[id]![0])).toEqual(['a', 'bc'])
  })

  test('tokens of Phi 3 take the whitespace behind them', () => {
    const list: Piece[] = [['<unk>', 0, 'unknown'], ['<|user|>', 0, 'control'], ['a'], ['\n']]
    const ids = (name: string) => [
      ...spm(list, { name }).encode('<|user|>\na', { parseSpecial: true }),
    ]
    expect(ids('Phi-3 mini')).toEqual([1, 2])
    expect(ids('other')).toEqual([1, 3, 2])
    expect(spm(list, { name: 'phi3' }).vocabulary.has(1, Attribute.stripRight)).toBe(true)
  })
})

describe('GGUF metadata', () => {
  const metadata: Record<string, unknown> = {
    'general.name': 'tiny',
    'tokenizer.ggml.model': 'llama',
    'tokenizer.ggml.tokens': ['<unk>', '<s>', 'a', 'b'],
    'tokenizer.ggml.scores': Float32Array.of(0, 0, -1, -2),
    'tokenizer.ggml.token_type': Int32Array.of(2, 3, 1, 1),
    'tokenizer.ggml.bos_token_id': 1,
    'tokenizer.ggml.eos_token_id': 2n,
    'tokenizer.ggml.add_space_prefix': false,
  }
  const read = (changes: Record<string, unknown> = {}) =>
    vocabularyFromMetadata((key) => ({ ...metadata, ...changes })[key])

  test('gives the tokenizer of the file', () => {
    const tokenizer = createTokenizer(read())
    expect([...tokenizer.encode('ab')]).toEqual([1, 2, 3])
    expect(tokenizer.ids).toMatchObject({ bos: 1, eos: 2, unknown: 0 })
  })

  test('strings may come as text, bytes, by number or in a table', async () => {
    const texts = metadata['tokenizer.ggml.tokens'] as string[]
    const bytes = texts.map((text) => new TextEncoder().encode(text))
    const joined = new TextEncoder().encode(texts.join(''))
    const ends = Uint32Array.of(5, 8, 9, 10)
    const table = { count: 4, bytes: joined, starts: Uint32Array.of(0, 5, 8, 9), ends }
    const ways = [
      bytes,
      { length: 4, bytes: (i: number) => bytes[i]! },
      table,
      { table: () => table },
    ]
    for (const way of ways) {
      const tokenizer = await createTokenizerAsync(read({ 'tokenizer.ggml.tokens': way }))
      expect([...tokenizer.encode('ab')]).toEqual([1, 2, 3])
    }
  })

  test.each([
    ['model', undefined, 'the file carries no vocabulary'],
    ['model', 7, 'expected a string, found number'],
    ['tokens', undefined, 'the token list is missing'],
    ['tokens', [1, 2], 'expected an array of strings'],
    ['scores', ['x'], 'expected an array of numbers'],
    ['scores', BigInt64Array.of(1n), 'expected an array of numbers'],
    ['token_type', Int32Array.of(1), '1 types for 4 tokens'],
    ['bos_token_id', 'x', 'expected a number, found string'],
    ['add_bos_token', 'yes', 'expected a boolean, found string'],
  ])('a bad %s is refused by its key', (key, value, problem) => {
    const build = () => createTokenizer(read({ [`tokenizer.ggml.${key}`]: value }))
    expect(build).toThrow(UnsupportedModelError)
    expect(build).toThrow(`tokenizer.ggml.${key}: ${problem}`)
  })

  test('a model without a vocabulary may still say how many ids it has', () => {
    const none = { 'tokenizer.ggml.model': 'none', 'tokenizer.ggml.tokens': undefined }
    const sized = { ...none, 'general.architecture': 'llama', 'llama.vocab_size': 320 }
    expect(createTokenizer(read(sized)).vocabularySize).toBe(320)
    expect(createTokenizer(read(none)).vocabularySize).toBe(0)
    expect(() => read({ ...sized, 'llama.vocab_size': 2 ** 40 })).toThrow('1099511627776 tokens')
  })

  test('building stops when aborted', () => {
    const signal = AbortSignal.abort(new Error('enough'))
    expect(createTokenizerAsync(read(), { signal })).rejects.toThrow('enough')
  })
})
