// The tokenizer that a model file describes: text to ids and back.
import {
  checkArray,
  checkInstance,
  checkObject,
  checkSignal,
  checkString,
  checkWhole,
  shown,
} from '../../errors/arguments.ts'
import { UnsupportedModelError } from '../../errors/index.ts'
import { BpeModel } from './bpe.ts'
import { type DetokenizeOptions, detokenize } from './detokenize.ts'
import { IdList } from './id_list.ts'
import { pieceBytesMax, writePiece } from './pieces.ts'
import { Plamo2Model } from './plamo2.ts'
import { RwkvModel } from './rwkv.ts'
import { SpecialSplitter } from './special_split.ts'
import { SpmModel } from './spm.ts'
import { runNow, runSliced, type Steps } from './steps.ts'
import type { TextModel } from './text_model.ts'
import { UgmModel } from './ugm.ts'
import { Attribute, Vocabulary } from './vocabulary.ts'
import type { SpecialIds, VocabularySource } from './vocabulary_source.ts'
import { WpmModel } from './wpm.ts'

export interface EncodeOptions {
  /** Add the tokens that the vocabulary puts around a text, such as one BOS. Default true. */
  addSpecial?: boolean
  /**
   * Read control tokens written in the text, such as `<|im_end|>`, as those tokens. Default false:
   * what a user writes never becomes one.
   */
  parseSpecial?: boolean
  /**
   * Where control tokens are not parsed all the same, such as in what a user wrote into a prompt:
   * `[start, end, …]` in UTF-16 units, ascending. Their borders change nothing else.
   */
  untrusted?: readonly number[]
  /** Keep a BOS that the text itself starts with beside the one that is added. Default false. */
  repeatBos?: boolean
}

export interface EncodeAsyncOptions extends EncodeOptions {
  /** Rejects with its reason at the next slice. */
  signal?: AbortSignal
}

export interface DecodeOptions extends DetokenizeOptions {}

/** Bytes of short fragments between two yields. */
const SLICE = 1 << 12

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export class Tokenizer {
  /** Everything the file says and implies about its tokens. */
  readonly vocabulary: Vocabulary
  private readonly model: TextModel
  private readonly specials: SpecialSplitter

  /** Prefer `createTokenizer`. */
  constructor(vocabulary: Vocabulary, model: TextModel) {
    this.vocabulary = vocabulary
    this.model = model
    this.specials = new SpecialSplitter(vocabulary)
  }

  /** Number of tokens: ids are 0 to `vocabularySize - 1`. */
  get vocabularySize(): number {
    return this.vocabulary.size
  }

  /** Ids of the tokens with a role, -1 where there is none. */
  get ids(): Readonly<SpecialIds> {
    return this.vocabulary.ids
  }

  /** What was odd about the file, in words; empty for most. */
  get warnings(): readonly string[] {
    return this.vocabulary.warnings
  }

  /**
   * The ids of a text. Lone surrogates count as U+FFFD. With `addSpecial` the result starts with
   * exactly one BOS where the vocabulary adds one, also when parsing finds one in the text itself.
   *
   * @example tokenizer.encode('Hello world') // Int32Array [1, 15043, 3186]
   */
  encode(text: string, options: EncodeOptions = {}): Int32Array {
    return runNow(this.encodingText(text, options))
  }

  /** The same for UTF-8 bytes, which need not be valid; `untrusted` counts bytes here. */
  encodeBytes(text: Uint8Array, options: EncodeOptions = {}): Int32Array {
    checkInstance('text', text, Uint8Array, 'bytes')
    checkEncodeOptions(options)
    return runNow(this.encoding(text, options, options.untrusted))
  }

  /**
   * The same as `encode`, in slices of a millisecond with other work between them: for texts so
   * long that the event loop would notice.
   */
  async encodeAsync(text: string, options: EncodeAsyncOptions = {}): Promise<Int32Array> {
    checkObject('options', options)
    checkSignal(options.signal)
    return runSliced(this.encodingText(text, options), options.signal)
  }

  /**
   * The text of a sequence of ids. Without options, `decode(encode(text))` is `text` for
   * vocabularies that keep everything: byte-pair, RWKV, and SentencePiece BPE but for U+2581, which
   * is a space there. Cut characters show as U+FFFD: use a `TextStream` to decode token by token.
   *
   * @throws RangeError for an id that is not in the vocabulary, naming its position.
   */
  decode(ids: ArrayLike<number>, options: DecodeOptions = {}): string {
    return decoder.decode(this.decodeBytes(ids, options))
  }

  /** The same as bytes, with cut characters as they are. */
  decodeBytes(ids: ArrayLike<number>, options: DecodeOptions = {}): Uint8Array {
    this.check(ids)
    checkObject('options', options)
    return detokenize(this.vocabulary, ids, options)
  }

  /**
   * The bytes one token stands for, often part of a character. Control tokens are empty unless
   * `special` asks for their text.
   *
   * @throws RangeError for an id that is not in the vocabulary.
   */
  pieceBytes(id: number, options: { special?: boolean } = {}): Uint8Array {
    this.checkId(id)
    checkObject('options', options)
    const bytes = new Uint8Array(pieceBytesMax(this.vocabulary, id))
    return bytes.subarray(0, writePiece(this.vocabulary, id, options.special ?? false, bytes, 0))
  }

  /**
   * Throws a RangeError that names the first position whose id is not one of the vocabulary.
   *
   * @example tokenizer.check([-1]) // RangeError: token 0 is -1, ids are integers from 0 to 31999
   */
  check(ids: ArrayLike<number>): void {
    checkObject('ids', ids)
    for (let i = 0; i < ids.length; i++) this.checkId(ids[i], i)
  }

  /** Whether this token ends a generation: end of text, of turn, or of message. */
  isEndOfGeneration(id: number): boolean {
    return this.vocabulary.endOfGeneration.has(id)
  }

  /** Whether this is a control token or the unknown token, which text does not show. */
  isSpecial(id: number): boolean {
    this.checkId(id)
    return this.vocabulary.has(id, Attribute.control | Attribute.unknown)
  }

  /**
   * The id of the token that the file writes as `piece`, or undefined. Special tokens are written
   * as they look; others in the file's own spelling, such as `▁the` or `Ġthe`.
   *
   * @example tokenizer.idOf('<|im_end|>')
   */
  idOf(piece: string): number | undefined {
    checkString('piece', piece)
    const id = this.vocabulary.idOf(piece)
    return id < 0 ? undefined : id
  }

  /** The token as the file writes it. */
  pieceText(id: number): string {
    this.checkId(id)
    return this.vocabulary.text(id)
  }

  private checkId(id: unknown, position = 0): void {
    const size = this.vocabularySize
    if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < size) return
    const given = typeof id === 'number' ? id : shown(id)
    throw new RangeError(`token ${position} is ${given}, ids are integers from 0 to ${size - 1}`)
  }

  private encodingText(text: string, options: EncodeOptions): Steps<Int32Array> {
    checkString('text', text)
    checkEncodeOptions(options)
    const untrusted = options.untrusted && byteOffsets(text, options.untrusted)
    return this.encoding(encoder.encode(text), options, untrusted)
  }

  private *encoding(
    text: Uint8Array,
    options: EncodeOptions,
    untrusted: readonly number[] = [],
  ): Steps<Int32Array> {
    const { vocabulary } = this
    const { ids, kind } = vocabulary
    const out = new IdList()
    const addSpecial = (options.addSpecial ?? true) && kind !== 'rwkv' && kind !== 'plamo2'
    // WordPiece models are trained with both, whatever the flags of the file.
    const isBert = kind === 'wpm'
    const addsBos = addSpecial && (vocabulary.addBos || isBert) && ids.bos >= 0
    const oneBos = addsBos && !options.repeatBos
    if (addsBos) out.push(ids.bos)
    let afterSpecial = true
    let pause = SLICE
    const marks = untrusted.length > 0 ? markRanges(text.length, untrusted) : undefined
    const fragments = yield* this.specials.split(text, options.parseSpecial ?? false, marks)
    for (const { id, start, end } of fragments) {
      if (id < 0) {
        yield* this.model.segment(text.subarray(start, end), out, afterSpecial)
      } else if (!(oneBos && id === ids.bos && out.length === 1)) {
        out.push(id)
      }
      afterSpecial = id >= 0
      if (end < pause) continue
      yield
      pause = end + SLICE
    }
    if (addSpecial && vocabulary.addEos && !isBert) out.push(ids.eos)
    if (addSpecial && isBert && ids.separator >= 0) out.push(ids.separator)
    return out.ids()
  }
}

/**
 * Builds the tokenizer of a vocabulary.
 *
 * @throws UnsupportedModelError for an unknown kind of vocabulary, or one with parts missing.
 * @example
 * const { metadata } = openGguf('model.gguf')
 * const tokenizer = createTokenizer(vocabularyFromMetadata((key) => metadata.get(key)))
 */
export function createTokenizer(source: VocabularySource): Tokenizer {
  return runNow(building(source))
}

/**
 * The same in slices of a millisecond: a large vocabulary takes some tens of them. Rejects with
 * `signal.reason` when aborted.
 */
export async function createTokenizerAsync(
  source: VocabularySource,
  options: { signal?: AbortSignal } = {},
): Promise<Tokenizer> {
  return runSliced(building(source), options.signal)
}

function checkEncodeOptions(options: EncodeOptions): void {
  checkObject('options', options)
  if (options.untrusted === undefined) return
  checkArray('untrusted', options.untrusted)
  for (const offset of options.untrusted) checkWhole('an offset of untrusted', offset)
}

/** A byte of 1 for every position in the ranges `[start, end, …]`. */
function markRanges(length: number, ranges: readonly number[]): Uint8Array {
  const marks = new Uint8Array(length)
  for (let i = 0; i + 1 < ranges.length; i += 2) marks.fill(1, ranges[i]!, ranges[i + 1]!)
  return marks
}

/** UTF-16 offsets as offsets in the UTF-8 of the text; inside a character, its start. */
function byteOffsets(text: string, offsets: readonly number[]): number[] {
  let at = 0
  let bytes = 0
  return offsets.map((offset) => {
    const isInside = offset > at && text.codePointAt(offset - 1)! > 0xffff
    const end = isInside ? offset - 1 : offset
    bytes += encoder.encode(text.slice(at, end)).length
    at = Math.max(at, end)
    return bytes
  })
}

function* building(source: VocabularySource): Steps<Tokenizer> {
  const vocabulary = yield* Vocabulary.build(source)
  yield
  const model = yield* modelOf(vocabulary)
  yield
  return new Tokenizer(vocabulary, model)
}

function* modelOf(vocabulary: Vocabulary): Steps<TextModel> {
  switch (vocabulary.kind) {
    case 'spm':
      return yield* SpmModel.build(vocabulary)
    case 'bpe':
      return yield* BpeModel.build(vocabulary)
    case 'wpm':
      return yield* WpmModel.build(vocabulary)
    case 'ugm':
      return yield* UgmModel.build(vocabulary)
    case 'rwkv':
      return yield* RwkvModel.build(vocabulary)
    case 'plamo2':
      return yield* Plamo2Model.build(vocabulary)
    case 'none':
      return new NoModel()
  }
}

/** Models that take ids alone. */
class NoModel implements TextModel {
  // biome-ignore lint/correctness/useYield: it only ever throws.
  *segment(): Steps<void> {
    throw new UnsupportedModelError(
      'tokenizer.ggml.model',
      'none',
      'the model has no vocabulary: give it token ids instead of text',
    )
  }
}
