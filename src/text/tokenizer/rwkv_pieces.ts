// RWKV vocabularies write their pieces as the inside of a Python string literal.

const ESCAPES: Record<number, number> = { 116: 0x09, 110: 0x0a, 114: 0x0d } // t n r

/** The bytes of a piece: `\xNN`, `\t`, `\n`, `\r`, and any other escaped character for itself. */
export function unescapePiece(text: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(text.length)
  let size = 0
  for (let i = 0; i < text.length; i++) {
    const byte = text[i]!
    if (byte !== 0x5c || i + 1 === text.length) {
      bytes[size++] = byte
      continue
    }
    const escaped = text[++i]!
    if (escaped === 0x78 && i + 2 < text.length) {
      bytes[size++] = (digit(text[i + 1]!) << 4) | digit(text[i + 2]!)
      i += 2
    } else {
      bytes[size++] = ESCAPES[escaped] ?? escaped
    }
  }
  return bytes.subarray(0, size)
}

function digit(character: number): number {
  return (character < 0x3a ? character - 0x30 : (character | 0x20) - 0x57) & 15
}
