// SentencePiece BPE ("llama" vocabularies): pairs are joined by the score of the joined piece,
// spaces are written as U+2581, and what no piece covers falls back to byte tokens. Kudo,
// Richardson (2018), "SentencePiece"; behaviour as in GGUF runners, checked by golden ids.
import type { IdList } from './id_list.ts'
import { NO_PAIR, PairMerger } from './pair_merger.ts'
import { scoreRanks } from './score_ranks.ts'
import { SpaceBorders } from './space_borders.ts'
import type { Steps } from './steps.ts'
import type { TextModel } from './text_model.ts'
import { CHARACTER_BYTES, isSpaceMark, markSpaces } from './utf8.ts'
import type { Vocabulary } from './vocabulary.ts'
import { CACHED_WORD_MAX, WordCache } from './word_cache.ts'

/** Tokens, bytes or symbols between two yields. */
const SLICE = 1 << 12

export class SpmModel implements TextModel {
  private readonly vocabulary: Vocabulary
  private readonly pieces: ScoredPieces
  private readonly merger: SpmMerger
  private readonly borders = new SpaceBorders()
  private readonly cache = new WordCache()

  private constructor(vocabulary: Vocabulary, pieces: ScoredPieces) {
    this.vocabulary = vocabulary
    this.pieces = pieces
    this.merger = new SpmMerger(pieces)
  }

  static *build(vocabulary: Vocabulary): Steps<SpmModel> {
    const ranks = yield* scoreRanks(vocabulary.scores)
    const model = new SpmModel(vocabulary, new ScoredPieces(vocabulary, ranks))
    const { bytes, starts, ends } = vocabulary.tokens
    for (let id = 0; id < vocabulary.size; id++) {
      if (id % SLICE === SLICE - 1) yield
      if (!vocabulary.isText(id)) continue
      for (let i = starts[id]! + 1; i + 3 <= ends[id]!; i++) {
        if (isSpaceMark(bytes, i)) model.borders.cross(bytes, starts[id]!, i)
      }
    }
    return model
  }

  *segment(text: Uint8Array, out: IdList, afterSpecial: boolean): Steps<void> {
    const marked = markSpaces(text, afterSpecial && this.vocabulary.addSpacePrefix)
    let pause = SLICE
    for (let start = 0; start < marked.length; ) {
      const end = this.borders.wordEnd(marked, start)
      if (end - start <= CACHED_WORD_MAX) this.word(marked, start, end, out)
      else yield* new SpmMerger(this.pieces).long(marked, start, end, out)
      start = end
      if (start >= pause) {
        yield
        pause = start + SLICE
      }
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
    this.merger.short(text, start, end, out)
    cache.add(text, start, end, out, before, out.length - before)
  }
}

/** The pieces that text may become, with their ranks by id. */
class ScoredPieces {
  readonly ranks: Int32Array
  private readonly vocabulary: Vocabulary

  constructor(vocabulary: Vocabulary, ranks: Int32Array) {
    this.vocabulary = vocabulary
    this.ranks = ranks
  }

  /** Text never becomes a control token or a byte token by spelling it. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const id = this.vocabulary.index.find(bytes, start, end)
    return id >= 0 && this.vocabulary.isText(id) ? id : -1
  }

  /** One byte token per byte, or the unknown token once where a byte has no token. */
  fallBack(bytes: Uint8Array, start: number, end: number, out: IdList): void {
    const { vocabulary } = this
    const { unknown } = vocabulary.ids
    for (let i = start; i < end; i++) {
      if (vocabulary.byteToken(bytes[i]!) >= 0) continue
      if (unknown >= 0) out.push(unknown)
      return
    }
    for (let i = start; i < end; i++) out.push(vocabulary.byteToken(bytes[i]!))
  }
}

class SpmMerger extends PairMerger {
  private readonly pieces: ScoredPieces

  constructor(pieces: ScoredPieces) {
    super()
    this.pieces = pieces
  }

  short(text: Uint8Array, start: number, end: number, out: IdList): void {
    this.load(text, start, end)
    this.mergeNow()
    this.emit(0, out)
  }

  *long(text: Uint8Array, start: number, end: number, out: IdList): Steps<void> {
    this.load(text, start, end)
    yield* this.merge()
    for (let at = this.emit(0, out); at < this.count; at = this.emit(at, out)) yield
  }

  protected rank(text: Uint8Array, start: number, _: number, end: number): number {
    const id = this.pieces.find(text, start, end)
    return id < 0 ? NO_PAIR : this.pieces.ranks[id]!
  }

  private load(text: Uint8Array, start: number, end: number): void {
    this.text = text
    this.reserve(end - start)
    let count = 0
    for (let i = start; i < end; i += CHARACTER_BYTES[text[i]!]!) this.starts[count++] = i
    this.starts[count] = end
    this.count = count
  }

  /** Appends ids from symbol `from` on, a slice of them; returns the symbol it got to. */
  private emit(from: number, out: IdList): number {
    const { text, starts, next, pieces } = this
    let at = from
    for (let n = 0; n < SLICE && at < this.count; n++) {
      const after = next[at]!
      const id = pieces.find(text, starts[at]!, starts[after]!)
      if (id >= 0) out.push(id)
      else pieces.fallBack(text, starts[at]!, starts[after]!, out)
      at = after
    }
    return at
  }
}
