// The alphabet in which GPT-2 vocabularies write bytes: every byte as a printable character.
// Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", and its encoder.

/** Code point by byte: itself where printable in Latin-1, else 256, 257, … in order of the bytes. */
export const CHARACTER_OF_BYTE: Uint16Array = (() => {
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

/** The byte that the character at `i` of a UTF-8 piece stands for, or -1. */
function byteAt(piece: Uint8Array, i: number): number {
  const lead = piece[i]!
  const point = lead < 0x80 ? lead : ((lead & 0x1f) << 6) | (piece[i + 1]! & 0x3f)
  const isTwo = lead >= 0xc2 && lead < 0xe0 && (piece[i + 1]! & 0xc0) === 0x80
  return lead < 0x80 || isTwo ? (BYTE_OF_CHARACTER[point] ?? -1) : -1
}

/**
 * The bytes that a piece stands for. A character outside the alphabet, which only odd files have,
 * stands for its own bytes.
 */
export function bytesOfAlphabet(piece: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(piece.length)
  let size = 0
  for (let i = 0; i < piece.length; i++) {
    const byte = byteAt(piece, i)
    if (byte >= 0 && piece[i]! >= 0x80) i++
    bytes[size++] = byte >= 0 ? byte : piece[i]!
  }
  return bytes.subarray(0, size)
}
