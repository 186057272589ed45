// The conventions that a program can check in one file at a time; each rule is a function.
import { blank, languageOf } from './blank.ts'
import { isCode, isGenerated, lineAt, type Problem, type TextFile } from './files.ts'

export type Rule = (file: TextFile) => Problem[]

const columnsMax = 100
const fileLinesMax = 500

/** A problem for each line that `find` says something of. */
const perLine = (file: TextFile, find: (line: string) => string | undefined): Problem[] =>
  file.text.split('\n').flatMap((text, index) => {
    const message = find(text)
    return message === undefined ? [] : [{ path: file.path, line: index + 1, message }]
  })

/** Every match of a global pattern, as a problem at its line. */
const perMatch = (file: TextFile, pattern: RegExp, message: (found: string) => string): Problem[] =>
  [...file.text.matchAll(pattern)].map((match) => ({
    path: file.path,
    line: lineAt(file.text, match.index),
    message: message(match[0]),
  }))

export const purposeFirst: Rule = ({ path, text }) => {
  if (!isCode(path)) return []
  const lines = text.split('\n')
  const first = lines[0]?.startsWith('#!') ? 1 : 0
  const comment = /^(?:\/\/[/!]?|#|\/\*\*?) ?(.*)$/.exec(lines[first] ?? '')?.[1] ?? ''
  if (comment.trim().split(/\s+/).length >= 3) return []
  return [{ path, line: first + 1, message: 'the first line does not say what the file is for' }]
}

export const shortLines: Rule = (file) => {
  if (!isCode(file.path) || isGenerated(file.path)) return []
  return perLine(file, (line) => {
    const columns = [...line].length
    // An address cannot be broken.
    if (columns <= columnsMax || /^\s*(?:\/\/|\*)\s*https:\S+$/.test(line)) return undefined
    return `${columns} columns, at most ${columnsMax}`
  })
}

/** A longer file says why in its header, in a sentence that has the words "long because". */
export const shortFiles: Rule = ({ path, text }) => {
  if (!isCode(path) || isGenerated(path)) return []
  const lines = text.trimEnd().split('\n')
  if (lines.length <= fileLinesMax) return []
  if (/long because/i.test(lines.slice(0, 20).join(' '))) return []
  const message = `${lines.length} lines, over ${fileLinesMax}, and no "long because" in the header`
  return [{ path, line: 1, message }]
}

const forbiddenFolders = new Set(['lib', 'utils', 'util', 'common', 'misc', 'helpers'])
const forbiddenFiles = new Set(['utils', 'util', 'common', 'misc', 'helpers', 'helper', 'manager'])

export const namesSaySomething: Rule = ({ path }) => {
  const parts = path.split('/')
  const stem = parts.pop()!.split('.')[0]!
  const folder = parts.find((name) => forbiddenFolders.has(name))
  const name = folder ?? (forbiddenFiles.has(stem) ? stem : undefined)
  return name === undefined ? [] : [{ path, line: 1, message: `"${name}" says nothing as a name` }]
}

export const snakeCase: Rule = ({ path }) => {
  if (!isCode(path)) return []
  // Block formats are spelt as everywhere else: q4_K.
  const isSnake = (part: string): boolean => /^\.?[a-z0-9]+([_.][a-z0-9]+|_K)*$/.test(part)
  const odd = path.split('/').find((part) => !isSnake(part))
  return odd === undefined ? [] : [{ path, line: 1, message: `${odd} is not snake_case` }]
}

export const generatorNamed: Rule = ({ path, text }) => {
  if (!isGenerated(path)) return []
  const header = text.split('\n').slice(0, 4).join(' ')
  const named = /\b(?:generated|written) by\b.*?`?(?:zig build \w+|[\w/]+\.(?:ts|zig|mjs))/i
  if (named.test(header)) return []
  return [{ path, line: 1, message: 'a generated file names its generator in the first lines' }]
}

// Spelt with classes, so that this file does not break its own rules.
const unfinished = /\b(?:TO[D]O|FI[X]ME|X[X]X|HA[C]K)\b/g
const machine =
  /\/wo[r]k\/|\/fa[r]m\/|\/tm[p]\/bash|\/tm[p]\/leaven\b|registr[y]\.npmjs|de[b]\.debian/g

export const finished: Rule = (file) =>
  isCode(file.path)
    ? perMatch(file, unfinished, (found) => `${found}: finish it or open an issue`)
    : []

export const noMachinePaths: Rule = (file) =>
  perMatch(file, machine, (found) => `"${found}" names one machine or host`)

export const noAbsoluteImports: Rule = (file) => {
  if (!isCode(file.path)) return []
  const code = { ...file, text: blank(file.text, languageOf(file.path), { keepLiterals: true }) }
  const pattern =
    /(?:@(?:import|embedFile)\(|#include |\bfrom |\bimport\(?) *["'](?:\/|[A-Z]:)[^"']*/g
  return perMatch(code, pattern, (found) => `${found} is an absolute path`)
}

export const noFocusedTests: Rule = (file) =>
  file.path.endsWith('.test.ts')
    ? perMatch(
        file,
        /\b(?:test|describe|it)\.only\(/g,
        (found) => `${found} leaves out other tests`,
      )
    : []
