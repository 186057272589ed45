// White space and line ends as Python's str methods see them; JavaScript's \s differs in a few.

/** What `str.isspace` and `\s` accept, for use inside a character class. */
const spaces =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

/** Sticky: set `lastIndex`, then `exec` or `test`. */
export const spaceRun = new RegExp(`[${spaces}]*`, 'y')
export const onlySpaces = new RegExp(`^[${spaces}]*$`)
export const spacesAnywhere = new RegExp(`[${spaces}]+`, 'g')

const one = new RegExp(`[${spaces}]`)

export function isSpace(character: string): boolean {
  return one.test(character)
}

/** Offset of the first character at or after `at` that is no white space. */
export function skipSpaces(source: string, at: number): number {
  spaceRun.lastIndex = at
  spaceRun.exec(source)
  return spaceRun.lastIndex
}

/** Offset after the last character before `end` that is no white space, at least `start`. */
export function skipSpacesBack(source: string, end: number, start = 0): number {
  let at = end
  while (at > start && isSpace(source[at - 1]!)) at--
  return at
}

/** What ends a line for `str.splitlines`. */
export const lineEnds = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g
