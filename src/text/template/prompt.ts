// A rendered prompt: text, and which of its characters may spell special tokens.

/** A run of text from the template (trusted) or from the caller (not). */
export interface Segment {
  readonly text: string
  /** Special tokens may be parsed in it. */
  readonly trusted: boolean
}

/** A special token, or text in which nothing is special. */
export interface Piece {
  readonly text: string
  readonly special: boolean
}

/**
 * What a template rendered. Tokenized with `untrusted`, text around special tokens stays in one
 * piece across the borders of template and content, so the ids are those of the whole string, while
 * a special token that a user spelt stays plain text.
 *
 * ```ts
 * tokenizer.encode(prompt.text, { parseSpecial: true, untrusted: prompt.untrusted })
 * ```
 */
export class RenderedPrompt {
  readonly text: string
  /** Ranges from the caller as [start, end, …], UTF-16 units, ascending, apart. */
  readonly untrusted: readonly number[]

  constructor(text: string, untrusted: readonly number[] = []) {
    this.text = text
    this.untrusted = untrusted
  }

  toString(): string {
    return this.text
  }

  /** The text in runs of equal trust. */
  segments(): Segment[] {
    const result: Segment[] = []
    const push = (start: number, end: number, trusted: boolean) => {
      if (start < end) result.push({ text: this.text.slice(start, end), trusted })
    }
    let at = 0
    for (let i = 0; i < this.untrusted.length; i += 2) {
      push(at, this.untrusted[i]!, true)
      at = this.untrusted[i + 1]!
      push(this.untrusted[i]!, at, false)
    }
    push(at, this.text.length, true)
    return result
  }

  /** Whether all characters from `start` to `end` come from the template. */
  isTrusted(start: number, end: number): boolean {
    let low = 0
    let high = this.untrusted.length >> 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.untrusted[middle * 2 + 1]! <= start) low = middle + 1
      else high = middle
    }
    const next = this.untrusted[low * 2]
    return next === undefined || next >= end
  }

  /** The first `end` UTF-16 units. */
  cut(end: number): RenderedPrompt {
    const marks: number[] = []
    for (let i = 0; i < this.untrusted.length && this.untrusted[i]! < end; i += 2) {
      marks.push(this.untrusted[i]!, Math.min(end, this.untrusted[i + 1]!))
    }
    return new RenderedPrompt(this.text.slice(0, end), marks)
  }

  /**
   * Splits at the special tokens that lie wholly in trusted text; the longest wins where several
   * begin at one place.
   *
   * ```ts
   * prompt.pieces(['<|im_start|>', '<|im_end|>'])
   * ```
   */
  pieces(specialTokens: Iterable<string>): Piece[] {
    const tokens = [...new Set(specialTokens)].filter((token) => token !== '')
    if (tokens.length === 0) return this.text === '' ? [] : [{ text: this.text, special: false }]
    tokens.sort((a, b) => b.length - a.length)
    const pattern = new RegExp(tokens.map(escapePattern).join('|'), 'g')
    const result: Piece[] = []
    let at = 0
    for (let match = pattern.exec(this.text); match; match = pattern.exec(this.text)) {
      const text = this.#longestTrusted(tokens, match.index)
      if (text === undefined) {
        pattern.lastIndex = match.index + 1
        continue
      }
      if (at < match.index) result.push({ text: this.text.slice(at, match.index), special: false })
      result.push({ text, special: true })
      at = match.index + text.length
      pattern.lastIndex = at
    }
    if (at < this.text.length) result.push({ text: this.text.slice(at), special: false })
    return result
  }

  /** A shorter token may lie in trusted text where a longer one leaves it. */
  #longestTrusted(tokens: readonly string[], at: number): string | undefined {
    return tokens.find(
      (token) => this.text.startsWith(token, at) && this.isTrusted(at, at + token.length),
    )
  }
}

function escapePattern(token: string): string {
  return token.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
