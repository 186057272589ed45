// The alphabet in which GPT-2 vocabularies write bytes: every byte as a printable character.
// Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", and its encoder.

/** Code point by byte: itself where printable in Latin-1, else 256, 257, … in order of bytes. */
const CHARACTER_OF_BYTE: Uint16Array = (() => {
  const isPrintable = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let next = 256
  return Uint16Array.from({ length: 256 }, (_, byte) => (isPrintable(byte) ? byte : next++))
})()

/** Byte by code point, or -1. */
const BYTE_OF_CHARACTER: Int16Array = (() => {
  const bytes = new Int16Array(0x150).fill(-1)
  CHARACTER_OF_BYTE.forEach((character, byte) => {
    bytes[character] = byte
  })
  return bytes
})()

/** Writes `bytes` in the alphabet, as UTF-8 of one or two bytes each; returns the size of that. */
export function encodeAlphabet(bytes: Uint8Array, to: Uint8Array): number {
  let size = 0
  for (let i = 0; i < bytes.length; i++) {
    const character = CHARACTER_OF_BYTE[bytes[i]!]!
    if (character < 0x80) {
      to[size++] = character
    } else {
      to[size++] = 0xc0 | (character >> 6)
      to[size++] = 0x80 | (character & 0x3f)
    }
  }
  return size
}

/** The byte that the character at `i` of a UTF-8 piece stands for, or -1. */
function byteAt(piece: Uint8Array, i: number): number {
  const lead = piece[i]!
  const point = lead < 0x80 ? lead : ((lead & 0x1f) << 6) | (piece[i + 1]! & 0x3f)
  const isTwo = lead >= 0xc2 && lead < 0xe0 && (piece[i + 1]! & 0xc0) === 0x80
  return lead < 0x80 || isTwo ? (BYTE_OF_CHARACTER[point] ?? -1) : -1
}

/**
 * Writes the bytes that a piece stands for and returns their end. A character outside the alphabet,
 * which only odd files have, stands for its own bytes.
 */
export function writeAlphabet(
  piece: Uint8Array,
  start: number,
  end: number,
  to: Uint8Array,
  at: number,
): number {
  let size = at
  for (let i = start; i < end; i++) {
    const byte = byteAt(piece, i)
    to[size++] = byte >= 0 ? byte : piece[i]!
    if (byte >= 0 && piece[i]! >= 0x80) i++
  }
  return size
}
