// Tokens for people: what each stands for, and a text in which their borders can be seen.
import type { Tokenizer } from './tokenizer.ts'

export interface ShownToken {
  id: number
  /** The bytes the token stands for; the text of control tokens. */
  bytes: Uint8Array
  /** The same, printable: cut characters as `<0xE2>`, control characters as `\n`. */
  text: string
  /** Whether it is a control token or the unknown token. */
  special: boolean
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const NAMED: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }
/** Characters that a terminal would act on, or that nobody could see. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\]/gv

/**
 * Describes tokens one by one.
 *
 * @throws RangeError for an id that is not in the vocabulary.
 * @example
 * showTokens(tokenizer, tokenizer.encode('Hi\n')).map(({ text }) => text) // ['Hi', '\\n']
 */
export function showTokens(tokenizer: Tokenizer, ids: ArrayLike<number>): ShownToken[] {
  return Array.from(ids, (id) => {
    const bytes = tokenizer.pieceBytes(id, { special: true })
    return { id, bytes, text: printable(bytes), special: tokenizer.isSpecial(id) }
  })
}

/** Background colours that differ from their neighbours on light and dark terminals (ANSI 256). */
const COLORS = [153, 222, 157, 218, 189]
const SPECIAL_COLOR = 210

/**
 * The text of tokens on coloured ground, each token apart from the next; a line break ends the line
 * after it was shown. Nothing in the tokens can reach the terminal as a command.
 */
export function colorTokens(tokens: readonly ShownToken[]): string {
  return tokens
    .map(({ text, special }, i) => {
      const color = special ? SPECIAL_COLOR : COLORS[i % COLORS.length]!
      const breaks = /\\n$/.test(text.replaceAll('\\\\', '')) ? '\n' : ''
      return `\x1b[48;5;${color}m\x1b[38;5;16m${text}\x1b[0m${breaks}`
    })
    .join('')
}

function printable(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes).replace(HIDDEN, escaped)
  } catch {
    return Array.from(bytes, (byte) => `<0x${hex(byte, 2)}>`).join('')
  }
}

function escaped(character: string): string {
  const point = character.codePointAt(0)!
  return NAMED[character] ?? (point < 256 ? `\\x${hex(point, 2)}` : `\\u{${hex(point, 1)}}`)
}

const hex = (value: number, digits: number): string =>
  value.toString(16).toUpperCase().padStart(digits, '0')
