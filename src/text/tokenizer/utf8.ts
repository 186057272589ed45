// UTF-8 facts shared by the tokenizers.

/** Bytes a character takes by its first byte; 1 for bytes that cannot start one. */
export const CHARACTER_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0xc0) return 1
  if (byte < 0xe0) return 2
  return byte < 0xf0 ? 3 : 4
})

/** U+2581, which SentencePiece vocabularies write for a space, as bytes. */
export const SPACE_MARK = Uint8Array.of(0xe2, 0x96, 0x81)

/** Whether a space mark starts at byte `i`. */
export function isSpaceMark(bytes: Uint8Array, i: number): boolean {
  return bytes[i] === 0xe2 && bytes[i + 1] === 0x96 && bytes[i + 2] === 0x81
}

/** Writes a space mark for every space, with one more in front when `prefix` is true. */
export function markSpaces(text: Uint8Array, prefix: boolean): Uint8Array {
  let spaces = prefix ? 1 : 0
  for (let i = 0; i < text.length; i++) if (text[i] === 0x20) spaces++
  if (spaces === 0) return text
  const marked = new Uint8Array(text.length + 2 * spaces + (prefix ? 1 : 0))
  let at = 0
  if (prefix) {
    marked.set(SPACE_MARK)
    at = 3
  }
  for (let i = 0; i < text.length; i++) {
    const byte = text[i]!
    if (byte === 0x20) {
      marked[at] = 0xe2
      marked[at + 1] = 0x96
      marked[at + 2] = 0x81
      at += 3
    } else {
      marked[at++] = byte
    }
  }
  return marked
}
