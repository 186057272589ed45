// Replaces comments, and on request literals, by spaces, so that rules can look at code alone.

export type Language = 'ts' | 'zig' | 'c'

export const languageOf = (path: string): Language => {
  if (/\.(ts|mjs)$/.test(path)) return 'ts'
  return path.endsWith('.zig') ? 'zig' : 'c'
}

interface Token {
  kind: 'code' | 'comment' | 'literal'
  text: string
}

const slashComment = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y
const quoted = /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y

const patterns: Record<Language, { comment: RegExp; literal: RegExp }> = {
  ts: { comment: slashComment, literal: quoted },
  // A line that begins with two backslashes is a line of a string.
  zig: { comment: /\/\/[^\n]*/y, literal: new RegExp(`\\\\\\\\[^\\n]*|${quoted.source}`, 'y') },
  c: { comment: slashComment, literal: quoted },
}

/** A template from its backtick, or the brace that ends a `${}`, to the next of either kind. */
const templatePart = /[`}](?:\\[\s\S]|\$(?!\{)|[^`\\$])*(?:`|\$\{)/y
const regexLiteral = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y
const words = /[\w\s]+/y

/** After these a slash begins a regular expression, after anything else it divides. */
const beforeRegex = /(?:^|[-+*%=<>&|^!~?:;,([{}]|\b(?:return|typeof|case|in|of|do|else|await))$/

const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

/** The tokens of a source text, in order and without gaps. */
function* tokens(text: string, language: Language): Generator<Token> {
  const { comment, literal } = patterns[language]
  /** The brace depth at each `${` that is open. */
  const templates: number[] = []
  let depth = 0
  let before = ''

  const next = (at: number): Token => {
    const char = text[at]!
    const isTemplate = char === '`' || (char === '}' && templates.at(-1) === depth)
    const remark = matchAt(comment, text, at)
    if (remark !== undefined) return { kind: 'comment', text: remark }
    const isRegex = language === 'ts' && char === '/' && beforeRegex.test(before)
    const found =
      matchAt(literal, text, at) ??
      (language === 'ts' && isTemplate ? matchAt(templatePart, text, at) : undefined) ??
      (isRegex ? matchAt(regexLiteral, text, at) : undefined)
    if (found !== undefined) return { kind: 'literal', text: found }
    return { kind: 'code', text: matchAt(words, text, at) ?? char }
  }

  for (let at = 0; at < text.length; ) {
    const token = next(at)
    if (token.kind === 'literal') {
      if (token.text.startsWith('}')) templates.pop()
      if (/^[`}]/.test(token.text) && token.text.endsWith('${')) templates.push(depth)
      before = '"'
    }
    if (token.kind === 'code') {
      if (token.text === '{') depth += 1
      if (token.text === '}') depth -= 1
      before = token.text.trimEnd() || before
    }
    yield token
    at += token.text.length
  }
}

/** `text` of the same length and lines with comments blanked, and literals unless kept. */
export const blank = (
  text: string,
  language: Language,
  options: { keepLiterals?: boolean } = {},
): string => {
  const isKept = ({ kind }: Token): boolean =>
    kind === 'code' || (kind === 'literal' && options.keepLiterals === true)
  const parts = [...tokens(text, language)].map((token) =>
    isKept(token) ? token.text : token.text.replaceAll(/[^\n]/g, ' '),
  )
  return parts.join('')
}
