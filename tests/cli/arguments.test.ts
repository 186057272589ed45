// Reading arguments, guessing what was meant, and words for numbers.
import { describe, expect, test } from 'bun:test'
import { type Command, readArguments, UsageError } from '../../src/cli/command.ts'
import { nearest } from '../../src/cli/nearest.ts'
import { inBytes, inWords, printable, table, toJson } from '../../src/cli/terminal.ts'

const bake: Command = {
  name: 'bake',
  summary: 'bake bread',
  operands: ['DOUGH', '[TIN]'],
  options: {
    heat: { value: 'H', short: 't', help: 'degrees' },
    seed: { value: 'S', repeatable: true, help: 'sprinkled on top' },
    fan: { help: 'moving air' },
  },
  examples: [],
  run: async () => undefined,
}

const read = (...argv: string[]) => readArguments(bake, argv)

describe('readArguments', () => {
  test('options and operands come in any order', () => {
    const args = read('--fan', 'rye', '--heat', '230', 'round')
    expect(args.operands).toEqual(['rye', 'round'])
    expect(args.number('heat')).toBe(230)
    expect([args.has('fan'), args.has('json')]).toEqual([true, false])
  })

  test('a value stands behind a space, an equals sign or a short name', () => {
    expect(read('rye', '--heat=1e2').number('heat')).toBe(100)
    expect(read('rye', '-t', '-5').number('heat')).toBe(-5)
    expect(read('rye').number('heat')).toBeUndefined()
  })

  test('of options given twice the last counts, repeatable ones are all there', () => {
    const args = read('rye', '--seed', 'a', '--heat', '1', '--seed', '', '--heat', '2')
    expect(args.texts('seed')).toEqual(['a', ''])
    expect(args.text('heat')).toBe('2')
  })

  test('behind two dashes nothing is an option', () => {
    expect(read('--', '--fan').operands).toEqual(['--fan'])
  })

  test('help is given without operands', () => {
    expect(read('-h').has('help')).toBe(true)
  })

  test.each([
    [['rye', '--haet', '2'], 'unknown option --haet; did you mean --heat?'],
    [['rye', '--xylophone'], 'unknown option --xylophone'],
    [['rye', '-x'], 'unknown option -x'],
    [['rye', '--toString'], 'unknown option --toString'],
    [['rye', '--heat'], '--heat needs a value: --heat H'],
    [['rye', '--heat', '--fan'], '--heat needs a value: --heat H'],
    [['rye', '--fan=yes'], '--fan takes no value'],
    [[], 'DOUGH is missing'],
    [['rye', 'round', 'extra'], 'unexpected "extra"; quote what has spaces'],
  ] as const)('%p is refused', (argv, message) => {
    expect(() => read(...argv)).toThrow(new UsageError(message))
  })

  test('numbers are numbers', () => {
    for (const text of ['hot', '', ' ', '1x', 'NaN', 'Infinity']) {
      expect(() => read('rye', `--heat=${text}`).number('heat')).toThrow(UsageError)
    }
    expect(read('rye', '--heat', '18446744073709551615').bigint('heat')).toBe(2n ** 64n - 1n)
    for (const text of ['-1', '1.5', '0x10', '']) {
      expect(() => read('rye', `--heat=${text}`).bigint('heat')).toThrow(UsageError)
    }
  })
})

test('a slip is a letter more, less, other or swapped, or an end that is missing', () => {
  const known = ['generate', 'inspect', 'devices', 'tokenize']
  expect(nearest('genrate', known)).toBe('generate')
  expect(nearest('insepct', known)).toBe('inspect')
  expect(nearest('device', known)).toBe('devices')
  expect(nearest('tok', known)).toBe('tokenize')
  expect(nearest('serve', known)).toBeUndefined()
  expect(nearest('', known)).toBeUndefined()
})

describe('words', () => {
  test('counts have three digits', () => {
    expect([0, 999, 2_730_432, 7e9, 999_999, 1.2345e12].map(inWords)).toEqual([
      '0',
      '999',
      '2.73 million',
      '7 billion',
      '1 million',
      '1.23 trillion',
    ])
  })

  test('sizes are in decimal units', () => {
    expect([0, 32, 1000, 2_980_480, 999_999, 25.3e9].map(inBytes)).toEqual([
      '0 bytes',
      '32 bytes',
      '1.00 kB',
      '2.98 MB',
      '1.00 MB',
      '25.3 GB',
    ])
  })

  test('nothing in a text can command the terminal', () => {
    expect(printable('a\x1b[2J\x9b\u202e\né')).toBe('a\\u{1b}[2J\\u{9b}\\u{202e}\\u{a}é')
  })

  test('JSON keeps big integers whole and says what is no number', () => {
    expect(toJson({ a: 5n, b: 2n ** 64n - 1n, c: Number.NaN, d: -Infinity })).toBe(
      '{"a":5,"b":"18446744073709551615","c":"NaN","d":"-Infinity"}',
    )
  })

  test('tables are aligned', () => {
    const rows = [
      ['a', 'b'],
      ['long', '10'],
      ['c', ''],
    ]
    expect(table(rows, [1])).toBe('a      b\nlong  10\nc')
  })
})
