// Reads ECMAScript regular expressions (with the u flag, as JSON Schema asks) into a tree.
import {
  allScalars,
  type CodePoints,
  codePointMax,
  codePoints,
  complement,
  intersect,
} from '../code_points.ts'

/** A part of a regular expression. `max` may be Infinity; lazy and greedy mean the same here. */
export type Regex =
  | { kind: 'class'; points: CodePoints }
  | { kind: 'sequence'; items: readonly Regex[] }
  | { kind: 'choice'; items: readonly Regex[] }
  | { kind: 'repeat'; item: Regex; min: number; max: number }
  | { kind: 'start' }
  | { kind: 'end' }

/** What a regular expression is refused for; the caller knows where it stands. */
export class RegexProblem extends Error {}

/** Deepest nesting of groups. */
const depthMax = 200

/**
 * Parses a pattern.
 *
 * @throws RegexProblem when it is no regular expression, or not regular: look-around, back
 * references, word borders and flags are refused by name.
 */
export function parseRegex(source: string): Regex {
  try {
    new RegExp(source, 'u')
  } catch (error) {
    throw new RegexProblem(`no regular expression: ${(error as Error).message}`)
  }
  return new Parser(source).parse()
}

/** What has no line ending: the class of a dot. */
const dot = complement(codePoints([0x0a, 0x0a, 0x0d, 0x0d, 0x2028, 0x2029]))
const digits = codePoints([0x30, 0x39])
const wordCharacters = codePoints([0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a])
/** WhiteSpace and LineTerminator of ECMA-262. */
const spaces = codePoints([
  ...[0x09, 0x0d, 0x20, 0x20, 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a],
  ...[0x2028, 0x2029, 0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff],
])

const classEscapes: Record<string, CodePoints> = {
  d: digits,
  D: complement(digits),
  w: wordCharacters,
  W: complement(wordCharacters),
  s: spaces,
  S: complement(spaces),
}

const controlEscapes: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13 }

/** Works on what the engine has accepted already, so only what it means has to be found out. */
class Parser {
  readonly #source: readonly string[]
  #at = 0
  #depth = 0

  constructor(source: string) {
    this.#source = [...source]
  }

  parse(): Regex {
    return this.#parseChoice()
  }

  #parseChoice(): Regex {
    const items = [this.#parseSequence()]
    while (this.#take('|')) items.push(this.#parseSequence())
    return items.length === 1 ? items[0]! : { kind: 'choice', items }
  }

  #parseSequence(): Regex {
    const items: Regex[] = []
    while (this.#at < this.#source.length && this.#peek() !== '|' && this.#peek() !== ')') {
      items.push(this.#parseRepeat(this.#parseAtom()))
    }
    return items.length === 1 ? items[0]! : { kind: 'sequence', items }
  }

  #parseAtom(): Regex {
    const char = this.#next()
    switch (char) {
      case '^':
        return { kind: 'start' }
      case '$':
        return { kind: 'end' }
      case '.':
        return { kind: 'class', points: dot }
      case '[':
        return { kind: 'class', points: this.#parseClass() }
      case '(':
        return this.#parseGroup()
      case '\\':
        if (/[bB]/.test(this.#peek())) this.#refuse(`the word border \\${this.#peek()}`)
        return { kind: 'class', points: this.#parseEscape() }
    }
    return { kind: 'class', points: single(char.codePointAt(0)!) }
  }

  #parseGroup(): Regex {
    if (++this.#depth > depthMax) this.#refuse(`nesting of more than ${depthMax} groups`)
    if (this.#take('?') && !this.#take(':')) {
      const kind = this.#next() + this.#peek()
      if (/^[=!]/.test(kind) || kind === '<=' || kind === '<!')
        this.#refuse(`look-around (?${kind}`)
      if (!kind.startsWith('<')) this.#refuse(`the flags (?${kind}`)
      while (this.#next() !== '>');
    }
    const inner = this.#parseChoice()
    this.#next()
    this.#depth--
    return inner
  }

  #parseRepeat(item: Regex): Regex {
    const bounds = this.#parseBounds()
    if (bounds === undefined) return item
    this.#take('?')
    return { kind: 'repeat', item, min: bounds[0], max: bounds[1] }
  }

  #parseBounds(): readonly [number, number] | undefined {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.#take('?')) return [0, 1]
    if (!this.#take('{')) return undefined
    let text = ''
    for (let char = this.#next(); char !== '}'; char = this.#next()) text += char
    const [min, max] = text.split(',')
    if (max === undefined) return [Number(min), Number(min)]
    return [Number(min), max === '' ? Number.POSITIVE_INFINITY : Number(max)]
  }

  #parseClass(): CodePoints {
    const negated = this.#take('^')
    const pairs: number[] = []
    while (!this.#take(']')) {
      const first = this.#parseClassAtom()
      const isRange = this.#peek() === '-' && this.#source[this.#at + 1] !== ']'
      if (!isRange || first.length !== 2 || first[0] !== first[1]) {
        pairs.push(...first)
        continue
      }
      this.#at++
      pairs.push(first[0]!, this.#parseClassAtom()[1]!)
    }
    const points = codePoints(pairs)
    return negated ? complement(points) : points
  }

  #parseClassAtom(): CodePoints {
    const char = this.#next()
    if (char !== '\\') return single(char.codePointAt(0)!)
    if (this.#take('b')) return single(8)
    return this.#parseEscape()
  }

  /** What follows a backslash. */
  #parseEscape(): CodePoints {
    const char = this.#next()
    const known = classEscapes[char]
    if (known !== undefined) return known
    if (char === 'p' || char === 'P') return this.#parseProperty(char)
    if (char === 'k' || /[1-9]/.test(char)) this.#refuse(`the back reference \\${char}`)
    const control = controlEscapes[char]
    if (control !== undefined) return single(control)
    if (char === '0') return single(0)
    if (char === 'c') return single(this.#next().charCodeAt(0) % 32)
    if (char === 'x') return single(this.#hex(2))
    if (char === 'u') return single(this.#parseUnicode())
    return single(char.codePointAt(0)!)
  }

  #parseUnicode(): number {
    if (this.#take('{')) {
      let text = ''
      for (let char = this.#next(); char !== '}'; char = this.#next()) text += char
      return Number.parseInt(text, 16)
    }
    const first = this.#hex(4)
    const isLead = first >= 0xd800 && first < 0xdc00
    if (!isLead || this.#peek() !== '\\' || this.#source[this.#at + 1] !== 'u') return first
    const trail = Number.parseInt(this.#source.slice(this.#at + 2, this.#at + 6).join(''), 16)
    if (!(trail >= 0xdc00 && trail < 0xe000)) return first
    this.#at += 6
    return 0x10000 + ((first - 0xd800) << 10) + (trail - 0xdc00)
  }

  #parseProperty(kind: string): CodePoints {
    let name = ''
    this.#next()
    for (let char = this.#next(); char !== '}'; char = this.#next()) name += char
    const points = propertyPoints(name)
    return kind === 'P' ? complement(points) : points
  }

  #hex(length: number): number {
    const text = this.#source.slice(this.#at, this.#at + length).join('')
    this.#at += length
    return Number.parseInt(text, 16)
  }

  #peek(): string {
    return this.#source[this.#at] ?? ''
  }

  #next(): string {
    const char = this.#source[this.#at++]
    if (char === undefined) throw new RegexProblem('it ends too early')
    return char
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false
    this.#at++
    return true
  }

  #refuse(what: string): never {
    throw new RegexProblem(`${what} is not supported`)
  }
}

function single(point: number): CodePoints {
  return [point, point]
}

const knownProperties = new Map<string, CodePoints>()

/** The code points of a Unicode property, asked of the engine one by one. */
function propertyPoints(name: string): CodePoints {
  let points = knownProperties.get(name)
  if (points === undefined) {
    const matcher = new RegExp(`^\\p{${name}}$`, 'u')
    const pairs: number[] = []
    for (let point = 0; point <= codePointMax; point++) {
      if (point === 0xd800) point = 0xe000
      if (matcher.test(String.fromCodePoint(point))) pairs.push(point, point)
    }
    points = intersect(codePoints(pairs), allScalars)
    knownProperties.set(name, points)
  }
  return points
}
