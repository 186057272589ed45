// Byte-pair encoding ("gpt2" vocabularies and relatives): text is cut into words, words into bytes
// or characters, and pairs are joined in the order of the merges.
import { UnsupportedModelError } from '../../errors/index.ts'
import { encodeAlphabet } from './byte_alphabet.ts'
import type { IdList } from './id_list.ts'
import { decodeLenient, type LenientText, writeUtf8 } from './lenient_utf8.ts'
import { lowerCase } from './letters.ts'
import { NO_PAIR, PairMerger } from './pair_merger.ts'
import { PieceIndex } from './piece_index.ts'
import { SpaceBorders } from './space_borders.ts'
import type { Steps } from './steps.ts'
import { type StringTable, tableOf } from './string_table.ts'
import type { TextModel } from './text_model.ts'
import { CHARACTER_BYTES, isSpaceMark } from './utf8.ts'
import type { Vocabulary } from './vocabulary.ts'
import { CACHED_WORD_MAX, WordCache } from './word_cache.ts'
import { WordSplitter } from './word_splitter.ts'

const SPACE = 0x20
const LINE_FEED = 0x0a
/** Merges, bytes or symbols between two yields. */
const SLICE = 1 << 12

export class BpeModel implements TextModel {
  private readonly vocabulary: Vocabulary
  private readonly merger: BpeMerger
  private readonly splitter: WordSplitter
  private readonly merges: PieceIndex
  private readonly borders: SpaceBorders | undefined
  private readonly cache = new WordCache()
  private readonly scratch = new Uint8Array(CACHED_WORD_MAX)

  private constructor(vocabulary: Vocabulary, merges: PieceIndex, borders?: SpaceBorders) {
    this.vocabulary = vocabulary
    this.merges = merges
    this.borders = borders
    this.merger = new BpeMerger(vocabulary, merges)
    this.splitter = new WordSplitter(vocabulary.pre)
  }

  static *build(vocabulary: Vocabulary): Steps<BpeModel> {
    const merges = yield* mergesOf(vocabulary)
    const index = yield* PieceIndex.build(merges)
    const borders = vocabulary.marksSpaces ? yield* bordersOf(merges) : undefined
    return new BpeModel(vocabulary, index, borders)
  }

  *segment(bytes: Uint8Array, out: IdList): Steps<void> {
    const { text, hasStandIns } = decodeLenient(bytes)
    const part: LenientText = { text: '', hasStandIns }
    let long: Uint8Array | undefined
    const sink = (piece: string, start: number, end: number): boolean => {
      part.text = piece
      if ((end - start) * 3 <= CACHED_WORD_MAX && !this.borders) {
        const size = writeUtf8(part, start, end, this.scratch, 0)
        this.word(this.scratch, 0, size, out)
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
    const { model, marksSpaces, lowercase } = this.vocabulary
    if (model === 'whitespace') {
      const small = lowercase ? Array.from(text, lowerCase).join('') : text
      return small.split(/\p{White_Space}+/v).filter((stretch) => stretch !== '')
    }
    return [marksSpaces ? text.replaceAll(' ', '▁') : text]
  }

  private *longWord(text: Uint8Array, out: IdList): Steps<void> {
    let pause = SLICE
    for (let start = 0; start < text.length; ) {
      const end = this.borders ? this.borders.wordEnd(text, start) : text.length
      if (end - start <= CACHED_WORD_MAX) this.word(text, start, end, out)
      else yield* new BpeMerger(this.vocabulary, this.merges).long(text.subarray(start, end), out)
      start = end
      if (start < pause) continue
      yield
      pause = start + SLICE
    }
  }

  private word(text: Uint8Array, start: number, end: number, out: IdList): void {
    const { cache } = this
    const first = cache.find(text, start, end)
    if (first >= 0) {
      out.append(cache.ids, first, cache.idCount)
      return
    }
    const before = out.length
    this.merger.short(text.subarray(start, end), out)
    cache.add(text, start, end, out, before, out.length - before)
  }
}

class BpeMerger extends PairMerger {
  private readonly vocabulary: Vocabulary
  private readonly merges: PieceIndex
  private encoded = new Uint8Array(2 * CACHED_WORD_MAX)

  constructor(vocabulary: Vocabulary, merges: PieceIndex) {
    super()
    this.vocabulary = vocabulary
    this.merges = merges
  }

  short(word: Uint8Array, out: IdList): void {
    if (this.load(word, out)) return
    this.mergeNow()
    this.emit(0, out)
  }

  *long(word: Uint8Array, out: IdList): Steps<void> {
    if (this.load(word, out)) return
    yield* this.merge()
    for (let at = this.emit(0, out); at < this.count; at = this.emit(at, out)) yield
  }

  /** The merges are in the order in which they are tried. */
  protected rank(text: Uint8Array, start: number, middle: number, end: number): number {
    const merge = this.merges.findPair(text, start, middle, end)
    return merge < 0 ? NO_PAIR : merge
  }

  /** Writes the word as pieces write it and cuts it into characters; true if that was all. */
  private load(word: Uint8Array, out: IdList): boolean {
    const { ignoreMerges, keepsLineFeeds, plainPieces } = this.vocabulary.pre
    let size = word.length
    if (plainPieces) {
      this.text = word
    } else {
      if (this.encoded.length < 2 * size) this.encoded = new Uint8Array(2 * size)
      this.text = this.encoded
      size = encodeAlphabet(word, this.encoded)
    }
    const staysWhole = ignoreMerges || (keepsLineFeeds && word.every((byte) => byte === LINE_FEED))
    const whole = staysWhole ? this.tokenOf(0, size) : -1
    if (whole >= 0 && this.vocabulary.isText(whole)) {
      out.push(whole)
      return true
    }
    this.reserve(size)
    let count = 0
    for (let i = 0; i < size; i += CHARACTER_BYTES[this.text[i]!]!) this.starts[count++] = i
    this.starts[count] = size
    this.count = count
    return false
  }

  /** Appends ids from symbol `from` on, a slice of them; returns the symbol it got to. */
  private emit(from: number, out: IdList): number {
    const { starts, next } = this
    let at = from
    for (let n = 0; n < SLICE && at < this.count; n++) {
      const after = next[at]!
      const id = this.tokenOf(starts[at]!, starts[after]!)
      if (id >= 0) out.push(id)
      else this.fallBack(starts[at]!, starts[after]!, out)
      at = after
    }
    return at
  }

  private tokenOf(start: number, end: number): number {
    return this.vocabulary.index.find(this.text, start, end)
  }

  /**
   * What no token covers: the tokens of its bytes. Where even they are missing the unknown token
   * says so, once, if there is one.
   */
  private fallBack(start: number, end: number, out: IdList): void {
    const { pre, ids } = this.vocabulary
    let isMissing = false
    for (let i = start; i < end; ) {
      const after = pre.plainPieces ? i + 1 : i + CHARACTER_BYTES[this.text[i]!]!
      const id = pre.plainPieces ? this.vocabulary.byteToken(this.text[i]!) : this.tokenOf(i, after)
      if (id >= 0) out.push(id)
      else isMissing = true
      i = after
    }
    if (isMissing && ids.unknown >= 0) out.push(ids.unknown)
  }
}

function* mergesOf(vocabulary: Vocabulary): Steps<StringTable> {
  if (vocabulary.merges) return vocabulary.merges
  // Kimi K2 files carry none: its words are tokens or single bytes.
  if (vocabulary.pre.mergesAreOptional) return yield* tableOf([])
  throw new UnsupportedModelError('tokenizer.ggml.merges', undefined, 'the merges are missing')
}

/** A merge whose right side starts with a space mark crosses a border. */
function* bordersOf({ count, bytes, starts, ends }: StringTable): Steps<SpaceBorders> {
  const borders = new SpaceBorders()
  for (let i = 0; i < count; i++) {
    if (i % SLICE === SLICE - 1) yield
    for (let mark = starts[i]! + 2; mark + 3 <= ends[i]!; mark++) {
      if (bytes[mark - 1] !== SPACE || !isSpaceMark(bytes, mark)) continue
      borders.cross(bytes, starts[i]!, mark - 1)
    }
  }
  return borders
}
