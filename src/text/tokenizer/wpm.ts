// WordPiece ("bert" vocabularies): words are cut at spaces and marks, and each takes the longest
// pieces from the left; a word with a part that no piece covers is unknown as a whole. Devlin et
// al. (2018), "BERT"; normalization as in its BasicTokenizer.
import { ByteTrie } from './byte_trie.ts'
import type { IdList } from './id_list.ts'
import { decodeLenient } from './lenient_utf8.ts'
import { baseCharacter, lowerCase } from './letters.ts'
import type { Steps } from './steps.ts'
import type { TextModel } from './text_model.ts'
import { SPACE_MARK } from './utf8.ts'
import type { Vocabulary } from './vocabulary.ts'
import { CACHED_WORD_MAX, WordCache } from './word_cache.ts'

/** Tokens or characters between two yields. */
const SLICE = 1 << 11

/** What a character does: ends a word, vanishes, is a word alone, or goes on with its bytes. */
interface Role {
  kind: 'space' | 'nothing' | 'alone' | 'letter'
  bytes: Uint8Array
}

const SPACE = /^\p{White_Space}$/v
const CONTROL = /^[\0\uFFFD\p{Cc}\p{Cf}\p{Co}\p{Cs}]$/v
const ACCENT = /^\p{M}$/v
const MARK = /^[\p{P}$+<=>^`\|]$/v
/** Ideographs, by the ranges of the original; the gap at U+2B820 is its own. */
const IDEOGRAPH = new RegExp(
  '^[\\u4E00-\\u9FFF\\u3400-\\u4DBF\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2B81F}' +
    '\\u{2B920}-\\u{2CEAF}\\uF900-\\uFAFF\\u{2F800}-\\u{2FA1F}]$',
  'v',
)

const encoder = new TextEncoder()

export class WpmModel implements TextModel {
  private readonly vocabulary: Vocabulary
  private readonly trie = new ByteTrie()
  private readonly roles = new Map<number, Role>()
  private readonly cache = new WordCache()

  private constructor(vocabulary: Vocabulary) {
    this.vocabulary = vocabulary
  }

  static *build(vocabulary: Vocabulary): Steps<WpmModel> {
    const model = new WpmModel(vocabulary)
    const { bytes, starts, ends } = vocabulary.tokens
    for (let id = 0; id < vocabulary.size; id++) {
      if (vocabulary.isText(id)) model.trie.insert(bytes, starts[id]!, ends[id]!, id)
      if (id % SLICE === SLICE - 1) yield
    }
    return model
  }

  *segment(bytes: Uint8Array, out: IdList): Steps<void> {
    const { text } = decodeLenient(bytes)
    // Every word starts with a space mark, as the pieces that start words do.
    let word = new Uint8Array(256)
    word.set(SPACE_MARK)
    let size = SPACE_MARK.length
    let characters = 0
    for (const character of text) {
      if (++characters % SLICE === 0) yield
      const role = this.role(character)
      if (role.kind === 'nothing') continue
      if (role.kind !== 'letter' && size > SPACE_MARK.length) {
        yield* this.word(word, size, out)
        size = SPACE_MARK.length
      }
      if (role.kind === 'space') continue
      if (size + role.bytes.length > word.length) {
        const grown = new Uint8Array(word.length * 2)
        grown.set(word)
        word = grown
      }
      word.set(role.bytes, size)
      size += role.bytes.length
      if (role.kind === 'alone') {
        yield* this.word(word, size, out)
        size = SPACE_MARK.length
      }
    }
    if (size > SPACE_MARK.length) yield* this.word(word, size, out)
  }

  private *word(word: Uint8Array, size: number, out: IdList): Steps<void> {
    const { cache } = this
    const isCached = size <= CACHED_WORD_MAX
    const first = isCached ? cache.find(word, 0, size) : -1
    if (first >= 0) {
      out.append(cache.ids, first, cache.idCount)
      return
    }
    const before = out.length
    let pause = SLICE
    for (let start = 0; start < size; ) {
      const end = this.longestPiece(word, start, size, out)
      if (end === start) {
        out.truncate(before)
        if (this.vocabulary.ids.unknown >= 0) out.push(this.vocabulary.ids.unknown)
        break
      }
      start = end
      if (start > pause) {
        yield
        pause = start + SLICE
      }
    }
    if (isCached) cache.add(word, 0, size, out, before, out.length - before)
  }

  /** Appends the longest piece that starts at `start`; returns its end, or `start` without one. */
  private longestPiece(word: Uint8Array, start: number, size: number, out: IdList): number {
    const { trie } = this
    let id = -1
    let end = start
    let node = 0
    for (let i = start; i < size; i++) {
      node = trie.child(node, word[i]!)
      if (node < 0) break
      if (trie.value(node) < 0) continue
      id = trie.value(node)
      end = i + 1
    }
    if (id >= 0) out.push(id)
    return end
  }

  private role(character: string): Role {
    const point = character.codePointAt(0)!
    let role = this.roles.get(point)
    if (!role) {
      role = this.findRole(character)
      this.roles.set(point, role)
    }
    return role
  }

  private findRole(character: string): Role {
    const { stripAccents, lowercase } = this.vocabulary
    const base = stripAccents ? baseCharacter(character) : character
    const bytes = encoder.encode(lowercase ? lowerCase(base) : base)
    if (SPACE.test(base)) return { kind: 'space', bytes }
    if (CONTROL.test(base) || (stripAccents && ACCENT.test(base))) return { kind: 'nothing', bytes }
    return { kind: MARK.test(base) || IDEOGRAPH.test(base) ? 'alone' : 'letter', bytes }
  }
}
