// Finds the end of a JSON value in growing text, and reads it.

/** Scans each character once, however the text arrives. */
export class JsonEnd {
  #at: number
  #depth = 0
  #inString = false
  #escaped = false

  /** `start` is the offset of the opening brace or bracket. */
  constructor(start: number) {
    this.#at = start
  }

  /** Offset after the value once `text`, which only grows, holds all of it. */
  find(text: string): number | undefined {
    while (this.#at < text.length) {
      if (this.#step(text.charCodeAt(this.#at++))) return this.#at
    }
    return undefined
  }

  /** True at the end of the value. */
  #step(code: number): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false
      else if (code === backslash) this.#escaped = true
      else if (code === quote) this.#inString = false
      return false
    }
    if (code === quote) this.#inString = true
    else if (code === openBrace || code === openBracket) this.#depth++
    else if (code === closeBrace || code === closeBracket) this.#depth--
    return this.#depth === 0
  }
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** A JSON value; line ends and tabs inside of strings, which models like to write, are allowed. */
export function readJson(text: string): { readonly value: unknown } | undefined {
  const value = parse(text) ?? parse(escapeControls(text))
  return value
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

function escapeControls(text: string): string {
  return text.replace(/"(?:[^"\\]|\\[\s\S])*"/g, (string) =>
    string.replace(/[\x00-\x1f]/g, (one) => {
      return `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
    }),
  )
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
