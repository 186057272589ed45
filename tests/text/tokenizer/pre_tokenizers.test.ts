// How pre-tokenizers cut text into words.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type DigitGrouping, digitCuts } from '../../../src/text/tokenizer/digit_groups.ts'
import { preTokenizerNamed, preTokenizerNames } from '../../../src/text/tokenizer/pre_tokenizers.ts'
import { runNow } from '../../../src/text/tokenizer/steps.ts'
import { WordSplitter } from '../../../src/text/tokenizer/word_splitter.ts'

function words(name: string, text: string): string[] {
  const found: string[] = []
  const splitter = new WordSplitter(preTokenizerNamed(name, []))
  runNow(
    splitter.split(text, (piece, start, end) => {
      found.push(piece.slice(start, end))
      return false
    }),
  )
  return found
}

/** One name for each different list of passes. */
const distinct = [
  ...new Map(
    preTokenizerNames.map((name) => [JSON.stringify(preTokenizerNamed(name, []).passes), name]),
  ).values(),
]

const text = fc.string({
  unit: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        ' ',
        '\n',
        '\r',
        '\t',
        'a',
        'B',
        'é',
        'Ж',
        '1',
        '٣',
        "'",
        '!',
        '~',
      ),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        '中',
        'か',
        '한',
        '\u0301',
        '\u0085',
        '\u3000',
        '🦙',
        '²',
        '_',
        "'S",
        '  ',
      ),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 2 }) },
  ),
  maxLength: 30,
})

describe('every pre-tokenizer', () => {
  test.each(distinct)('%s loses nothing and makes no empty words', (name) => {
    fc.assert(
      fc.property(text, (each) => {
        const found = words(name, each)
        expect(found.join('')).toBe(each)
        expect(found).not.toContain('')
      }),
      { numRuns: 60 },
    )
  })

  // 200,000 characters take about 40 ms; a pass of quadratic time would take minutes.
  test.each(distinct)('%s takes linear time', (name) => {
    const start = performance.now()
    for (const unit of [
      'a',
      'A',
      ' ',
      '\n',
      ' \t',
      '1',
      '!',
      '~',
      "'",
      '中',
      '\u0301',
      'a1',
      'a ',
      '🦙',
    ]) {
      for (const end of ['', 'x', '\n']) words(name, unit.repeat(20_000 / unit.length) + end)
    }
    expect(performance.now() - start).toBeLessThan(10_000)
  })
})

/** What each family makes of the same text. */
const sample = "I'LL we've  don't\n\n  x_1 12345 Été中文!?\n"
const expected: Record<string, string[]> = {
  'gpt-2': [
    'I',
    "'",
    'LL',
    ' we',
    "'ve",
    ' ',
    ' don',
    "'t",
    '\n\n ',
    ' x',
    '_',
    '1',
    ' 12345',
    ' Été中文',
    '!?',
    '\n',
  ],
  'llama-bpe': [
    'I',
    "'LL",
    ' we',
    "'ve",
    ' ',
    ' don',
    "'t",
    '\n\n',
    ' ',
    ' x',
    '_',
    '1',
    ' ',
    '123',
    '45',
    ' Été中文',
    '!?\n',
  ],
  qwen2: [
    'I',
    "'LL",
    ' we',
    "'ve",
    ' ',
    ' don',
    "'t",
    '\n\n',
    ' ',
    ' x',
    '_',
    '1',
    ' ',
    '1',
    '2',
    '3',
    '4',
    '5',
    ' Été中文',
    '!?\n',
  ],
  'gpt-4o': [
    "I'LL",
    " we've",
    ' ',
    " don't",
    '\n\n',
    ' ',
    ' x',
    '_',
    '1',
    ' ',
    '123',
    '45',
    ' Été中文',
    '!?\n',
  ],
  starcoder: [
    'I',
    "'",
    'LL',
    ' we',
    "'ve",
    ' ',
    ' don',
    "'t",
    '\n\n ',
    ' x',
    '_',
    '1',
    ' ',
    '1',
    '2',
    '3',
    '4',
    '5',
    ' Été中文',
    '!?',
    '\n',
  ],
  'kimi-k2': [
    "I'LL",
    " we've",
    ' ',
    " don't",
    '\n\n',
    ' ',
    ' x',
    '_',
    '1',
    ' ',
    '123',
    '45',
    ' Été',
    '中文',
    '!?\n',
  ],
  'deepseek-v3': [
    'I',
    "'LL",
    ' we',
    "'ve",
    ' ',
    ' don',
    "'t",
    '\n\n',
    ' ',
    ' x',
    '_',
    '1',
    ' ',
    '123',
    '45',
    ' Été',
    '中文',
    '!?\n',
  ],
  bloom: ["I'LL", " we've", ' ', " don't", '\n\n ', ' x_1', ' 12345', ' Été中文', '!?\n'],
}

describe('words of a sample text', () => {
  test.each(Object.entries(expected))('%s', (name, list) => {
    expect(words(name, sample)).toEqual(list)
  })

  test('a capital inside a word starts another for GPT-4o and Tekken alone', () => {
    expect(words('gpt-4o', 'camelCase HTTPServer')).toEqual(['camel', 'Case', ' HTTPServer'])
    expect(words('tekken', 'camelCase')).toEqual(['camel', 'Case'])
    expect(words('llama-bpe', 'camelCase')).toEqual(['camelCase'])
  })

  test('EXAONE MoE keeps words apart by one space together', () => {
    expect(words('exaone-moe', 'hi all  of you!')).toEqual(['hi all', ' ', ' of you', '!'])
  })
})

describe('numbers', () => {
  /** The published expressions, which take quadratic time on long numbers. */
  const expressions: Record<Exclude<DigitGrouping, 'glued'>, RegExp> = {
    apart: /(?=(?:\d{3})+(?!\d))/g,
    bounded: /\d{1,3}(?=(?:\d{3})*\b)/g,
  }

  test.each(['apart', 'bounded'] as const)('%s: cut as the expression cuts them', (grouping) => {
    const digits = fc.string({ unit: fc.constantFrom('0', '1', '2', '3', '4', 'a', '_', ' ', '.') })
    fc.assert(
      fc.property(digits, (each) => {
        const cuts = new Set<number>()
        for (const match of each.matchAll(expressions[grouping])) {
          cuts.add(match.index).add(match.index + match[0].length)
        }
        const inner = [...cuts].filter((cut) => cut > 0 && cut < each.length)
        expect(digitCuts(each, grouping)).toEqual(inner.sort((a, b) => a - b))
      }),
      { numRuns: 500 },
    )
  })

  test('glued: groups are counted from the right, the first keeps the text before it', () => {
    expect(digitCuts('ab1234567c', 'glued')).toEqual([3, 6, 9])
    expect(digitCuts('123', 'glued')).toEqual([])
    expect(digitCuts('1234 12', 'glued')).toEqual([1, 4])
  })
})

describe('names', () => {
  test('unknown and missing names warn and give the default', () => {
    const warnings: string[] = []
    const fallback = preTokenizerNamed('default', warnings)
    expect(warnings).toEqual([])
    expect(preTokenizerNamed('toString', warnings)).toBe(fallback)
    expect(preTokenizerNamed('', warnings)).toBe(fallback)
    expect(warnings[0]).toContain("unknown pre-tokenizer 'toString'")
    expect(warnings[1]).toContain('tokenizer.ggml.pre')
  })
})
