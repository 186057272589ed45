// From ids back to bytes, with the rules by which tokenizers add and remove spaces.
import { pieceBytesMax, writePiece } from './pieces.ts'
import type { Vocabulary } from './vocabulary.ts'

const SPACE = 0x20

export interface DetokenizeOptions {
  /** Write control tokens as their text; otherwise they are left out. Default false. */
  special?: boolean
  /** Leave out a beginning- or end-of-sequence token that the vocabulary adds. Default false. */
  removeAdded?: boolean
  /** Drop the space that encoding put in front of the first piece. Default: what encoding does. */
  stripPrefix?: boolean
  /** Drop the spaces in front of punctuation that some tokenizers make. Default: WordPiece only. */
  cleanSpaces?: boolean
}

/** The bytes of a sequence of valid ids. Characters cut at its ends stay cut. */
export function detokenize(
  vocabulary: Vocabulary,
  ids: ArrayLike<number>,
  options: DetokenizeOptions = {},
): Uint8Array {
  const special = options.special ?? false
  let start = 0
  let end = ids.length
  if (options.removeAdded) {
    const { bos, eos } = vocabulary.ids
    if (vocabulary.addBos && start < end && ids[start] === bos) start++
    if (vocabulary.addEos && start < end && ids[end - 1] === eos) end--
  }
  // WordPiece pieces that start words decode to a space and the word, the first of a text too.
  let strip = options.stripPrefix ?? (vocabulary.addSpacePrefix || vocabulary.kind === 'wpm')
  let room = 0
  for (let i = start; i < end; i++) room += pieceBytesMax(vocabulary, ids[i]!)
  let bytes = new Uint8Array(room)
  let size = 0
  for (let i = start; i < end; i++) {
    const before = size
    size = writePiece(vocabulary, ids[i]!, special, bytes, size)
    if (!strip || (size === before && !special)) continue
    strip = false
    if (size > before && bytes[before] === SPACE) {
      bytes.copyWithin(before, before + 1, size)
      size--
    }
  }
  bytes = bytes.subarray(0, size)
  return (options.cleanSpaces ?? vocabulary.kind === 'wpm') ? cleanSpaces(bytes) : bytes
}

const APOSTROPHE = 0x27
const code = (character: string): number => character.charCodeAt(0)
const PUNCTUATION = new Set([...'?!.,'].map(code))

/**
 * Joins punctuation and contractions to the word in front: `Hello , I ' m here` loses the spaces
 * that word-based tokenizers put there, by three rules in turn. Text that had such spaces loses
 * them too.
 */
export function cleanSpaces(bytes: Uint8Array): Uint8Array {
  const joined = withoutSpaces(bytes, (text, i) => (PUNCTUATION.has(text[i + 1]!) ? 1 : 0))
  const bare = withoutSpaces(joined, (text, i) =>
    text[i + 1] === APOSTROPHE && text[i + 2] === SPACE ? 2 : 0,
  )
  return withoutSpaces(bare, (text, i) => (startsContraction(text, i + 1) ? 1 : 0))
}

/** `'s`, `'m`, `'re` or `'ve`. */
function startsContraction(text: Uint8Array, i: number): boolean {
  if (text[i] !== APOSTROPHE) return false
  const letter = text[i + 1]
  if (letter === code('s') || letter === code('m')) return true
  return (letter === code('r') || letter === code('v')) && text[i + 2] === code('e')
}

/** Drops the space at `i` where `rule` gives 1; where 2, the second byte after it too. */
function withoutSpaces(
  text: Uint8Array,
  rule: (text: Uint8Array, i: number) => 0 | 1 | 2,
): Uint8Array {
  const kept = new Uint8Array(text.length)
  let size = 0
  for (let i = 0; i < text.length; i++) {
    const drop = text[i] === SPACE ? rule(text, i) : 0
    if (drop > 0) i++
    kept[size++] = text[i]!
    if (drop === 2) i++
  }
  return kept.subarray(0, size)
}
