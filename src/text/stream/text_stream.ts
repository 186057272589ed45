// Bytes to text while they arrive: tokens cut characters, text must not.

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const NOTHING = new Uint8Array(0)

/**
 * Decodes UTF-8 piece by piece. What `push` and `flush` return, joined, is the text of all bytes
 * joined; a character is returned as soon as its last byte is there, and never in parts. Bytes that
 * cannot be part of any character show as U+FFFD at once. A byte order mark is a character like
 * others.
 *
 * @example
 * const stream = new TextStream()
 * stream.push(Uint8Array.of(0xf0, 0x9f)) // ''
 * stream.push(Uint8Array.of(0xa6, 0x99)) // '🦙'
 */
export class TextStream {
  #pending: Uint8Array = NOTHING

  /** Bytes of a character that is not complete yet: at most 3. */
  get pending(): Uint8Array {
    return this.#pending.slice()
  }

  /** Takes the next bytes; returns the text that is complete with them. */
  push(bytes: Uint8Array): string {
    const joined = this.#pending.length === 0 ? bytes : concatenate(this.#pending, bytes)
    const end = joined.length - incompleteTail(joined)
    this.#pending = end === joined.length ? NOTHING : joined.slice(end)
    return end === 0 ? '' : decoder.decode(joined.subarray(0, end))
  }

  /** Ends the text: U+FFFD for a character whose end never came, else nothing. */
  flush(): string {
    const text = this.#pending.length === 0 ? '' : decoder.decode(this.#pending)
    this.#pending = NOTHING
    return text
  }
}

function concatenate(left: Uint8Array, right: Uint8Array): Uint8Array {
  const joined = new Uint8Array(left.length + right.length)
  joined.set(left)
  joined.set(right, left.length)
  return joined
}

/**
 * How many bytes at the end are the start of a character whose other bytes may follow, by table 3-7
 * of the Unicode Standard ("Well-Formed UTF-8 Byte Sequences").
 */
function incompleteTail(bytes: Uint8Array): number {
  const { length } = bytes
  for (let size = 1; size <= 3 && size <= length; size++) {
    const lead = bytes[length - size]!
    if (lead >= 0x80 && lead < 0xc0) continue
    const needed = lead >= 0xf0 && lead <= 0xf4 ? 4 : lead >= 0xe0 ? 3 : 2
    if (lead < 0xc2 || lead > 0xf4 || size >= needed) return 0
    return size === 1 || isSecond(lead, bytes[length - size + 1]!) ? size : 0
  }
  return 0
}

/** Whether `byte` may be the second of a character that starts with `lead`. */
function isSecond(lead: number, byte: number): boolean {
  if (lead === 0xe0) return byte >= 0xa0
  if (lead === 0xed) return byte < 0xa0
  if (lead === 0xf0) return byte >= 0x90
  if (lead === 0xf4) return byte < 0x90
  return true
}
