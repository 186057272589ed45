// Cutting strings: split, strip, partition, lines, replace. All positions are UTF-16 offsets.
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { isSpace, lineEnds, skipSpaces, skipSpacesBack, spacesAnywhere } from './spaces.ts'
import { Builder, type Text } from './text.ts'

/** Strips white space, or the characters of `set`, from the chosen ends. */
export function strip(text: Text, set: Text | undefined, left: boolean, right: boolean): Text {
  const { value } = text
  let start = 0
  let end = value.length
  if (set === undefined) {
    if (left) start = skipSpaces(value, 0)
    if (right) end = skipSpacesBack(value, end, start)
    return text.slice(start, end)
  }
  const characters = new Set(set.value)
  while (left && start < end) {
    const one = String.fromCodePoint(value.codePointAt(start)!)
    if (!characters.has(one)) break
    start += one.length
  }
  while (right && end > start) {
    const pair = end - start > 1 ? value.slice(end - 2, end) : ''
    const one = [...pair].length === 1 ? pair : value[end - 1]!
    if (!characters.has(one)) break
    end -= one.length
  }
  return text.slice(start, end)
}

/** At most `max` cuts (negative: no limit), from the left or the right. */
export function split(
  text: Text,
  separator: Text | undefined,
  max: number,
  fromRight: boolean,
  budget: Budget,
): Text[] {
  budget.search(text.value.length, separator?.value.length ?? 1)
  const limit = max < 0 ? Number.POSITIVE_INFINITY : max
  if (separator?.value === '') throw new Fault('empty separator')
  const parts = separator
    ? splitAt(text, separator.value, limit, fromRight)
    : splitSpaces(text, limit, fromRight)
  budget.make(text.value.length + parts.length)
  return parts
}

function splitAt(text: Text, separator: string, limit: number, fromRight: boolean): Text[] {
  const { value } = text
  const parts: Text[] = []
  if (fromRight) {
    let end = value.length
    while (parts.length < limit) {
      const at = end < separator.length ? -1 : value.lastIndexOf(separator, end - separator.length)
      if (at < 0) break
      parts.push(text.slice(at + separator.length, end))
      end = at
    }
    parts.push(text.slice(0, end))
    return parts.reverse()
  }
  let start = 0
  while (parts.length < limit) {
    const at = value.indexOf(separator, start)
    if (at < 0) break
    parts.push(text.slice(start, at))
    start = at + separator.length
  }
  parts.push(text.slice(start))
  return parts
}

/** Runs of white space separate; the part left over keeps its inner white space. */
function splitSpaces(text: Text, limit: number, fromRight: boolean): Text[] {
  const { value } = text
  const parts: Text[] = []
  let start = skipSpaces(value, 0)
  let end = skipSpacesBack(value, value.length, start)
  if (fromRight) {
    while (end > start && parts.length < limit) {
      let at = end
      while (at > start && !isSpace(value[at - 1]!)) at--
      parts.push(text.slice(at, end))
      end = skipSpacesBack(value, at, start)
    }
    // Here the rest keeps the white space before it.
    if (end > start) parts.push(text.slice(0, end))
    return parts.reverse()
  }
  end = value.length
  while (start < end) {
    if (parts.length >= limit) {
      parts.push(text.slice(start))
      break
    }
    spacesAnywhere.lastIndex = start
    const at = spacesAnywhere.exec(value)?.index ?? end
    parts.push(text.slice(start, at))
    start = skipSpaces(value, at)
  }
  return parts
}

/** `str.splitlines(keepEnds)`. */
export function splitLines(text: Text, keepEnds: boolean): Text[] {
  const lines: Text[] = []
  let start = 0
  for (const match of text.value.matchAll(lineEnds)) {
    const end = match.index + match[0].length
    lines.push(text.slice(start, keepEnds ? end : match.index))
    start = end
  }
  if (start < text.value.length) lines.push(text.slice(start))
  return lines
}

/** Every (or the first `max`, when not negative) `old` becomes `fresh`. */
export function replace(text: Text, old: Text, fresh: Text, max: number, budget: Budget): Text {
  budget.search(text.value.length, old.value.length)
  if (max === 0) return text
  const cuts = old.value === '' ? betweenCharacters(text, max) : undefined
  const parts = cuts ?? splitAt(text, old.value, max < 0 ? Number.POSITIVE_INFINITY : max, false)
  budget.make(text.value.length + fresh.value.length * (parts.length - 1))
  return join(parts, fresh, text.safe)
}

/** Python replaces the empty string before each character and at the end. */
function betweenCharacters(text: Text, max: number): Text[] {
  const parts = [text.slice(0, 0), ...text.characters(), text.slice(text.value.length)]
  if (max < 0 || max >= parts.length - 1) return parts
  return [...parts.slice(0, max), text.slice(text.offset(max - 1))]
}

export function join(parts: readonly Text[], separator: Text, safe = false): Text {
  const out = new Builder()
  parts.forEach((part, i) => {
    if (i > 0) out.add(separator)
    out.add(part)
  })
  return out.build(safe)
}

/** Before, separator and after of its first (or last) occurrence. */
export function partition(text: Text, separator: Text, last: boolean, budget: Budget): Text[] {
  budget.search(text.value.length, separator.value.length)
  if (separator.value === '') throw new Fault('empty separator')
  const at = last ? text.value.lastIndexOf(separator.value) : text.value.indexOf(separator.value)
  const none = text.slice(0, 0)
  if (at < 0) return last ? [none, none, text] : [text, none, none]
  return [text.slice(0, at), separator.withSafe(text.safe), text.slice(at + separator.value.length)]
}
