// JSON as grammar expressions: characters of strings, any value, and literal values.
import {
  allScalars,
  type CodePoints,
  codePoints,
  contains,
  difference,
  intersect,
} from '../code_points.ts'
import {
  choice,
  type Expression,
  empty,
  oneOf,
  optional,
  repeat,
  rule,
  sequence,
  text,
} from '../expression.ts'

/** Names of the rules that `jsonRules` makes. */
export const jsonRule = {
  space: 'space',
  string: 'string',
  number: 'number',
  integer: 'integer',
  value: 'value',
} as const

/** Where white space may stand: nowhere, or as programs and models commonly print JSON. */
export type Whitespace = 'none' | 'common'

const range = (first: string, last: string): CodePoints => [first.charCodeAt(0), last.charCodeAt(0)]
export const digit: Expression = oneOf(range('0', '9'))
const hex = oneOf(codePoints([...range('0', '9'), ...range('A', 'F'), ...range('a', 'f')]))

/** Characters that need no escape in a JSON string. */
const rawCharacters = difference(allScalars, codePoints([0, 0x1f, 0x22, 0x22, 0x5c, 0x5c]))

const shortEscapes: readonly [number, string][] = [
  [0x22, '"'],
  [0x5c, '\\'],
  [0x2f, '/'],
  [0x08, 'b'],
  [0x0c, 'f'],
  [0x0a, 'n'],
  [0x0d, 'r'],
  [0x09, 't'],
]

/**
 * One character of the set inside a JSON string: as it is where JSON allows it, else with its short
 * escape or as `\u00XX`.
 */
export function stringCharacter(points: CodePoints): Expression {
  const raw = intersect(points, rawCharacters)
  const escapes = shortEscapes.filter(([point]) => contains(points, point))
  const shorts = escapes.map(([, letter]) => letter.codePointAt(0)!)
  const items: Expression[] = []
  if (raw.length > 0) items.push(oneOf(raw))
  if (shorts.length > 0) {
    items.push(sequence(text('\\'), oneOf(codePoints(shorts.flatMap((char) => [char, char])))))
  }
  for (let point = 0; point < 0x20; point++) {
    if (contains(points, point) && !shortEscapes.some(([known]) => known === point)) {
      items.push(controlEscape(point))
    }
  }
  return choice(...items)
}

function controlEscape(point: number): Expression {
  const low = (point & 15).toString(16)
  const last = codePoints([low, low.toUpperCase()].flatMap((char) => range(char, char)))
  return sequence(text(`\\u00${point >> 4}`), oneOf(last))
}

/** Any character of a JSON string, with all escapes that stand for a code point. */
export const anyCharacter: Expression = choice(
  oneOf(rawCharacters),
  sequence(text('\\'), oneOf(codePoints([...'"\\/bfnrt'].flatMap((char) => range(char, char))))),
  sequence(
    text('\\u'),
    choice(
      sequence(
        oneOf(codePoints([...range('0', '9'), ...range('A', 'C'), ...range('E', 'F')])),
        hex,
        hex,
        hex,
      ),
      sequence(oneOf(codePoints([...range('a', 'c'), ...range('e', 'f')])), hex, hex, hex),
      sequence(oneOf(codePoints([0x44, 0x44, 0x64, 0x64])), oneOf(range('0', '7')), hex, hex),
      surrogatePair(),
    ),
  ),
)

function surrogatePair(): Expression {
  const d = oneOf(codePoints([0x44, 0x44, 0x64, 0x64]))
  const lead = oneOf(codePoints([...range('8', '9'), ...range('A', 'B'), ...range('a', 'b')]))
  const trail = oneOf(codePoints([...range('C', 'F'), ...range('c', 'f')]))
  return sequence(d, lead, hex, hex, text('\\u'), d, trail, hex, hex)
}

/** A JSON string around its characters. */
export function quoted(characters: Expression): Expression {
  return sequence(text('"'), characters, text('"'))
}

/** Most digits before the point and after it: as many as any double needs in its shortest form. */
export const integerDigits = 21
export const fractionDigits = 24

/** An integer without sign and without leading zeros. */
const naturalNumber = choice(
  text('0'),
  sequence(oneOf(range('1', '9')), repeat(digit, 0, integerDigits - 1)),
)
/** A point and digits after it. */
export const fraction: Expression = sequence(text('.'), repeat(digit, 1, fractionDigits))

/** Exponents with which one digit before the point stays finite. */
const positiveExponent = choice(
  repeat(digit, 1, 2),
  sequence(oneOf(range('0', '2')), digit, digit),
  sequence(text('30'), oneOf(range('0', '7'))),
)
const exponent = sequence(
  oneOf(codePoints([...range('E', 'E'), ...range('e', 'e')])),
  choice(sequence(optional(text('+')), positiveExponent), sequence(text('-'), repeat(digit, 1, 3))),
)

/**
 * The rules that all schemas share. Numbers are bounded so that every one is a finite double; every
 * double below 1e308 is matched in its shortest form.
 */
export function jsonRules(whitespace: Whitespace): Map<string, Expression> {
  const space = rule(jsonRule.space)
  const value = rule(jsonRule.value)
  const pair = sequence(rule(jsonRule.string), text(':'), space, value)
  return new Map<string, Expression>([
    [
      jsonRule.space,
      whitespace === 'none'
        ? empty
        : optional(
            choice(
              text(' '),
              sequence(text('\n'), repeat(oneOf(codePoints([0x20, 0x20, 0x09, 0x09])), 0, 20)),
            ),
          ),
    ],
    [jsonRule.string, quoted(repeat(anyCharacter, 0))],
    [jsonRule.integer, sequence(optional(text('-')), naturalNumber)],
    [
      jsonRule.number,
      sequence(
        optional(text('-')),
        choice(
          sequence(naturalNumber, optional(fraction)),
          sequence(digit, optional(fraction), exponent),
        ),
      ),
    ],
    [
      jsonRule.value,
      choice(
        rule(jsonRule.string),
        rule(jsonRule.number),
        text('true'),
        text('false'),
        text('null'),
        bracketed('[', list(value), ']'),
        bracketed('{', list(pair), '}'),
      ),
    ],
  ])
}

/** Items with commas between them, or nothing. */
export function list(item: Expression): Expression {
  return optional(sequence(item, repeat(sequence(text(','), rule(jsonRule.space), item), 0)))
}

/** An array or object around its content. */
export function bracketed(open: string, content: Expression, close: string): Expression {
  const space = rule(jsonRule.space)
  return sequence(text(open), space, content, space, text(close))
}

/** A given JSON value; arrays and objects with white space where it may stand. */
export function literal(value: unknown): Expression {
  const space = rule(jsonRule.space)
  const join = (items: Expression[]) =>
    sequence(...items.flatMap((item, i) => (i === 0 ? [item] : [text(','), space, item])))
  if (Array.isArray(value)) return bracketed('[', join(value.map(literal)), ']')
  if (typeof value === 'object' && value !== null) {
    const pairs = Object.entries(value).map(([key, inner]) =>
      sequence(text(`${JSON.stringify(key)}:`), space, literal(inner)),
    )
    return bracketed('{', join(pairs), '}')
  }
  return text(JSON.stringify(value))
}
