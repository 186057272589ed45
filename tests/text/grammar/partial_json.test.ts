// Partial JSON: every beginning of a text tells what is certain, and nothing else.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parsePartialJson } from '../../../src/text/grammar/index.ts'

describe('beginnings', () => {
  const cases: [string, unknown][] = [
    ['', undefined],
    ['  ', undefined],
    ['{', {}],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a": "x', { a: 'x' }],
    ['{"a": "x\\', { a: 'x' }],
    ['{"a": "x\\\\', { a: 'x\\' }],
    ['{"a": "x\\u00', { a: 'x' }],
    ['{"a": "x\\u00e9', { a: 'xé' }],
    ['{"a": "\\ud83d', { a: '' }],
    ['{"a": "\\ud83d\\ude00', { a: '😀' }],
    ['{"a": 1', {}],
    ['{"a": 1,', { a: 1 }],
    ['{"a": -', {}],
    ['[1.', []],
    ['[1.5e+', []],
    ['[1.5 ', [1.5]],
    ['[tr', []],
    ['[true', [true]],
    ['[null, fals', [null]],
    ['[[[', [[[]]]],
    ['{"a": {"b": [1, {"c": "', { a: { b: [1, { c: '' }] } }],
  ]
  for (const [text, value] of cases) {
    test(text === '' ? 'nothing' : text, () => {
      expect(parsePartialJson(text)).toEqual({ value, state: 'partial', length: text.length })
    })
  }
})

test('a whole number is complete, and partial as long as it cannot end', () => {
  expect(parsePartialJson('12')).toMatchObject({ value: 12, state: 'complete' })
  expect(parsePartialJson('12.')).toMatchObject({ value: undefined, state: 'partial' })
})

describe('what is no JSON', () => {
  const cases: [string, number][] = [
    ['x', 0],
    ['{a', 1],
    ['[1 2', 3],
    ['[01', 2],
    ['"\\x"', 1],
    ['"a\nb"', 2],
    ['{"a" 1', 5],
    ['[,', 1],
    ['[1,]', 3],
    ['{"a":1,}', 7],
    ['1 2', 2],
    ['[] ]', 3],
    ['[nul ', 1],
    ['+1', 0],
  ]
  for (const [text, at] of cases) {
    test(JSON.stringify(text), () => {
      expect(parsePartialJson(text)).toMatchObject({ state: 'invalid', length: at })
    })
  }
})

test('a name like __proto__ is a property', () => {
  const { value } = parsePartialJson('{"__proto__": {"x": 1}}')
  expect(Object.keys(value as object)).toEqual(['__proto__'])
  expect((value as { x?: number }).x).toBeUndefined()
})

test('deep nesting is read, without end it is refused', () => {
  expect(parsePartialJson('['.repeat(9_000)).state).toBe('partial')
  expect(parsePartialJson('['.repeat(100_000)).state).toBe('invalid')
})

test('whole texts give what JSON.parse gives, and their beginnings are partial', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      expect(parsePartialJson(text)).toEqual({
        value: JSON.parse(text),
        state: 'complete',
        length: text.length,
      })
      for (let end = 0; end < text.length; end++) {
        const { state } = parsePartialJson(text.slice(0, end))
        const isNumber = typeof value === 'number'
        expect(state === 'partial' || (isNumber && state === 'complete')).toBe(true)
      }
    }),
    { numRuns: 50 },
  )
})

test('any text is complete exactly when JSON.parse takes it', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    ',',
    ':',
    '1',
    '-',
    '.',
    'e',
    'true',
    ' ',
    'a',
    '\\',
    'u00e9',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (list) => {
      const text = list.join('')
      let isJson = true
      try {
        JSON.parse(text)
      } catch {
        isJson = false
      }
      expect(parsePartialJson(text).state === 'complete').toBe(isJson)
    }),
    { numRuns: 2000 },
  )
})
