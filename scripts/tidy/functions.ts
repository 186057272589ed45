// How long functions are, measured by braces: in TypeScript by what stands before a brace, in Zig
// from each `fn`.
import { blank, languageOf } from './blank.ts'
import { isGenerated, lineAt, type Problem, type TextFile } from './files.ts'

const linesMax = 70

/** The offset of the bracket that closes the one at `open`, or the end of the text. */
const closing = (code: string, open: number): number => {
  const pairs: Record<string, string> = { '(': ')', '{': '}' }
  const opener = code[open]!
  let depth = 0
  for (let at = open; at < code.length; at += 1) {
    if (code[at] === opener) depth += 1
    if (code[at] === pairs[opener]) depth -= 1
    if (depth === 0) return at
  }
  return code.length
}

/** The offset of the parenthesis that opens what `close` closes. */
const opening = (code: string, close: number): number => {
  let depth = 0
  for (let at = close; at >= 0; at -= 1) {
    if (code[at] === ')') depth += 1
    if (code[at] === '(') depth -= 1
    if (depth === 0) return at
  }
  return 0
}

const blockWords = /\b(?:if|for|while|switch|catch|with)\s*$/

/** True when a function's body begins at `open`, rather than a block, object or class. */
const beginsFunction = (code: string, open: number): boolean => {
  const before = code.slice(Math.max(0, open - 400), open)
  if (/=>\s*$/.test(before)) return true
  // `)` or `): Type`, where the type holds no braces or parentheses.
  const head = /\)(\s*:\s*[\w[][^;{}()=?]*)?\s*$/.exec(before)
  if (head === null) return false
  const close = open - before.length + head.index
  return !blockWords.test(code.slice(0, opening(code, close)).slice(-20))
}

/** Groups of tests are lists of functions rather than functions. */
const isGroup = (code: string, open: number): boolean =>
  /^\s*(?:describe\b|\]\)\()/.test(code.slice(code.lastIndexOf('\n', open) + 1, open))

interface Body {
  open: number
  close: number
}

const typescriptBodies = (code: string): Body[] =>
  [...code.matchAll(/\{/g)]
    .map(({ index }) => index)
    .filter((open) => beginsFunction(code, open) && !isGroup(code, open))
    .map((open) => ({ open, close: closing(code, open) }))

/** Functions that return a type are how Zig writes generic structs; their methods count alone. */
const zigBodies = (code: string): Body[] =>
  [...code.matchAll(/\bfn\b[^(\n]*\(/g)].flatMap((head) => {
    const after = closing(code, head.index + head[0].length - 1) + 1
    // Up to the body: the return type, whose error sets have braces of their own.
    const result = /^(?:error\s*\{[^}]*\}|\([^()]*\)|[^{;()])*/.exec(code.slice(after))?.[0] ?? ''
    const open = after + result.length
    if (code[open] !== '{' || /\btype\s*$/.test(result)) return []
    return [{ open, close: closing(code, open) }]
  })

/** Functions of more than 70 lines, from the brace that opens the body to its closing one. */
export const longFunctions = ({ path, text }: TextFile): Problem[] => {
  if (isGenerated(path) || !/\.(ts|mjs|zig)$/.test(path)) return []
  const language = languageOf(path)
  const code = blank(text, language)
  const bodies = language === 'zig' ? zigBodies(code) : typescriptBodies(code)
  return bodies.flatMap(({ open, close }) => {
    const line = lineAt(code, open)
    const count = lineAt(code, close) - line + 1
    if (count <= linesMax) return []
    return [
      { path, line, message: `a function of ${count} lines, at most ${linesMax} fit a screen` },
    ]
  })
}
