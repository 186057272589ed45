// The bytes that a token stands for.
import { bytesOfAlphabet } from './byte_alphabet.ts'
import { unescapePiece } from './rwkv_pieces.ts'
import { entryBytes } from './string_table.ts'
import { unmarkSpaces } from './utf8.ts'
import { Attribute, type Vocabulary } from './vocabulary.ts'

const NOTHING = new Uint8Array(0)
const SPECIAL = Attribute.control | Attribute.unknown

/**
 * The bytes of token `id`: often part of a character, since characters may be cut between tokens.
 * Control tokens and the unknown token are empty unless `special` asks for their text.
 */
export function pieceBytes(vocabulary: Vocabulary, id: number, special: boolean): Uint8Array {
  if (!special && vocabulary.has(id, SPECIAL)) return NOTHING
  const text = entryBytes(vocabulary.tokens, id)
  if (vocabulary.kind === 'rwkv') return unescapePiece(text)
  if (vocabulary.kind === 'plamo2') return vocabulary.has(id, Attribute.byte) ? byteOf(text) : text
  if (vocabulary.has(id, SPECIAL | Attribute.userDefined)) return text
  if (vocabulary.has(id, Attribute.normal)) {
    if (vocabulary.kind !== 'bpe' || vocabulary.marksSpaces) return unmarkSpaces(text)
    return bytesOfAlphabet(text)
  }
  return vocabulary.has(id, Attribute.byte) ? byteOf(text) : NOTHING
}

/** `<0x0A>` is the byte 10. */
function byteOf(text: Uint8Array): Uint8Array {
  const digits = String.fromCharCode(text[3] ?? 0, text[4] ?? 0)
  return /^[0-9a-fA-F]{2}$/.test(digits) ? Uint8Array.of(Number.parseInt(digits, 16)) : text
}
