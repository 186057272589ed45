// RWKV vocabularies write their pieces as the inside of a Python string literal.

const ESCAPES: Record<number, number> = { 116: 0x09, 110: 0x0a, 114: 0x0d } // t n r

/**
 * Writes the bytes of a piece and returns their end: `\\xNN`, `\\t`, `\\n`, `\\r`, and any other
 * escaped character for itself.
 */
export function writeUnescaped(
  piece: Uint8Array,
  start: number,
  end: number,
  to: Uint8Array,
  at: number,
): number {
  let size = at
  for (let i = start; i < end; i++) {
    const byte = piece[i]!
    if (byte !== 0x5c || i + 1 === end) {
      to[size++] = byte
      continue
    }
    const escaped = piece[++i]!
    if (escaped === 0x78 && i + 2 < end) {
      to[size++] = (digit(piece[i + 1]!) << 4) | digit(piece[i + 2]!)
      i += 2
    } else {
      to[size++] = ESCAPES[escaped] ?? escaped
    }
  }
  return size
}

function digit(character: number): number {
  return (character < 0x3a ? character - 0x30 : (character | 0x20) - 0x57) & 15
}
