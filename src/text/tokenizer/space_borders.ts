// Where text with marked spaces may be cut into words without changing how it is merged.
import { CHARACTER_BYTES, isSpaceMark } from './utf8.ts'

/**
 * A border lies in front of a space mark if no join can cross it: if there is no piece that holds
 * what stands in front followed by a space mark. Models without word borders of their own, whose
 * merges would run over the whole text at once, merge word by word in this way.
 */
export class SpaceBorders {
  /** By byte: whether a piece has it right in front of a space mark. */
  private readonly crossed = new Uint8Array(256)
  /** Whether a piece has two space marks in a row. */
  private marksJoin = false

  /** Notes that a piece has what lies from `start` to `end`, and a space mark after it. */
  cross(bytes: Uint8Array, start: number, end: number): void {
    if (end - 3 >= start && isSpaceMark(bytes, end - 3)) this.marksJoin = true
    else this.crossed[bytes[end - 1]!] = 1
  }

  /** The end of the word that starts at `start`. */
  wordEnd(text: Uint8Array, start: number): number {
    const { length } = text
    let afterMark = isSpaceMark(text, start)
    let i = Math.min(length, start + CHARACTER_BYTES[text[start]!]!)
    while (i < length) {
      const isMark = text[i] === 0xe2 && isSpaceMark(text, i)
      if (isMark && !(afterMark ? this.marksJoin : this.crossed[text[i - 1]!] === 1)) return i
      afterMark = isMark
      i += CHARACTER_BYTES[text[i]!]!
    }
    return length
  }
}
