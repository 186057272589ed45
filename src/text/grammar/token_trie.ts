// The tokens of a vocabulary as a trie over their bytes, laid out for walking.

/** What grammars need to know of a vocabulary. */
export interface GrammarVocabulary {
  /** The number of tokens. */
  readonly size: number
  /**
   * The bytes that a token adds to the text. Empty for tokens that add none or must not stand for
   * text (control tokens): a grammar allows those only where it names them.
   */
  bytes(token: number): Uint8Array
  /** Whether the token ends a generation; it is allowed where the grammar is complete. */
  isEndOfGeneration(token: number): boolean
  /** The id of the token with exactly this text, special tokens included, for `<text>` in GBNF. */
  tokenId?(text: string): number | undefined
}

/** Longest token that is used; longer ones are never allowed. */
const tokenBytesMax = 1024

/**
 * A trie in preorder: the first child of node i is node i + 1, and the nodes below i end before
 * `skip[i]`. Node 0 is the root. Tokens with the same bytes are a list through `nextSame`.
 */
export class TokenTrie {
  readonly vocabularySize: number
  readonly nodeCount: number
  /** The byte on the edge into each node. */
  readonly bytes: Uint8Array
  /** The first node after the subtree of each node. */
  readonly skip: Int32Array
  /** Bytes from the root. */
  readonly depth: Uint16Array
  /** A token that ends at the node, or -1. */
  readonly token: Int32Array
  /** By token: another token with the same bytes, or -1. */
  readonly nextSame: Int32Array
  /** Bytes of the longest token. */
  readonly depthMax: number
  readonly endOfGeneration: readonly number[]
  /** What grammars keep for others over the same vocabulary. */
  readonly shared = new SharedMemory()
  /** By token, where its bytes begin in `tokenBytes`; [vocabularySize + 1]. */
  readonly #starts: Uint32Array
  #tokenBytes: Uint8Array
  /** By byte, the nodes of the root's child and below. */
  readonly #rootNodes = new Int32Array(256)

  constructor(vocabulary: GrammarVocabulary) {
    const { size } = vocabulary
    this.vocabularySize = size
    this.#starts = new Uint32Array(size + 1)
    this.#tokenBytes = new Uint8Array(8 * size + 64)
    const endOfGeneration: number[] = []
    for (let token = 0; token < size; token++) {
      const ends = vocabulary.isEndOfGeneration(token)
      if (ends) endOfGeneration.push(token)
      const bytes = ends ? noBytes : vocabulary.bytes(token)
      this.#append(token, bytes.length > tokenBytesMax ? noBytes : bytes)
    }
    this.endOfGeneration = endOfGeneration
    this.nextSame = new Int32Array(size).fill(-1)
    const linked = this.#link()
    this.nodeCount = linked.count
    this.bytes = new Uint8Array(linked.count)
    this.skip = new Int32Array(linked.count)
    this.depth = new Uint16Array(linked.count)
    this.token = new Int32Array(linked.count)
    this.#layOut(linked)
    for (let child = 1; child < linked.count; child = this.skip[child]!) {
      this.#rootNodes[this.bytes[child]!] = this.skip[child]! - child
    }
    let depthMax = 0
    for (let i = 0; i < linked.count; i++) depthMax = Math.max(depthMax, this.depth[i]!)
    this.depthMax = depthMax
  }

  /** How many nodes lie below the children of the root with these bytes. */
  nodesBelow(openBytes: Uint8Array): number {
    let nodes = 0
    for (let i = 0; i < openBytes.length; i++) nodes += this.#rootNodes[openBytes[i]!]!
    return nodes
  }

  /** The bytes of a token; a window, not to be changed. */
  bytesOf(token: number): Uint8Array {
    return this.#tokenBytes.subarray(this.#starts[token]!, this.#starts[token + 1]!)
  }

  #append(token: number, bytes: Uint8Array): void {
    const start = this.#starts[token]!
    const end = start + bytes.length
    if (end > this.#tokenBytes.length) {
      const grown = new Uint8Array(2 * end)
      grown.set(this.#tokenBytes)
      this.#tokenBytes = grown
    }
    this.#tokenBytes.set(bytes, start)
    this.#starts[token + 1] = end
  }

  #link(): LinkedNodes {
    const nodes = new LinkedNodes()
    for (let token = 0; token < this.vocabularySize; token++) {
      const end = this.#starts[token + 1]!
      let node = 0
      for (let at = this.#starts[token]!; at < end; at++) {
        node = nodes.child(node, this.#tokenBytes[at]!)
      }
      if (node === 0) continue
      this.nextSame[token] = nodes.token[node]!
      nodes.token[node] = token
    }
    return nodes
  }

  /** Copies the linked nodes into preorder. */
  #layOut(nodes: LinkedNodes): void {
    const path = new Int32Array(tokenBytesMax + 2)
    const placed = new Int32Array(tokenBytesMax + 2)
    let depth = 0
    let count = 0
    path[0] = 0
    for (let node = 0; ; ) {
      placed[depth] = count
      this.bytes[count] = nodes.byte[node]!
      this.depth[count] = depth
      this.token[count] = nodes.token[node]!
      path[depth] = node
      count++
      let next = nodes.firstChild[node]!
      if (next !== 0) {
        depth++
      } else {
        for (; depth >= 0; depth--) {
          this.skip[placed[depth]!] = count
          next = nodes.nextSibling[path[depth]!]!
          if (next !== 0) break
        }
        if (depth < 0) return
      }
      node = next
    }
  }
}

const noBytes = new Uint8Array(0)

/** A growing trie whose children are linked; (node, byte) is looked up in an open hash table. */
class LinkedNodes {
  byte = new Uint8Array(1024)
  token = new Int32Array(1024).fill(-1)
  /** 0 is none: the root is nobody's child. */
  firstChild = new Int32Array(1024)
  nextSibling = new Int32Array(1024)
  count = 1
  /**
   * Pairs of the key 256 * node + byte and the child, side by side in one cache line; 0 is free.
   */
  #slots = new Int32Array(4096)

  /** The child of `node` by `byte`, made when there is none. */
  child(node: number, byte: number): number {
    const key = node * 256 + byte
    const slots = this.#slots
    let slot = slotOf(key, slots.length)
    for (; slots[slot + 1] !== 0; slot = (slot + 2) & (slots.length - 1)) {
      if (slots[slot] === key) return slots[slot + 1]!
    }
    const created = this.count++
    slots[slot] = key
    slots[slot + 1] = created
    if (created === this.byte.length) this.#grow()
    this.byte[created] = byte
    this.nextSibling[created] = this.firstChild[node]!
    this.firstChild[node] = created
    return created
  }

  #grow(): void {
    const length = 2 * this.byte.length
    this.byte = widen(this.byte, new Uint8Array(length))
    this.token = widen(this.token, new Int32Array(length).fill(-1))
    this.firstChild = widen(this.firstChild, new Int32Array(length))
    this.nextSibling = widen(this.nextSibling, new Int32Array(length))
    const old = this.#slots
    const slots = new Int32Array(2 * old.length)
    for (let from = 0; from < old.length; from += 2) {
      if (old[from + 1] === 0) continue
      let slot = slotOf(old[from]!, slots.length)
      while (slots[slot + 1] !== 0) slot = (slot + 2) & (slots.length - 1)
      slots[slot] = old[from]!
      slots[slot + 1] = old[from + 1]!
    }
    this.#slots = slots
  }
}

/** An even index, by multiplication with the golden ratio (Knuth, TAOCP 3, 6.4). */
function slotOf(key: number, length: number): number {
  const hash = Math.imul(key, 0x9e3779b1)
  return ((hash ^ (hash >>> 15)) << 1) & (length - 1)
}

function widen<T extends Uint8Array | Int32Array>(from: T, to: T): T {
  to.set(from)
  return to
}

/** Most bytes kept for further grammars of a vocabulary. */
const sharedBytesMax = 32 * 1024 * 1024

/** Things by key, of which those used least recently go when they are too large together. */
export class SharedMemory {
  readonly #things = new Map<string, { thing: unknown; size: number }>()
  #size = 0

  /** The thing kept under the key, or what `make` makes; `sizeOf` tells its bytes. */
  take<T>(key: string, make: () => T, sizeOf: (thing: T) => number): T {
    const known = this.#things.get(key)
    const thing = known === undefined ? make() : (known.thing as T)
    const size = known?.size ?? sizeOf(thing) + 2 * key.length
    this.#things.delete(key)
    this.#things.set(key, { thing, size })
    if (known === undefined) this.#size += size
    for (const [oldest, { size: freed }] of this.#things) {
      if (this.#size <= sharedBytesMax) break
      this.#things.delete(oldest)
      this.#size -= freed
    }
    return thing
  }
}

const tries = new WeakMap<GrammarVocabulary, TokenTrie>()

/** The trie of a vocabulary, made once for each vocabulary object. */
export function trieOf(vocabulary: GrammarVocabulary): TokenTrie {
  let trie = tries.get(vocabulary)
  if (trie === undefined) {
    trie = new TokenTrie(vocabulary)
    tries.set(vocabulary, trie)
  }
  return trie
}
