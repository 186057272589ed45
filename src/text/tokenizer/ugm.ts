// Unigram language models ("t5" vocabularies): text is normalized, then cut so that the sum of the
// pieces' log probabilities is greatest.
// Kudo (2018), "Subword Regularization"; Viterbi in one pass over the characters.
import { ByteTrie } from './byte_trie.ts'
import { Charsmap } from './charsmap.ts'
import type { IdList } from './id_list.ts'
import type { Steps } from './steps.ts'
import type { TextModel } from './text_model.ts'
import { CHARACTER_BYTES, SPACE_MARK } from './utf8.ts'
import { Attribute, type Vocabulary } from './vocabulary.ts'

/** Tokens or bytes between two yields. */
const SLICE = 1 << 11
/** An unknown character costs this much more than the worst piece. */
const UNKNOWN_PENALTY = 10
const REPLACEMENT = Uint8Array.of(0xef, 0xbf, 0xbd)
const SPACE = 0x20

export class UgmModel implements TextModel {
  private readonly vocabulary: Vocabulary
  private readonly charsmap: Charsmap | undefined
  private readonly pieces = new ByteTrie()
  private readonly userDefined = new ByteTrie()
  private readonly scores: Float64Array
  private unknownScore = 0

  private constructor(vocabulary: Vocabulary) {
    this.vocabulary = vocabulary
    const { precompiledCharsmap, scores } = vocabulary
    this.charsmap = precompiledCharsmap?.length ? new Charsmap(precompiledCharsmap) : undefined
    this.scores = Float64Array.from(scores)
  }

  static *build(vocabulary: Vocabulary): Steps<UgmModel> {
    const model = new UgmModel(vocabulary)
    yield* model.readPieces()
    return model
  }

  private *readPieces(): Steps<void> {
    const { vocabulary } = this
    const { bytes, starts, ends } = vocabulary.tokens
    let worst = Number.MAX_VALUE
    for (let id = 0; id < vocabulary.size; id++) {
      if (id % SLICE === SLICE - 1) yield
      const isUser = vocabulary.has(id, Attribute.userDefined)
      if (vocabulary.has(id, Attribute.normal)) worst = Math.min(worst, this.scores[id]!)
      // Users want their pieces: they cost nothing.
      if (isUser) this.scores[id] = 0
      if (isUser || vocabulary.has(id, Attribute.normal | Attribute.unused)) {
        this.pieces.insert(bytes, starts[id]!, ends[id]!, id)
      }
      if (isUser) this.userDefined.insert(bytes, starts[id]!, ends[id]!, id)
    }
    this.unknownScore = Math.fround(worst - UNKNOWN_PENALTY)
  }

  *segment(bytes: Uint8Array, out: IdList): Steps<void> {
    const text = yield* this.normalize(bytes)
    const { length } = text
    // By position: the best sum up to there, and the piece that ends there with its start.
    const best = new Float64Array(length + 1).fill(-Number.MAX_VALUE)
    const pieceAt = new Int32Array(length + 1).fill(this.vocabulary.ids.unknown)
    const startOf = new Int32Array(length + 1)
    best[0] = 0
    let pause = SLICE
    for (let start = 0; start < length; ) {
      const next = Math.min(length, start + CHARACTER_BYTES[text[start]!]!)
      const covered = this.extend(text, start, next, { best, pieceAt, startOf })
      const unknown = best[start]! + this.unknownScore
      if (!covered && unknown > best[next]!) {
        best[next] = unknown
        pieceAt[next] = this.vocabulary.ids.unknown
        startOf[next] = start
      }
      start = next
      if (start > pause) {
        yield
        pause = start + SLICE
      }
    }
    this.backtrack(length, pieceAt, startOf, out)
  }

  /** Tries every piece that starts at `start`; returns whether one is just the character there. */
  private extend(
    text: Uint8Array,
    start: number,
    next: number,
    paths: { best: Float64Array; pieceAt: Int32Array; startOf: Int32Array },
  ): boolean {
    const { pieces, scores } = this
    const { best, pieceAt, startOf } = paths
    let covered = false
    let node = 0
    for (let i = start; i < text.length; i++) {
      node = pieces.child(node, text[i]!)
      if (node < 0) break
      const id = pieces.value(node)
      if (id < 0) continue
      const end = i + 1
      if (end === next) covered = true
      const sum = best[start]! + scores[id]!
      if (sum > best[end]!) {
        best[end] = sum
        pieceAt[end] = id
        startOf[end] = start
      }
    }
    return covered
  }

  /** Writes the best path; several unknown characters in a row are one unknown token. */
  private backtrack(length: number, pieceAt: Int32Array, startOf: Int32Array, out: IdList): void {
    const { unknown } = this.vocabulary.ids
    const before = out.length
    let afterUnknown = false
    for (let end = length; end > 0; end = startOf[end]!) {
      const isUnknown = pieceAt[end] === unknown
      if (!(isUnknown && (afterUnknown || unknown < 0))) out.push(pieceAt[end]!)
      afterUnknown = isUnknown
    }
    out.reverseFrom(before)
  }

  /** Applies the charsmap and the rules for spaces, which become marks. */
  private *normalize(text: Uint8Array): Steps<Uint8Array> {
    const { addSpacePrefix, removeExtraWhitespaces } = this.vocabulary
    let normalized = new Uint8Array(text.length * 3 + 64)
    let size = 0
    let hasPrefix = false
    let inWord = false
    let pause = SLICE
    for (let at = 0; at < text.length; ) {
      const [piece, consumed] = this.normalizeAt(text, at)
      if (size + piece.length * 3 + 3 > normalized.length) {
        const grown = new Uint8Array(normalized.length * 2 + piece.length * 3)
        grown.set(normalized)
        normalized = grown
      }
      for (const byte of piece) {
        if (byte !== SPACE) {
          if (!inWord && ((addSpacePrefix && !hasPrefix) || removeExtraWhitespaces)) {
            normalized.set(SPACE_MARK, size)
            size += SPACE_MARK.length
            hasPrefix = true
          }
          normalized[size++] = byte
        } else if (!removeExtraWhitespaces) {
          normalized.set(SPACE_MARK, size)
          size += SPACE_MARK.length
        }
        inWord = byte !== SPACE
      }
      at += consumed
      if (at > pause) {
        yield
        pause = at + SLICE
      }
    }
    return normalized.subarray(0, size)
  }

  /** What stands at `at` after normalization, and how many bytes of the text that replaces. */
  private normalizeAt(text: Uint8Array, at: number): [piece: Uint8Array, consumed: number] {
    // The start of a user's piece is never replaced, even where the piece does not follow whole.
    let node = 0
    let end = at
    while (end < text.length) {
      node = this.userDefined.child(node, text[end]!)
      if (node < 0) break
      end++
    }
    if (end > at) return [text.subarray(at, end), end - at]
    const replacement = this.charsmap?.replacement(text, at)
    if (replacement) return [replacement, this.charsmap!.matched]
    const size = CHARACTER_BYTES[text[at]!]!
    let isWhole = at + size <= text.length && (size > 1 ? text[at]! < 0xf8 : text[at]! < 0x80)
    for (let k = 1; k < size; k++) isWhole &&= (text[at + k]! & 0xc0) === 0x80
    return isWhole ? [text.subarray(at, at + size), size] : [REPLACEMENT, 1]
  }
}
