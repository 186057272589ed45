// Reads JSON that is still being written: what can be told of a value so far.

/** What a text that may be cut off stands for. */
export interface PartialJson {
  /**
   * The value so far: open arrays and objects with what they hold, a cut-off string up to the cut
   * (without half an escape), undefined when there is nothing yet. A cut-off number, `true`,
   * `false` or `null` is left out until it is certain: a number may go on until something follows
   * it.
   */
  value: unknown
  /**
   * 'complete': one whole value. 'partial': a beginning of one. 'invalid': no beginning of JSON.
   */
  state: 'complete' | 'partial' | 'invalid'
  /** UTF-16 units read; for 'invalid', where it went wrong. */
  length: number
}

/** Deepest nesting; beyond it a text counts as invalid. */
const depthMax = 10_000

/**
 * Parses as much of a JSON text as there is.
 *
 * ```ts
 * parsePartialJson('{"city": "Par')     // { value: { city: 'Par' }, state: 'partial', … }
 * parsePartialJson('[1, 2')             // { value: [1], state: 'partial', … }
 * parsePartialJson('[1, 2]')            // { value: [1, 2], state: 'complete', … }
 * ```
 *
 * A property appears once its value has begun. Of a name that comes twice, the last value counts.
 */
export function parsePartialJson(text: string): PartialJson {
  return new PartialParser(text).parse()
}

/** Thrown inside: the text ends, or it is wrong, at `at`. */
class Stop {
  readonly isEnd: boolean
  readonly at: number

  constructor(isEnd: boolean, at: number) {
    this.isEnd = isEnd
    this.at = at
  }
}

type Container = ({ array: unknown[] } | { object: Record<string, unknown>; key: string }) & {
  /** Whether nothing was read in it yet. */
  isFresh: boolean
}

class PartialParser {
  readonly #text: string
  #at = 0
  readonly #open: Container[] = []
  #value: unknown

  constructor(text: string) {
    this.#text = text
  }

  parse(): PartialJson {
    try {
      this.#run()
      return { value: this.#value, state: 'complete', length: this.#at }
    } catch (stop) {
      if (!(stop instanceof Stop)) throw stop
      return { value: this.#value, state: stop.isEnd ? 'partial' : 'invalid', length: stop.at }
    }
  }

  #run(): void {
    this.#beginValue()
    while (this.#open.length > 0) {
      const top = this.#open[this.#open.length - 1]!
      const next = this.#peek()
      if (next === ('array' in top ? ']' : '}')) {
        this.#at++
        this.#open.pop()
      } else if (top.isFresh) {
        top.isFresh = false
        this.#beginItem(top)
      } else if (next === ',') {
        this.#at++
        this.#beginItem(top)
      } else {
        this.#stop()
      }
    }
    this.#skipSpace()
    if (this.#at < this.#text.length) this.#stop()
  }

  /** Puts a value where the open containers say, before it is whole. */
  #put(value: unknown): void {
    const top = this.#open[this.#open.length - 1]
    if (top === undefined) this.#value = value
    else if ('array' in top) top.array.push(value)
    else setProperty(top.object, top.key, value)
  }

  #beginItem(top: Container): void {
    if ('array' in top) {
      this.#beginValue()
      return
    }
    if (this.#peek() !== '"') this.#stop()
    top.key = this.#string()
    if (this.#peek() !== ':') this.#stop()
    this.#at++
    this.#beginValue()
  }

  /** Reads a scalar, or opens a container. */
  #beginValue(): void {
    const char = this.#peek()
    if (char === '[' || char === '{') this.#openContainer(char)
    else if (char === '"') this.#stringValue()
    else if (char === '-' || (char >= '0' && char <= '9')) this.#number()
    else this.#word()
  }

  #openContainer(char: string): void {
    if (this.#open.length >= depthMax) throw new Stop(false, this.#at)
    this.#at++
    const container: Container =
      char === '[' ? { array: [], isFresh: true } : { object: {}, key: '', isFresh: true }
    this.#put('array' in container ? container.array : container.object)
    this.#open.push(container)
  }

  #stringValue(): void {
    const start = this.#at
    let text: string
    try {
      text = this.#string()
    } catch (stop) {
      if (stop instanceof Stop && stop.isEnd) this.#put(readString(this.#text.slice(start + 1)))
      throw stop
    }
    this.#put(text)
  }

  /** A whole string; stops at its end being missing. */
  #string(): string {
    const start = this.#at++
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined) throw new Stop(true, this.#at)
      if (char === '"') break
      if (char === '\\') this.#escape()
      else if (char < ' ') this.#stop()
      else this.#at++
    }
    this.#at++
    return JSON.parse(this.#text.slice(start, this.#at))
  }

  #escape(): void {
    const match = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(
      this.#text.slice(this.#at, this.#at + 6),
    )
    if (match === null) {
      const rest = this.#text.slice(this.#at)
      const isCut = rest.length < 6 && /^\\(?:u[0-9a-fA-F]{0,3})?$/.test(rest)
      throw new Stop(isCut, isCut ? this.#text.length : this.#at)
    }
    this.#at += match[0].length
  }

  #number(): void {
    const pattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    const end = match === null ? this.#at : pattern.lastIndex
    if (end === this.#text.length || isNumberCut(this.#text.slice(end))) {
      // At the very end of the text a number outside of containers is whole.
      if (match !== null && end === this.#text.length && this.#open.length === 0) {
        this.#at = end
        this.#put(Number(match[0]))
        return
      }
      throw new Stop(true, this.#text.length)
    }
    if (match === null) this.#stop()
    this.#at = end
    this.#put(Number(match[0]))
  }

  #word(): void {
    for (const [word, value] of words) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length
        this.#put(value)
        return
      }
      const rest = this.#text.slice(this.#at)
      if (rest.length > 0 && rest.length < word.length && word.startsWith(rest)) {
        throw new Stop(true, this.#text.length)
      }
    }
    this.#stop()
  }

  /** The next character that is no white space; stops at the end of the text. */
  #peek(): string {
    this.#skipSpace()
    const char = this.#text[this.#at]
    if (char === undefined) throw new Stop(true, this.#at)
    return char
  }

  #skipSpace(): void {
    while (/[ \t\n\r]/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  #stop(): never {
    throw new Stop(this.#at >= this.#text.length, this.#at)
  }
}

const words: readonly [string, unknown][] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** Whether what follows the valid part of a number is the beginning of more of it. */
function isNumberCut(rest: string): boolean {
  return /^(?:-|\.|[eE][+-]?)$/.test(rest)
}

/** `__proto__` is a name like others. */
function setProperty(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

/** The content of a string without its closing quote, up to half an escape or half a pair. */
function readString(content: string): string {
  const whole = content.replace(/(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, '$1')
  return JSON.parse(`"${whole}"`).replace(/[\ud800-\udbff]$/, '')
}
