// Letter case and kinds of characters, as Python's str methods define them.
import { onlySpaces } from './spaces.ts'
import { Text } from './text.ts'

/** Maps whole strings where provenance allows it, since some mappings look at neighbours. */
export function mapCase(text: Text, map: (run: string) => string): Text {
  if (text.marks.length === 0) return text.mapRuns(map)
  const whole = map(text.value)
  return whole.length === text.value.length
    ? new Text(whole, text.marks, text.safe)
    : text.mapRuns(map)
}

export function upper(value: string): string {
  return value.toUpperCase()
}

export function lower(value: string): string {
  return value.toLowerCase()
}

/** First character upper, the rest lower. */
export function capitalize(value: string): string {
  const first = value === '' ? '' : String.fromCodePoint(value.codePointAt(0)!)
  return titleCharacter(first) + value.slice(first.length).toLowerCase()
}

export function swapCase(value: string): string {
  return [...value].map((one) => (isUpperCharacter(one) ? lower(one) : upper(one))).join('')
}

/** `str.title`: a letter after anything that is no letter starts a word. */
export function title(value: string): string {
  let inWord = false
  return [...value]
    .map((one) => {
      const result = inWord ? one.toLowerCase() : titleCharacter(one)
      inWord = isCased(one)
      return result
    })
    .join('')
}

/** The `title` filter starts words after white space, hyphens and opening brackets only. */
export function titleWords(value: string): string {
  return value.replace(/[^-\s({[<]+/g, (word) => {
    const first = String.fromCodePoint(word.codePointAt(0)!)
    return upper(first) + lower(word.slice(first.length))
  })
}

/** Letters that stand for two have a title form of their own. */
const digraphs: Readonly<Record<string, string>> = {
  ...{ Ǆ: 'ǅ', ǆ: 'ǅ', Ǉ: 'ǈ', ǉ: 'ǈ' },
  ...{ Ǌ: 'ǋ', ǌ: 'ǋ', Ǳ: 'ǲ', ǳ: 'ǲ' },
}

/** ß becomes Ss, not SS. */
function titleCharacter(one: string): string {
  const digraph = digraphs[one]
  if (digraph !== undefined) return digraph
  const mapped = upper(one)
  const first = mapped === '' ? '' : String.fromCodePoint(mapped.codePointAt(0)!)
  return first + mapped.slice(first.length).toLowerCase()
}

function isCased(one: string): boolean {
  return /\p{Cased}/u.test(one)
}

function isUpperCharacter(one: string): boolean {
  return /[\p{Uppercase}\p{Lt}]/u.test(one)
}

type Predicate = (value: string) => boolean

function all(pattern: RegExp): Predicate {
  return (value) => pattern.test(value)
}

/** `str.isupper` and its kin, by Python's names. */
export const predicates: Readonly<Record<string, Predicate>> = {
  isalnum: all(/^[\p{L}\p{N}]+$/u),
  isalpha: all(/^\p{L}+$/u),
  isascii: (value) => /^[\0-\x7f]*$/.test(value),
  isdecimal: all(/^\p{Nd}+$/u),
  isdigit: all(/^[\p{Nd}²³¹⁰⁴-⁹₀-₉①-⑨]+$/u),
  isidentifier: all(/^[\p{XID_Start}_]\p{XID_Continue}*$/u),
  islower: (value) => /\p{Lowercase}/u.test(value) && !/[\p{Uppercase}\p{Lt}]/u.test(value),
  isnumeric: all(/^\p{N}+$/u),
  isprintable: (value) => !/[\p{C}\p{Zl}\p{Zp}\p{Zs}]/u.test(value.replaceAll(' ', '')),
  isspace: (value) => value !== '' && onlySpaces.test(value),
  istitle: (value) => isCased(value) && title(value) === value,
  isupper: (value) => /[\p{Uppercase}\p{Lt}]/u.test(value) && !/\p{Lowercase}/u.test(value),
}
