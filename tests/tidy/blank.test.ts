// Comments and literals are told from code, so that rules do not trip over what is quoted.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { blank } from '../../scripts/tidy/blank.ts'
import { listFiles } from '../../scripts/tidy/files.ts'

const root = join(import.meta.dir, '../..')

/** `blank` with runs of spaces shortened. */
const code = (text: string, language: 'ts' | 'zig' | 'c' = 'ts'): string =>
  blank(text, language).replaceAll(/ +/g, ' ').trim()

describe('in TypeScript', () => {
  test('comments and strings go, code stays', () => {
    expect(code(`a('}') // }\nb("\\"{") /* { */ c`)).toBe('a( ) \nb( ) c')
  })

  test('code inside a template stays, also in nested ones', () => {
    const open = `$${'{'}`
    expect(code(`x = \`{${open}a + \`}${open}b({})}{\`}{\` + c`)).toBe('x = a + b({}) + c')
  })

  test('a slash after an operator begins an expression, after a value it divides', () => {
    expect(code('x = /[/{"]\\/}/g.test(y)')).toBe('x = .test(y)')
    expect(code('x = (a) / b / c')).toBe('x = (a) / b / c')
    expect(code('x = "a" / b // c')).toBe('x = / b')
    expect(code('return /{/')).toBe('return')
  })

  test('an address in a string is no comment', () => {
    expect(code(`x = 'https://a' + y`)).toBe('x = + y')
  })
})

test('in Zig a line of a multi-line string is a literal', () => {
  expect(code("const a =\n    \\\\ { \"\n;\nconst b = '{'; // }", 'zig')).toBe(
    'const a =\n \n;\nconst b = ;',
  )
})

test('in C a block comment may hold quotes', () => {
  expect(code(`/* it's { */ int a; // "`, 'c')).toBe('int a;')
})

test('literals stay when asked for', () => {
  expect(blank(`f('a') // 'b'`, 'ts', { keepLiterals: true }).trim()).toBe(`f('a')`)
})

test('blanking keeps the length and the braces of every file here balanced', () => {
  for (const path of listFiles(root).filter((name) => /\.(ts|mjs|zig)$/.test(name))) {
    const text = readFileSync(join(root, path), 'utf8')
    const blanked = blank(text, path.endsWith('.zig') ? 'zig' : 'ts')
    expect(blanked.length, path).toBe(text.length)
    const count = (char: string): number => blanked.split(char).length
    expect(count('{') - count('}'), path).toBe(0)
  }
})
