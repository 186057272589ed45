// Byte-pair encoding ("gpt2" vocabularies and relatives): text is cut into words, words into bytes or
// characters, and pairs are joined in the order of the merges.
import { BpePieces } from './bpe_pieces.ts'
import type { IdList } from './id_list.ts'
import { decodeLenient, type LenientText, writeUtf8 } from './lenient_utf8.ts'
import { lowerCase } from './letters.ts'
import { PairMerger } from './pair_merger.ts'
import type { TextModel } from './text_model.ts'
import { CHARACTER_BYTES } from './utf8.ts'
import type { Vocabulary } from './vocabulary.ts'
import { CACHED_WORD_MAX, WordCache } from './word_cache.ts'
import { WordSplitter } from './word_splitter.ts'

const LINE_FEED = 0x0a
/** Symbols between two yields when a long word's ids are written. */
const SLICE = 1 << 14

export class BpeModel implements TextModel {
  private readonly pieces: BpePieces
  private readonly merger: BpeMerger
  private readonly splitter: WordSplitter
  private readonly cache = new WordCache()
  private readonly word = new Uint8Array(CACHED_WORD_MAX)

  constructor(vocabulary: Vocabulary) {
    this.pieces = new BpePieces(vocabulary)
    this.merger = new BpeMerger(this.pieces)
    this.splitter = new WordSplitter(vocabulary.pre)
  }

  *segment(bytes: Uint8Array, out: IdList): Generator<void, void> {
    const { text, hasStandIns } = decodeLenient(bytes)
    const part: LenientText = { text: '', hasStandIns }
    let long: Uint8Array | undefined
    const sink = (piece: string, start: number, end: number): boolean => {
      part.text = piece
      if ((end - start) * 3 <= CACHED_WORD_MAX) {
        this.shortWord(part, start, end, out)
        return false
      }
      long = new Uint8Array((end - start) * 3)
      long = long.subarray(0, writeUtf8(part, start, end, long, 0))
      return true
    }
    for (const stretch of this.stretches(text)) {
      for (const _ of this.splitter.split(stretch, sink)) {
        if (long) yield* this.longWord(long, out)
        else yield
        long = undefined
      }
    }
  }

  /** What the splitter gets to see: spaces may be marked, or not be part of the text at all. */
  private stretches(text: string): string[] {
    const { model, marksSpaces, lowercase } = this.pieces.vocabulary
    if (model === 'whitespace') {
      const small = lowercase ? Array.from(text, lowerCase).join('') : text
      return small.split(/\p{White_Space}+/v).filter((stretch) => stretch !== '')
    }
    return [marksSpaces ? text.replaceAll(' ', '▁') : text]
  }

  private shortWord(text: LenientText, start: number, end: number, out: IdList): void {
    const { cache, word } = this
    const size = writeUtf8(text, start, end, word, 0)
    const first = cache.find(word, 0, size)
    if (first >= 0) {
      out.append(cache.ids, first, cache.idCount)
      return
    }
    const before = out.length
    if (!this.wholeWord(word, size, out)) this.merger.short(word, size, out)
    cache.add(word, 0, size, out, before, out.length - before)
  }

  private *longWord(word: Uint8Array, out: IdList): Generator<void, void> {
    if (!this.wholeWord(word, word.length, out)) {
      yield* new BpeMerger(this.pieces).long(word, out)
    }
  }

  /** Appends the word as one token where the vocabulary lets words stay whole. */
  private wholeWord(word: Uint8Array, size: number, out: IdList): boolean {
    const { ignoreMerges, keepsLineFeeds } = this.pieces.vocabulary.pre
    if (!ignoreMerges) {
      if (!keepsLineFeeds) return false
      for (let i = 0; i < size; i++) if (word[i] !== LINE_FEED) return false
    }
    const id = this.pieces.wholeToken(word, 0, size)
    if (id >= 0) out.push(id)
    return id >= 0
  }
}

class BpeMerger extends PairMerger {
  private readonly pieces: BpePieces

  constructor(pieces: BpePieces) {
    super()
    this.pieces = pieces
  }

  short(word: Uint8Array, size: number, out: IdList): void {
    this.load(word, size)
    if (this.isShort) this.mergeShort()
    else for (const _ of this.mergeLong());
    this.emit(0, out)
  }

  *long(word: Uint8Array, out: IdList): Generator<void, void> {
    this.load(word, word.length)
    yield* this.mergeLong()
    for (let at = this.emit(0, out); at < this.count; at = this.emit(at, out)) yield
  }

  protected pair(left: number, right: number): number {
    return this.pieces.pair(this.ids[left]!, this.ids[right]!)
  }

  protected rankOf(pair: number): number {
    return this.pieces.rank(pair)
  }

  protected resultOf(pair: number): number {
    return this.pieces.result(pair)
  }

  /** Bytes are symbols in the byte alphabet, characters where pieces are plain text. */
  private load(word: Uint8Array, size: number): void {
    const { pieces } = this
    const isPlain = pieces.vocabulary.pre.plainPieces === true
    this.text = word
    this.reserve(size)
    let count = 0
    for (let i = 0; i < size; count++) {
      const after = isPlain ? Math.min(size, i + CHARACTER_BYTES[word[i]!]!) : i + 1
      this.starts[count] = i
      this.ids[count] = isPlain ? pieces.symbolOf(word, i, after) : pieces.byteSymbols[word[i]!]!
      i = after
    }
    this.starts[count] = size
    this.count = count
  }

  /** Appends ids from symbol `from` on, a slice of them; returns the symbol it got to. */
  private emit(from: number, out: IdList): number {
    const { size } = this.pieces.vocabulary
    let at = from
    for (let n = 0; n < SLICE && at < this.count; n++) {
      const id = this.ids[at]!
      const after = this.next[at]!
      if (id >= 0 && id < size) out.push(id)
      else this.pieces.fallBack(this.text, this.starts[at]!, this.starts[after]!, out)
      at = after
    }
    return at
  }
}
