// RWKV "world" vocabularies: the longest piece from the left, over bytes.
import { ByteTrie } from './byte_trie.ts'
import type { IdList } from './id_list.ts'
import { writeUnescaped } from './rwkv_pieces.ts'
import type { Steps } from './steps.ts'
import type { TextModel } from './text_model.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Tokens between two yields. */
const SLICE = 1 << 11

export class RwkvModel implements TextModel {
  private readonly trie = new ByteTrie()
  private readonly unknown: number

  private constructor(vocabulary: Vocabulary) {
    this.unknown = vocabulary.ids.unknown
  }

  static *build(vocabulary: Vocabulary): Steps<RwkvModel> {
    const model = new RwkvModel(vocabulary)
    const { bytes, starts, ends } = vocabulary.tokens
    const piece = new Uint8Array(vocabulary.index.lengthMax)
    for (let id = 0; id < vocabulary.size; id++) {
      if (id % SLICE === SLICE - 1) yield
      if (!vocabulary.isText(id)) continue
      model.trie.insert(piece, 0, writeUnescaped(bytes, starts[id]!, ends[id]!, piece, 0), id)
    }
    return model
  }

  *segment(text: Uint8Array, out: IdList): Steps<void> {
    const { trie, unknown } = this
    let start = 0
    for (let count = 1; start < text.length; count++) {
      let id = -1
      let end = start + 1
      let node = 0
      for (let i = start; i < text.length; i++) {
        node = trie.child(node, text[i]!)
        if (node < 0) break
        if (trie.value(node) < 0) continue
        id = trie.value(node)
        end = i + 1
      }
      if (id >= 0) out.push(id)
      else if (unknown >= 0) out.push(unknown)
      start = end
      if (count % SLICE === 0) yield
    }
  }
}
