// Cuts numbers into groups of three digits counted from the right, as people read them: 1|234|567.

/**
 * How a run of digits is cut, and when:
 * - `apart`: ASCII digits, between the groups alone: a run of six gives two groups.
 * - `bounded`: the same, but only runs that no letter or underscore follows, and a run becomes
 *   pieces of
 *   its own even where it needs no cut.
 * - `glued`: digits of all scripts; the first group keeps the text in front of it.
 */
export type DigitGrouping = 'apart' | 'bounded' | 'glued'

const ASCII_DIGITS = /[0-9]+/g
const ALL_DIGITS = /\p{N}+/gv
const WORD = /[A-Za-z0-9_]/

/** Positions where `text` is cut, ascending, in UTF-16 code units, without its two ends. */
export function digitCuts(text: string, grouping: DigitGrouping): number[] {
  const cuts: number[] = []
  for (const match of text.matchAll(grouping === 'glued' ? ALL_DIGITS : ASCII_DIGITS)) {
    const start = match.index
    const end = start + match[0].length
    const isBounded = grouping === 'bounded'
    if (isBounded && WORD.test(text[end] ?? '')) continue
    const digits = [...match[0]]
    let at = start
    // A run whose length is a multiple of three starts with a group: the cut is in front of it.
    if (isBounded || (grouping === 'apart' && digits.length % 3 === 0)) cuts.push(at)
    digits.forEach((digit, i) => {
      at += digit.length
      const after = digits.length - i - 1
      if (after % 3 === 0 && (after > 0 || grouping !== 'apart')) cuts.push(at)
    })
  }
  return cuts.filter((cut, i) => cut > 0 && cut < text.length && cut !== cuts[i - 1])
}
