// UTF-8 that may be wrong, as text that keeps everything which has a code point.

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Surrogates written as UTF-8 have no place in a string of characters; these stand for them. */
const STAND_IN = 0x10f800

export interface LenientText {
  text: string
  /** Whether characters from U+10F800 on stand for the surrogates U+D800 to U+DFFF. */
  hasStandIns: boolean
}

/**
 * Decodes bytes the way the reference does: U+FFFD for each byte that starts no sequence of the
 * right form, while overlong forms and surrogates count as the code points they encode.
 */
export function decodeLenient(bytes: Uint8Array): LenientText {
  try {
    return { text: strict.decode(bytes), hasStandIns: false }
  } catch {
    return decodeWrong(bytes)
  }
}

function decodeWrong(bytes: Uint8Array): LenientText {
  const parts: string[] = []
  let hasStandIns = false
  for (let i = 0; i < bytes.length; ) {
    const size = sequenceBytes(bytes, i)
    let point = size === 1 ? bytes[i]! : bytes[i]! & (0x7f >> size)
    for (let k = 1; k < size; k++) point = (point << 6) | (bytes[i + k]! & 0x3f)
    const isWrong = size === 0 || point > 0x10ffff
    if (!isWrong && point >= 0xd800 && point < 0xe000) {
      hasStandIns = true
      point += STAND_IN - 0xd800
    }
    parts.push(isWrong ? '\ufffd' : String.fromCodePoint(point))
    i += isWrong ? 1 : size
  }
  return { text: parts.join(''), hasStandIns }
}

/** Length of the sequence at `i` if its first byte and its continuation bytes fit, else 0. */
function sequenceBytes(bytes: Uint8Array, i: number): number {
  const lead = bytes[i]!
  if (lead < 0x80) return 1
  if (lead < 0xc0 || lead >= 0xf8) return 0
  const size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  for (let k = 1; k < size; k++) {
    if (i + k >= bytes.length || (bytes[i + k]! & 0xc0) !== 0x80) return 0
  }
  return size
}

/**
 * Writes `text.slice(start, end)` as UTF-8 from `at` on and returns the end; three bytes a code
 * unit are enough. Short stretches go faster this way than through a TextEncoder.
 */
export function writeUtf8(
  { text, hasStandIns }: LenientText,
  start: number,
  end: number,
  to: Uint8Array,
  at: number,
): number {
  let size = at
  for (let i = start; i < end; i++) {
    let point = text.charCodeAt(i)
    if (point < 0x80) {
      to[size++] = point
      continue
    }
    if (point >= 0xd800 && point < 0xdc00 && i + 1 < end) point = text.codePointAt(i++)!
    if (hasStandIns && point >= STAND_IN) point -= STAND_IN - 0xd800
    if (point < 0x800) {
      to[size++] = 0xc0 | (point >> 6)
    } else {
      if (point < 0x10000) {
        to[size++] = 0xe0 | (point >> 12)
      } else {
        to[size++] = 0xf0 | (point >> 18)
        to[size++] = 0x80 | ((point >> 12) & 0x3f)
      }
      to[size++] = 0x80 | ((point >> 6) & 0x3f)
    }
    to[size++] = 0x80 | (point & 0x3f)
  }
  return size
}
