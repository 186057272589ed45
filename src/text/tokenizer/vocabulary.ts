// A vocabulary with every default filled in: pieces, their properties, special ids, flags.
import { UnsupportedModelError } from '../../errors/index.ts'
import { PieceIndex } from './piece_index.ts'
import { type PreTokenizer, preTokenizerNamed } from './pre_tokenizers.ts'
import {
  END_OF_GENERATION,
  END_OF_MESSAGE,
  END_OF_TURN,
  FILL_IN_MIDDLE,
  HARMONY_MARKS,
} from './special_tokens.ts'
import type { Steps } from './steps.ts'
import { entryBytes, entryText, type StringTable, tableOf } from './string_table.ts'
import { type SpecialIds, TokenType, type VocabularySource } from './vocabulary_source.ts'

export type VocabularyKind = 'spm' | 'bpe' | 'wpm' | 'ugm' | 'rwkv' | 'plamo2' | 'none'

/** Properties of a token, one bit each. */
export const Attribute = {
  unknown: 1,
  unused: 2,
  normal: 4,
  control: 8,
  userDefined: 16,
  byte: 32,
  /** Whitespace on that side of the token belongs to it when special tokens are parsed. */
  stripLeft: 128,
  stripRight: 256,
} as const

const KINDS: Record<string, VocabularyKind> = {
  llama: 'spm',
  gpt2: 'bpe',
  gemma4: 'bpe',
  whitespace: 'bpe',
  bert: 'wpm',
  t5: 'ugm',
  rwkv: 'rwkv',
  plamo2: 'plamo2',
  none: 'none',
  no_vocab: 'none',
}

const DEFAULT_IDS: Record<VocabularyKind, Partial<SpecialIds>> = {
  spm: { bos: 1, eos: 2, unknown: 0 },
  bpe: { bos: 11, eos: 11 },
  wpm: { bos: 101, unknown: 100, separator: 102, padding: 0, mask: 103 },
  ugm: { eos: 1, unknown: 2, padding: 0 },
  rwkv: {},
  plamo2: { bos: 1, eos: 2, unknown: 0, padding: 3 },
  none: {},
}

const NO_IDS: SpecialIds = {
  bos: -1,
  eos: -1,
  eot: -1,
  eom: -1,
  unknown: -1,
  separator: -1,
  padding: -1,
  mask: -1,
  fimPrefix: -1,
  fimSuffix: -1,
  fimMiddle: -1,
  fimPadding: -1,
  fimRepository: -1,
  fimSeparator: -1,
}

const encoder = new TextEncoder()

/** Read-only once built. `ids` are token ids or -1. */
export class Vocabulary {
  readonly kind: VocabularyKind
  readonly model: string
  readonly size: number
  readonly tokens: StringTable
  readonly merges: StringTable | undefined
  readonly scores: Float32Array
  /** `Attribute` bits by id. */
  readonly attributes: Uint16Array
  readonly index: PieceIndex
  readonly ids: SpecialIds
  readonly endOfGeneration: ReadonlySet<number>
  /** How words are cut, and by which name; byte-pair vocabularies only. */
  readonly pre: PreTokenizer
  readonly preName: string
  readonly addBos: boolean
  readonly addEos: boolean
  readonly addSeparator: boolean
  readonly addSpacePrefix: boolean
  readonly removeExtraWhitespaces: boolean
  readonly lowercase: boolean
  readonly stripAccents: boolean
  /** Pieces write spaces as U+2581. */
  readonly marksSpaces: boolean
  /** Decoding drops the spaces that the tokenizer put around punctuation. */
  readonly cleanSpaces: boolean
  readonly precompiledCharsmap: Uint8Array | undefined
  /** What was odd about the file, in words. */
  readonly warnings: string[] = []
  private byteIds: Int32Array | undefined

  /** @throws UnsupportedModelError for an unknown kind, or lists that do not fit each other. */
  static *build(source: VocabularySource): Steps<Vocabulary> {
    const kind = kindOf(source)
    const list = yield* tableOf(source.tokens)
    const tokens = kind === 'none' ? list : yield* namedTokens(list)
    const index = yield* PieceIndex.build(kind === 'none' ? yield* tableOf([]) : tokens)
    const merges = kind === 'bpe' && source.merges ? yield* tableOf(source.merges) : undefined
    return new Vocabulary(kind, { tokens, index, merges }, source)
  }

  private constructor(
    kind: VocabularyKind,
    lists: { tokens: StringTable; index: PieceIndex; merges: StringTable | undefined },
    source: VocabularySource,
  ) {
    this.kind = kind
    this.model = source.model
    this.tokens = lists.tokens
    this.index = lists.index
    this.merges = lists.merges
    this.size = this.tokens.count
    this.scores = scoresOf(source, this.size)
    this.attributes = attributesOf(source, this.size)
    if (this.index.duplicates.length > 0) {
      const id = this.index.duplicates[0]!
      this.warnings.push(
        `${this.index.duplicates.length} tokens have the text of another, the first is ${id} ` +
          `'${this.text(id)}'; text becomes the lower id`,
      )
    }
    const isBpe = kind === 'bpe'
    this.preName = isBpe ? preName(source) : 'default'
    this.pre = preTokenizerNamed(this.preName, this.warnings)
    this.marksSpaces = isBpe ? this.pre.marksSpaces === true : kind === 'spm' || kind === 'ugm'
    this.cleanSpaces = kind === 'wpm' || (isBpe && this.pre.cleanSpaces !== false)
    this.addSpacePrefix = source.addSpacePrefix ?? kind === 'spm'
    this.removeExtraWhitespaces = source.removeExtraWhitespaces ?? false
    this.lowercase = source.lowercase ?? kind === 'wpm'
    this.stripAccents = source.stripAccents ?? this.lowercase
    this.precompiledCharsmap = source.precompiledCharsmap
    this.ids = this.specialIds(source)
    // Files of Gemma 4 say false, against the model's own tokenizer.
    const askedBos = this.pre.addBos === 'always' || source.addBos
    this.addBos = this.flag(
      askedBos ?? (kind === 'spm' || kind === 'wpm' || this.pre.addBos === 'default'),
      'bos',
    )
    this.addEos = this.flag(source.addEos ?? kind === 'ugm', 'eos')
    const separates = kind === 'wpm' || this.pre.addSeparator === true
    this.addSeparator = this.flag(source.addSeparator ?? separates, 'separator')
    this.markUnused()
    this.endOfGeneration = this.findEndOfGeneration()
    this.setStripping(source)
  }

  /** The text of token `id` as the file writes it. */
  text(id: number): string {
    return entryText(this.tokens, id)
  }

  /** The id of the token the file writes as `text`, or -1. */
  idOf(text: string): number {
    const bytes = encoder.encode(text)
    return this.index.find(bytes, 0, bytes.length)
  }

  has(id: number, attribute: number): boolean {
    return (this.attributes[id]! & attribute) !== 0
  }

  /** Whether plain text may become this token: it is neither special nor a byte token. */
  isText(id: number): boolean {
    return !this.has(id, Attribute.control | Attribute.unknown | Attribute.byte)
  }

  /** The token `<0x0A>`, or one whose text is that byte, or -1. */
  byteToken(byte: number): number {
    this.byteIds ??= Int32Array.from({ length: 256 }, (_, each) => {
      const named = this.idOf(`<0x${each.toString(16).toUpperCase().padStart(2, '0')}>`)
      return named >= 0 ? named : this.index.find(Uint8Array.of(each), 0, 1)
    })
    return this.byteIds[byte]!
  }

  private specialIds(source: VocabularySource): SpecialIds {
    const defaults = { ...(this.model === 'gemma4' ? {} : DEFAULT_IDS[this.kind]) }
    if (this.pre.noDefaultBos) defaults.bos = -1
    const ids: SpecialIds = { ...NO_IDS }
    for (const role of Object.keys(ids) as (keyof SpecialIds)[]) {
      const preset = defaults[role] ?? -1
      if (preset < this.size) ids[role] = preset
      const given = source.ids?.[role]
      if (given === undefined) continue
      if (Number.isInteger(given) && given >= 0 && given < this.size) ids[role] = given
      else this.warnings.push(`the ${role} token ${given} is not in the vocabulary of ${this.size}`)
    }
    this.adopt(
      ids,
      'eot',
      END_OF_TURN.filter((name) => name !== '<|end|>' || !this.goesOnAfterEnd()),
    )
    this.adopt(ids, 'eom', END_OF_MESSAGE)
    for (const [role, names] of Object.entries(FILL_IN_MIDDLE)) {
      this.adopt(ids, role as keyof SpecialIds, names)
    }
    return ids
  }

  /** Finds a token by its usual names; whatever its type says, it is a control token then. */
  private adopt(ids: SpecialIds, role: keyof SpecialIds, names: readonly string[]): void {
    if (ids[role] >= 0) return
    for (const name of names) {
      const id = this.idOf(name)
      if (id < 0) continue
      ids[role] = id
      this.attributes[id]! |= Attribute.control
      return
    }
  }

  private flag(wanted: boolean, role: 'bos' | 'eos' | 'separator'): boolean {
    if (!wanted || this.ids[role] >= 0) return wanted
    if (this.kind !== 'none') this.warnings.push(`the file asks for a ${role} token but names none`)
    return false
  }

  /** Files keep places for further control tokens, which are unused by their names alone. */
  private markUnused(): void {
    for (let id = 0; id < this.size; id++) {
      const isUnused = this.has(id, Attribute.control) && this.text(id).includes('unused')
      if (isUnused) this.attributes[id]! |= Attribute.unused
    }
  }

  private findEndOfGeneration(): Set<number> {
    const { ids, attributes } = this
    const found = new Set<number>()
    for (const id of [ids.fimPadding, ids.fimRepository, ids.fimSeparator]) {
      if (id >= 0) found.add(id)
    }
    const named = new Map<string, number>()
    for (const name of END_OF_GENERATION) {
      const id = this.idOf(name)
      if (id < 0) continue
      named.set(name, id)
      found.add(id)
      attributes[id]! |= Attribute.control
    }
    for (const name of HARMONY_MARKS) {
      const id = this.idOf(name)
      if (id >= 0) attributes[id] = Attribute.userDefined
    }
    for (const id of [ids.eos, ids.eot, ids.eom]) if (id >= 0) found.add(id)
    const end = named.get('<|end|>')
    if (end !== undefined && this.goesOnAfterEnd()) {
      found.delete(end)
      attributes[end] = Attribute.userDefined
    }
    // In Gemma 4 </s> is HTML, not an end.
    const strike = named.get('</s>')
    if (strike !== undefined && named.has('<|tool_response>')) {
      found.delete(strike)
      attributes[strike] = Attribute.normal
    }
    return found
  }

  /** In harmony and Solar Open, <|end|> only closes one of several messages of a turn. */
  private goesOnAfterEnd(): boolean {
    const has = (name: string): boolean => this.idOf(name) >= 0
    return (has('<|call|>') || has('<|calls|>')) && (has('<|return|>') || has('<|flush|>'))
  }

  /** Files do not carry these properties; the models are known by name. */
  private setStripping(source: VocabularySource): void {
    const { attributes } = this
    const name = source.name?.toLowerCase() ?? ''
    const pre = source.pre ?? ''
    const architecture = source.architecture ?? ''
    const special = Attribute.control | Attribute.userDefined | Attribute.unknown
    if (
      ['jina-v2-de', 'jina-v2-es', 'jina-v2-code'].some((part) => pre.includes(part)) ||
      ['nomic-bert-moe', 'jina-bert-v3'].some((part) => architecture.includes(part))
    ) {
      const mask = this.idOf('<mask>')
      if (mask >= 0) attributes[mask]! |= Attribute.stripLeft
    } else if (name.includes('phi-3') || name.includes('phi3')) {
      for (let id = 0; id < this.size; id++) {
        if (this.has(id, special)) attributes[id]! |= Attribute.stripRight
      }
      const end = this.idOf('</s>')
      if (end >= 0) attributes[end]! |= Attribute.stripRight
      for (const text of ['<unk>', '<s>', '<|endoftext|>']) {
        const id = this.idOf(text)
        if (id >= 0) attributes[id]! &= ~Attribute.stripRight
      }
    } else if (name.includes('modern-bert')) {
      const mask = this.idOf('[MASK]')
      if (mask >= 0) attributes[mask]! |= Attribute.stripLeft
    }
  }
}

function kindOf({ model }: VocabularySource): VocabularyKind {
  const kind = Object.hasOwn(KINDS, model) ? KINDS[model] : undefined
  if (kind) return kind
  throw new UnsupportedModelError(
    'tokenizer.ggml.model',
    model,
    `unknown tokenizer '${model}', known are ${Object.keys(KINDS).join(', ')}`,
  )
}

function preName(source: VocabularySource): string {
  return source.model === 'gemma4' ? 'gemma4' : (source.pre ?? '')
}

/** A token without text would match everywhere; it gets a name that text will not spell. */
function* namedTokens(tokens: StringTable): Steps<StringTable> {
  const isEmpty = (id: number): boolean => tokens.starts[id] === tokens.ends[id]
  let empty = 0
  for (let id = 0; id < tokens.count; id++) if (isEmpty(id)) empty++
  if (empty === 0) return tokens
  const bytes = (id: number): Uint8Array =>
    isEmpty(id) ? encoder.encode(`[EMPTY_${id}]`) : entryBytes(tokens, id)
  return yield* tableOf({ length: tokens.count, bytes })
}

function scoresOf({ scores }: VocabularySource, count: number): Float32Array {
  if (!scores) return new Float32Array(count)
  if (scores.length >= count) return scores.subarray(0, count)
  throw new UnsupportedModelError(
    'tokenizer.ggml.scores',
    scores.length,
    `${scores.length} scores for ${count} tokens`,
  )
}

function attributesOf({ types }: VocabularySource, count: number): Uint16Array {
  const attributes = new Uint16Array(count)
  if (!types) return attributes.fill(Attribute.normal)
  if (types.length < count) {
    throw new UnsupportedModelError(
      'tokenizer.ggml.token_type',
      types.length,
      `${types.length} types for ${count} tokens`,
    )
  }
  const byType = new Uint16Array(8)
  byType[TokenType.normal] = Attribute.normal
  byType[TokenType.unknown] = Attribute.unknown
  byType[TokenType.control] = Attribute.control
  byType[TokenType.userDefined] = Attribute.userDefined
  byType[TokenType.unused] = Attribute.unused
  byType[TokenType.byte] = Attribute.byte
  for (let id = 0; id < count; id++) attributes[id] = byType[types[id]!] ?? 0
  return attributes
}
