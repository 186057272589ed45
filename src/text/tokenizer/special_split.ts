// Finds special tokens in text: the longest token first, each from the left, never two overlapping.
import { ByteTrie } from './byte_trie.ts'
import type { Steps } from './steps.ts'
import { Attribute, type Vocabulary } from './vocabulary.ts'

/** Plain text from `start` to `end` when `id` is -1, else the special token `id`. */
export interface Fragment {
  id: number
  start: number
  end: number
}

/** Bytes or matches between two yields. */
const SLICE = 1 << 13

export class SpecialSplitter {
  private readonly vocabulary: Vocabulary
  private readonly always: SpecialSet
  private readonly parsed: SpecialSet

  constructor(vocabulary: Vocabulary) {
    this.vocabulary = vocabulary
    const special = Attribute.control | Attribute.unknown
    const parsed: number[] = []
    for (let id = 0; id < vocabulary.size; id++) {
      if (vocabulary.has(id, special | Attribute.userDefined)) parsed.push(id)
    }
    this.parsed = new SpecialSet(vocabulary, parsed)
    this.always = new SpecialSet(
      vocabulary,
      parsed.filter((id) => !vocabulary.has(id, special)),
    )
  }

  /**
   * Cuts `text` into fragments in order; empty pieces of plain text are left out. Tokens that users
   * defined are always found, control tokens only with `parseSpecial`, and only where no byte of
   * theirs is marked with 1 in `untrusted`.
   */
  *split(text: Uint8Array, parseSpecial: boolean, untrusted?: Uint8Array): Steps<Fragment[]> {
    const set = parseSpecial ? this.parsed : this.always
    const pending = yield* set.longestMatches(text, untrusted)
    if (pending.size === 0) return text.length > 0 ? [{ id: -1, start: 0, end: text.length }] : []
    const taken = new Uint8Array(text.length)
    const chosen = yield* this.choose(set, pending, { text, taken, untrusted })
    const fragments: Fragment[] = []
    let at = 0
    for (const token of [...chosen, { id: -1, start: text.length, end: text.length }]) {
      while (at < token.start && taken[at] === 1) at++
      let end = at
      while (end < token.start && taken[end] === 0) end++
      if (end > at) fragments.push({ id: -1, start: at, end })
      if (token.id >= 0) fragments.push(token)
      at = token.end
    }
    return fragments
  }

  /**
   * Longer tokens take their places first; where a place is taken in part, the next shorter token
   * at its start gets its turn. As no token is longer than those placed before it, a place is free
   * when its first and its last byte are.
   */
  private *choose(
    set: SpecialSet,
    pending: Map<number, number[]>,
    input: { text: Uint8Array; taken: Uint8Array; untrusted: Uint8Array | undefined },
  ): Steps<Fragment[]> {
    const { text, taken, untrusted } = input
    const chosen: Fragment[] = []
    for (; pending.size > 0; yield) {
      let id = -1
      for (const candidate of pending.keys()) {
        if (id < 0 || set.goesBefore(candidate, id)) id = candidate
      }
      const starts = pending.get(id)!
      pending.delete(id)
      for (const [i, start] of ascending(starts).entries()) {
        if (i % SLICE === SLICE - 1) yield
        if (taken[start] === 1) continue
        const end = start + set.length(id)
        if (taken[end - 1] === 1) {
          const shorter = set.shorter(id, start, untrusted)
          if (shorter >= 0) addTo(pending, shorter, start)
          continue
        }
        taken.fill(1, start, end)
        this.strip(id, start, end, text, taken)
        chosen.push({ id, start, end })
      }
    }
    return chosen.sort((a, b) => a.start - b.start)
  }

  /** Takes the whitespace that belongs to a token. */
  private strip(id: number, start: number, end: number, text: Uint8Array, taken: Uint8Array): void {
    const { vocabulary } = this
    if (vocabulary.has(id, Attribute.stripLeft)) {
      for (let i = start - 1; i >= 0 && isSpace(text[i]!) && taken[i] === 0; i--) taken[i] = 1
    }
    if (vocabulary.has(id, Attribute.stripRight)) {
      for (let i = end; i < text.length && isSpace(text[i]!) && taken[i] === 0; i++) taken[i] = 1
    }
  }
}

/** A set of tokens to find in text. */
class SpecialSet {
  private readonly vocabulary: Vocabulary
  private readonly trie = new ByteTrie()
  private readonly isFirst = new Uint8Array(256)
  private readonly shorterIds = new Map<number, number>()

  constructor(vocabulary: Vocabulary, ids: readonly number[]) {
    this.vocabulary = vocabulary
    const { bytes, starts, ends } = vocabulary.tokens
    for (const id of ids) {
      this.trie.insert(bytes, starts[id]!, ends[id]!, id)
      this.isFirst[bytes[starts[id]!]!] = 1
    }
    for (const id of ids) {
      let node = 0
      for (let i = starts[id]!; i < ends[id]! - 1; i++) {
        node = this.trie.child(node, bytes[i]!)
        if (this.trie.value(node) >= 0) this.shorterIds.set(id, this.trie.value(node))
      }
    }
  }

  length(id: number): number {
    return this.vocabulary.tokens.ends[id]! - this.vocabulary.tokens.starts[id]!
  }

  goesBefore(a: number, b: number): boolean {
    const difference = this.length(a) - this.length(b)
    return difference > 0 || (difference === 0 && a < b)
  }

  /** The longest token that is a proper prefix of token `id` and may stand at `start`, or -1. */
  shorter(id: number, start: number, untrusted: Uint8Array | undefined): number {
    let shorter = this.shorterIds.get(id) ?? -1
    while (shorter >= 0 && !this.mayStand(shorter, start, untrusted)) {
      shorter = this.shorterIds.get(shorter) ?? -1
    }
    return shorter
  }

  /** Where in `text` each token is the longest that may start there. */
  *longestMatches(
    text: Uint8Array,
    untrusted: Uint8Array | undefined,
  ): Steps<Map<number, number[]>> {
    const { trie, isFirst } = this
    const matches = new Map<number, number[]>()
    for (let start = 0; start < text.length; start++) {
      if (start % SLICE === SLICE - 1) yield
      if (isFirst[text[start]!] === 0) continue
      let id = -1
      let node = 0
      for (let i = start; i < text.length; i++) {
        node = trie.child(node, text[i]!)
        if (node < 0) break
        const found = trie.value(node)
        if (found >= 0 && this.mayStand(found, start, untrusted)) id = found
      }
      if (id >= 0) addTo(matches, id, start)
    }
    return matches
  }

  /** Control tokens stand in trusted text alone. */
  private mayStand(id: number, start: number, untrusted: Uint8Array | undefined): boolean {
    if (!untrusted || !this.vocabulary.has(id, Attribute.control | Attribute.unknown)) return true
    const end = start + this.length(id)
    for (let i = start; i < end; i++) if (untrusted[i] === 1) return false
    return true
  }
}

function addTo(map: Map<number, number[]>, id: number, start: number): void {
  const starts = map.get(id)
  if (starts) starts.push(start)
  else map.set(id, [start])
}

function ascending(starts: number[]): number[] {
  const sorted = starts.every((start, i) => i === 0 || starts[i - 1]! < start)
  return sorted ? starts : starts.sort((a, b) => a - b)
}

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
