// PLaMo 2 vocabularies: the cheapest cut into pieces, found from the right, with byte fallback.
// Preferred Networks (2025), tokenization of PLaMo 2.
import { UnsupportedModelError } from '../../errors/index.ts'
import { ByteTrie } from './byte_trie.ts'
import type { IdList } from './id_list.ts'
import { decodeLenient, writeUtf8 } from './lenient_utf8.ts'
import type { Steps } from './steps.ts'
import type { TextModel } from './text_model.ts'
import { CHARACTER_BYTES } from './utf8.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Tokens or bytes between two yields. */
const SLICE = 1 << 11
/** Costs are scores in units of 1/10000, rounded; a character without a piece costs this. */
const UNITS = 1e4
const BYTES_COST = 1e7

export class Plamo2Model implements TextModel {
  private readonly trie = new ByteTrie()
  private readonly costs: Float64Array
  private readonly vocabulary: Vocabulary

  private constructor(vocabulary: Vocabulary) {
    this.vocabulary = vocabulary
    for (let byte = 0; byte < 256; byte++) {
      if (vocabulary.byteToken(byte) >= 0) continue
      throw new UnsupportedModelError(
        'tokenizer.ggml.tokens',
        byte,
        `no token for the byte ${byte}`,
      )
    }
    this.costs = Float64Array.from(vocabulary.scores, (score) => {
      const scaled = score * UNITS
      return -Math.sign(scaled) * Math.round(Math.abs(scaled))
    })
  }

  static *build(vocabulary: Vocabulary): Steps<Plamo2Model> {
    const model = new Plamo2Model(vocabulary)
    const { bytes, starts, ends } = vocabulary.tokens
    for (let id = 0; id < vocabulary.size; id++) {
      if (id % SLICE === SLICE - 1) yield
      if (!vocabulary.isText(id) || !Number.isFinite(model.costs[id]!)) continue
      model.trie.insert(bytes, starts[id]!, ends[id]!, id)
    }
    return model
  }

  *segment(bytes: Uint8Array, out: IdList): Steps<void> {
    const source = decodeLenient(bytes)
    const room = new Uint8Array(source.text.length * 3)
    const skipped = source.text.charCodeAt(0) === 0xfeff ? 1 : 0
    const text = room.subarray(0, writeUtf8(source, skipped, source.text.length, room, 0))
    const { length } = text
    // By position: the least cost from there on, and the piece (or -1 for bytes) with its length.
    const cost = new Float64Array(length + 1)
    const piece = new Int32Array(length)
    const size = new Int32Array(length)
    let pause = length - SLICE
    for (let start = length - 1; start >= 0; start--) {
      if ((text[start]! & 0xc0) === 0x80) continue
      this.cheapest(text, start, cost, piece, size)
      if (start < pause) {
        yield
        pause = start - SLICE
      }
    }
    for (let at = 0, count = 1; at < length; at += size[at]!, count++) {
      if (piece[at]! >= 0) out.push(piece[at]!)
      else for (let i = at; i < at + size[at]!; i++) out.push(this.vocabulary.byteToken(text[i]!))
      if (count % SLICE === 0) yield
    }
  }

  /** The longest wins among equals. */
  private cheapest(
    text: Uint8Array,
    start: number,
    cost: Float64Array,
    piece: Int32Array,
    size: Int32Array,
  ): void {
    const { trie } = this
    let least = Number.POSITIVE_INFINITY
    let node = 0
    for (let i = start; i < text.length; i++) {
      node = trie.child(node, text[i]!)
      if (node < 0) break
      const id = trie.value(node)
      if (id < 0) continue
      const sum = cost[i + 1]! + this.costs[id]!
      if (sum > least) continue
      least = sum
      piece[start] = id
      size[start] = i + 1 - start
    }
    const bytes = CHARACTER_BYTES[text[start]!]!
    if (cost[start + bytes]! + BYTES_COST < least) {
      least = cost[start + bytes]! + BYTES_COST
      piece[start] = -1
      size[start] = bytes
    }
    cost[start] = least
  }
}
