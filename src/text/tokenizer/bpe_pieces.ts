// The symbols of a byte-pair vocabulary and the pairs that its merges join.
import { UnsupportedModelError } from '../../errors/index.ts'
import { CHARACTER_OF_BYTE } from './byte_alphabet.ts'
import type { IdList } from './id_list.ts'
import { stringTable } from './string_table.ts'
import type { Vocabulary } from './vocabulary.ts'

const SPACE = 0x20

/**
 * Symbols are token ids, and from `vocabulary.size` on texts which only merges name. A merge is a pair of
 * symbols with its rank and the symbol it makes, kept in an open-addressing table of four numbers a slot.
 */
export class BpePieces {
  readonly vocabulary: Vocabulary
  /** By byte: its symbol, or -1. For plain pieces, the token `<0x0A>` that stands for it. */
  readonly byteSymbols: Int32Array
  private readonly pairs: Int32Array // left + 1 (0 when empty), right, rank, result
  private readonly mask: number
  private readonly extra = new Map<string, number>()
  /** By byte: where its character of the byte alphabet lies in `alphabet`. */
  private readonly alphabetStarts = new Uint16Array(257)
  private readonly alphabet: Uint8Array
  private readonly encoded = new Uint8Array(512)

  constructor(vocabulary: Vocabulary) {
    this.vocabulary = vocabulary
    const characters = stringTable(
      Array.from(CHARACTER_OF_BYTE, (character) => String.fromCharCode(character)),
    )
    this.alphabet = characters.bytes
    this.alphabetStarts.set(characters.starts)
    this.alphabetStarts[256] = this.alphabet.length
    const count = vocabulary.merges?.count ?? 0
    const capacity = 1 << Math.max(4, Math.ceil(Math.log2(Math.max(1, count * 1.5))))
    this.pairs = new Int32Array(capacity * 4)
    this.mask = capacity - 1
    this.readMerges()
    this.byteSymbols = vocabulary.pre.plainPieces
      ? vocabulary.byteTokens()
      : Int32Array.from({ length: 256 }, (_, byte) => {
          const { alphabet, alphabetStarts } = this
          return this.symbolOf(alphabet, alphabetStarts[byte]!, alphabetStarts[byte + 1]!)
        })
  }

  /** The slot of the merge that joins two symbols, or -1. */
  pair(left: number, right: number): number {
    const { pairs, mask } = this
    if (left < 0 || right < 0) return -1
    let slot = slotOf(left, right, mask)
    for (;;) {
      const at = slot << 2
      if (pairs[at] === left + 1 && pairs[at + 1] === right) return at
      if (pairs[at] === 0) return -1
      slot = (slot + 1) & mask
    }
  }

  rank(pair: number): number {
    return this.pairs[pair + 2]!
  }

  result(pair: number): number {
    return this.pairs[pair + 3]!
  }

  /** The symbol of a piece as the file writes it, or -1. */
  symbolOf(bytes: Uint8Array, start: number, end: number): number {
    const id = this.vocabulary.index.find(bytes, start, end)
    if (id >= 0 || this.extra.size === 0) return id
    return this.extra.get(keyOf(bytes, start, end)) ?? -1
  }

  /** The token that stands for these bytes of text as a whole, or -1. */
  wholeToken(text: Uint8Array, start: number, end: number): number {
    const { vocabulary } = this
    let id = -1
    if (vocabulary.pre.plainPieces) {
      id = vocabulary.index.find(text, start, end)
    } else if (end - start <= 256) {
      const { alphabet, alphabetStarts, encoded } = this
      let size = 0
      for (let i = start; i < end; i++) {
        const at = alphabetStarts[text[i]!]!
        encoded[size++] = alphabet[at]!
        if (alphabetStarts[text[i]! + 1]! - at === 2) encoded[size++] = alphabet[at + 1]!
      }
      id = vocabulary.index.find(encoded, 0, size)
    }
    return id >= 0 && vocabulary.isText(id) ? id : -1
  }

  /** What no token covers: the tokens of its bytes, or the unknown token where there is none. */
  fallBack(text: Uint8Array, start: number, end: number, out: IdList): void {
    const { byteSymbols, vocabulary } = this
    let isMissing = false
    for (let i = start; i < end; i++) {
      const id = byteSymbols[text[i]!]!
      if (id >= 0 && id < vocabulary.size) out.push(id)
      else isMissing = true
    }
    if (isMissing && vocabulary.ids.unknown >= 0) out.push(vocabulary.ids.unknown)
  }

  private readMerges(): void {
    const { merges, index } = this.vocabulary
    if (!merges) {
      // Kimi K2 files carry none: its words are tokens or single bytes.
      if (this.vocabulary.pre.mergesAreOptional) return
      throw new UnsupportedModelError('tokenizer.ggml.merges', undefined, 'the merges are missing')
    }
    const { bytes, starts, ends } = merges
    for (let rank = 0; rank < merges.count; rank++) {
      const start = starts[rank]!
      const end = ends[rank]!
      // A piece may itself be a space: the one that divides is not the first byte.
      const space = bytes.indexOf(SPACE, start + 1)
      if (space < 0 || space >= end) continue
      let left = index.find(bytes, start, space)
      let right = index.find(bytes, space + 1, end)
      let result = index.findJoined(bytes, start, space, space + 1, end)
      if (left < 0) left = this.extraSymbol(keyOf(bytes, start, space))
      if (right < 0) right = this.extraSymbol(keyOf(bytes, space + 1, end))
      if (result < 0) {
        result = this.extraSymbol(keyOf(bytes, start, space) + keyOf(bytes, space + 1, end))
      }
      this.insert(left, right, rank, result)
    }
  }

  /** The first of two merges of the same pair counts. */
  private insert(left: number, right: number, rank: number, result: number): void {
    const { pairs, mask } = this
    let slot = slotOf(left, right, mask)
    while (pairs[slot << 2] !== 0) {
      if (pairs[slot << 2] === left + 1 && pairs[(slot << 2) + 1] === right) return
      slot = (slot + 1) & mask
    }
    const at = slot << 2
    pairs[at] = left + 1
    pairs[at + 1] = right
    pairs[at + 2] = rank
    pairs[at + 3] = result
  }

  private extraSymbol(key: string): number {
    const known = this.extra.get(key)
    if (known !== undefined) return known
    const symbol = this.vocabulary.size + this.extra.size
    this.extra.set(key, symbol)
    return symbol
  }
}

/** The bytes as a string of one character a byte. */
function keyOf(bytes: Uint8Array, start: number, end: number): string {
  let key = ''
  for (let i = start; i < end; i++) key += String.fromCharCode(bytes[i]!)
  return key
}

function slotOf(left: number, right: number, mask: number): number {
  const h = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca77)
  return (h ^ (h >>> 15)) & mask
}
