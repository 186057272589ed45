// Finding marks in a stream of text, and how much of its end may still become one.

export interface Found {
  readonly mark: string
  readonly at: number
}

/** The first mark in `text`; the longest where several begin at one place. */
export function findMark(text: string, marks: readonly string[]): Found | undefined {
  let best: Found | undefined
  for (const mark of marks) {
    const at = text.indexOf(mark)
    if (at < 0) continue
    const better = !best || at < best.at || (at === best.at && mark.length > best.mark.length)
    if (better) best = { mark, at }
  }
  return best
}

/** Length of the longest end of `text` that a mark begins with, whole marks not counted. */
export function heldLength(text: string, marks: readonly string[]): number {
  const longest = marks.reduce((length, mark) => Math.max(length, mark.length), 0)
  for (let length = Math.min(text.length, longest - 1); length > 0; length--) {
    const end = text.slice(text.length - length)
    if (marks.some((mark) => mark.length > length && mark.startsWith(end))) return length
  }
  return 0
}

/** Whether `text` could still become one of the marks by growing. */
export function mayBecome(text: string, marks: readonly string[]): boolean {
  return marks.some((mark) => mark.length > text.length && mark.startsWith(text))
}
