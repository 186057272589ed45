// The bytes that a token stands for.
import { writeAlphabet } from './byte_alphabet.ts'
import { writeUnescaped } from './rwkv_pieces.ts'
import { isSpaceMark } from './utf8.ts'
import { Attribute, type Vocabulary } from './vocabulary.ts'

const SPECIAL = Attribute.control | Attribute.unknown

/**
 * Writes the bytes of token `id` to `to` from `at` on and returns their end; they are never more
 * than the bytes of its text in the file. Often they are part of a character, since characters may
 * be cut between tokens. Control tokens and the unknown token are empty unless `special` asks for
 * their text.
 */
export function writePiece(
  vocabulary: Vocabulary,
  id: number,
  special: boolean,
  to: Uint8Array,
  at: number,
): number {
  const { tokens, kind } = vocabulary
  const { bytes } = tokens
  const start = tokens.starts[id]!
  const end = tokens.ends[id]!
  const attributes = vocabulary.attributes[id]!
  if (!special && (attributes & SPECIAL) !== 0) return at
  if (kind === 'rwkv') return writeUnescaped(bytes, start, end, to, at)
  const isPlain = (attributes & (SPECIAL | Attribute.userDefined)) !== 0
  if (isPlain || (kind === 'plamo2' && (attributes & Attribute.byte) === 0)) {
    for (let i = start, k = at; i < end; i++, k++) to[k] = bytes[i]!
    return at + end - start
  }
  if ((attributes & Attribute.normal) !== 0) {
    const isAlphabet = kind === 'bpe' && !vocabulary.marksSpaces
    if (isAlphabet) return writeAlphabet(bytes, start, end, to, at)
    return writeUnmarked(bytes, start, end, to, at)
  }
  if ((attributes & Attribute.byte) === 0) return at
  to[at] = byteOf(bytes, start)
  return at + 1
}

/** Room for the bytes of a token. */
export function pieceBytesMax({ tokens }: Vocabulary, id: number): number {
  return Math.max(1, tokens.ends[id]! - tokens.starts[id]!)
}

/** Writes a space for every space mark. */
function writeUnmarked(
  piece: Uint8Array,
  start: number,
  end: number,
  to: Uint8Array,
  at: number,
): number {
  let size = at
  for (let i = start; i < end; i++) {
    if (piece[i] === 0xe2 && i + 3 <= end && isSpaceMark(piece, i)) {
      to[size++] = 0x20
      i += 2
    } else {
      to[size++] = piece[i]!
    }
  }
  return size
}

/** `<0x0A>` is the byte 10. */
function byteOf(text: Uint8Array, start: number): number {
  const digits = String.fromCharCode(text[start + 3] ?? 0, text[start + 4] ?? 0)
  return /^[0-9a-fA-F]{2}$/.test(digits) ? Number.parseInt(digits, 16) : text[start]!
}
