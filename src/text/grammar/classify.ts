// Which tokens fit at a place, as far as its own rule decides: computed once, used under every
// stack.
//
// The idea is published for XGrammar (Dong et al., "XGrammar: Flexible and Efficient Structured
// Generation Engine for Large Language Models", 2024): most tokens are accepted or refused without
// knowing where the rule returns to. Only tokens that run past the end of the rule depend on it;
// what they have left behind the end is kept in a small trie, which is walked where the place lies.
import type { ByteSet } from './first_follow.ts'
import { completeFlag, dead, type Machine, openFlag } from './machine.ts'
import type { TokenTrie } from './token_trie.ts'

/** The tokens of a place. */
export interface Classification {
  /** Tokens that fit whatever follows the rule. */
  readonly tokens: TokenSet
  /**
   * What tokens that run past the end of the rule have left there; undefined when there are none.
   */
  readonly suffixes: SuffixTrie | undefined
}

/** From how many tokens on a mask is quicker to apply than a list. */
const listMax = 2048

/** Tokens; in a counted repetition of units each with the number of units it needs. */
export class TokenSet {
  /** In order of need; left out where the mask alone will do. */
  readonly #tokens: Int32Array
  readonly #mask: Uint32Array | undefined
  /** How many tokens need at most n units, for n up to the largest need. */
  readonly #counts: Int32Array

  /** `needs` [tokens], begun units included; all 0 where nothing is counted. */
  constructor(tokens: Int32Array, needs: Int32Array, vocabularySize: number) {
    let most = 0
    for (let i = 0; i < needs.length; i++) if (needs[i]! > most) most = needs[i]!
    const counts = new Int32Array(most + 1)
    for (let i = 0; i < needs.length; i++) counts[needs[i]!]!++
    for (let need = 1; need <= most; need++) counts[need]! += counts[need - 1]!
    const next = counts.slice()
    const ordered = new Int32Array(tokens.length)
    for (let i = 0; i < tokens.length; i++) ordered[--next[needs[i]!]!] = tokens[i]!
    this.#counts = counts
    this.#tokens = tokens.length > listMax && most === 0 ? new Int32Array(0) : ordered
    if (tokens.length <= listMax) return
    const mask = new Uint32Array((vocabularySize + 31) >>> 5)
    for (let i = 0; i < ordered.length; i++) setBit(mask, ordered[i]!)
    this.#mask = mask
  }

  /** Memory in bytes. */
  get byteLength(): number {
    return this.#tokens.byteLength + this.#counts.byteLength + (this.#mask?.byteLength ?? 0)
  }

  /**
   * Adds the tokens that need at most `high` units to `mask`; `isBlank` says that it is empty yet.
   * `spare` is memory as long as the mask.
   */
  addTo(mask: Uint32Array, high: number, isBlank: boolean, spare: Uint32Array): void {
    const counts = this.#counts
    const total = counts[counts.length - 1]!
    const fitting = high >= counts.length - 1 ? total : counts[high]!
    if (this.#mask === undefined || 2 * fitting < total) {
      const tokens = this.#tokens
      for (let i = 0; i < fitting; i++) setBit(mask, tokens[i]!)
      return
    }
    let source = this.#mask
    if (fitting < total) {
      spare.set(source)
      for (let i = fitting; i < total; i++) clearBit(spare, this.#tokens[i]!)
      source = spare
    }
    if (isBlank) mask.set(source)
    else for (let i = 0; i < mask.length; i++) mask[i] = mask[i]! | source[i]!
  }
}

/** Bytes that are left of tokens after the end of a rule, in preorder as in `TokenTrie`. */
export interface SuffixTrie {
  readonly bytes: Uint8Array
  readonly skip: Int32Array
  readonly depth: Uint16Array
  /** The tokens of node i are `tokens[starts[i]]` to before `tokens[starts[i + 1]]`. */
  readonly starts: Int32Array
  readonly tokens: Int32Array
  /** In a counted repetition: how many units each token has read before the end. */
  readonly counts: Int32Array | undefined
}

export function setBit(mask: Uint32Array, token: number): void {
  mask[token >>> 5]! |= 1 << (token & 31)
}

function clearBit(mask: Uint32Array, token: number): void {
  mask[token >>> 5]! &= ~(1 << (token & 31))
}

/** The state after a byte, from the table where it is known. */
export function nextState(machine: Machine, state: number, byte: number): number {
  const known = machine.rows[256 * state + byte]!
  return known === 0 ? machine.step(state, byte) : known
}

/** What is to be classified. */
export interface ClassifyInput {
  machine: Machine
  /** A state over the bottom. */
  start: number
  /** The bytes that can come after the rule. */
  follow: ByteSet
  /**
   * The rule is the body of a counted repetition whose iterations are unmistakable, and `start` is
   * without limits: units are counted.
   */
  countUnits: boolean
  /** Tokens that fit as such, whatever their bytes. */
  named: readonly number[]
}

/** Walks all tokens of a vocabulary; its memory serves one walk after the other. */
export class Classifier {
  readonly #trie: TokenTrie
  readonly #states: Int32Array
  readonly #unitCounts: Int32Array
  /** A token may be there twice: by its bytes and by name. */
  readonly #tokens: Int32Array
  readonly #needs: Int32Array

  constructor(trie: TokenTrie) {
    this.#trie = trie
    this.#states = new Int32Array(trie.depthMax + 1)
    this.#unitCounts = new Int32Array(trie.depthMax + 1)
    this.#tokens = new Int32Array(2 * trie.vocabularySize)
    this.#needs = new Int32Array(2 * trie.vocabularySize)
  }

  classify(input: ClassifyInput): Classification {
    const suffixes = new SuffixBuilder(this.#trie)
    let count = this.#walk(input, suffixes)
    for (const token of input.named) {
      this.#tokens[count] = token
      this.#needs[count++] = 0
    }
    const tokens = this.#tokens.subarray(0, count)
    const needs = this.#needs.subarray(0, count)
    return {
      tokens: new TokenSet(tokens, needs, this.#trie.vocabularySize),
      suffixes: suffixes.build(input.countUnits),
    }
  }

  /** Writes the tokens that fit, and returns how many they are. */
  #walk({ machine, start, follow, countUnits }: ClassifyInput, suffixes: SuffixBuilder): number {
    const { bytes, skip, depth, token, nextSame, nodeCount } = this.#trie
    const states = this.#states
    const units = this.#unitCounts
    const tokens = this.#tokens
    const needs = this.#needs
    const unit = countUnits ? 1 : 0
    let { rows, flags } = machine
    let count = 0
    states[0] = start
    units[0] = 0
    for (let node = 1; node < nodeCount; ) {
      const level = depth[node]!
      const before = states[level - 1]!
      let state = rows[256 * before + bytes[node]!]!
      if (state === 0) {
        state = machine.step(before, bytes[node]!)
        rows = machine.rows
        flags = machine.flags
      }
      if (state === dead) {
        node = skip[node]!
        continue
      }
      const flag = flags[state]!
      const isComplete = flag & completeFlag
      const whole = units[level - 1]! + (isComplete & unit)
      states[level] = state
      units[level] = whole
      for (let id = token[node]!; id >= 0; id = nextSame[id]!) {
        tokens[count] = id
        needs[count++] = isComplete ? whole : whole + unit
      }
      if (isComplete) this.#leave(node, whole, follow, suffixes)
      node = flag & openFlag ? node + 1 : skip[node]!
    }
    return count
  }

  /** Keeps what lies behind a node where the rule may end. */
  #leave(node: number, count: number, follow: ByteSet, suffixes: SuffixBuilder): void {
    const { bytes, skip } = this.#trie
    const end = skip[node]!
    for (let child = node + 1; child < end; child = skip[child]!) {
      if (follow[bytes[child]!] === 1) suffixes.add(child, count)
    }
  }
}

const classifiers = new WeakMap<TokenTrie, Classifier>()

/** The classifier of a vocabulary, made once: it needs 16 bytes for each token. */
export function classifierOf(trie: TokenTrie): Classifier {
  let classifier = classifiers.get(trie)
  if (classifier === undefined) {
    classifier = new Classifier(trie)
    classifiers.set(trie, classifier)
  }
  return classifier
}

/** Collects subtrees of the token trie into one trie of suffixes. */
class SuffixBuilder {
  readonly #trie: TokenTrie
  readonly #root: SuffixNode = { byte: 0, children: new Map(), tokens: [], counts: [] }

  constructor(trie: TokenTrie) {
    this.#trie = trie
  }

  /** Adds the subtree of `top`, whose own byte is the first of the suffix. */
  add(top: number, count: number): void {
    const { bytes, skip, depth, token, nextSame } = this.#trie
    const path = [this.#root]
    const base = depth[top]! - 1
    for (let node = top; node < skip[top]!; node++) {
      const level = depth[node]! - base
      const parent = path[level - 1]!
      const byte = bytes[node]!
      let child = parent.children.get(byte)
      if (child === undefined) {
        child = { byte, children: new Map(), tokens: [], counts: [] }
        parent.children.set(byte, child)
      }
      path[level] = child
      for (let id = token[node]!; id >= 0; id = nextSame[id]!) {
        child.tokens.push(id)
        child.counts.push(count)
      }
    }
  }

  build(withCounts: boolean): SuffixTrie | undefined {
    if (this.#root.children.size === 0) return undefined
    const bytes: number[] = []
    const skip: number[] = []
    const depths: number[] = []
    const starts: number[] = []
    const tokens: number[] = []
    const counts: number[] = []
    const place = (node: SuffixNode, depth: number) => {
      const at = bytes.push(node.byte) - 1
      depths.push(depth)
      starts.push(tokens.length)
      for (const token of node.tokens) tokens.push(token)
      if (withCounts) for (const count of node.counts) counts.push(count)
      skip.push(0)
      for (const child of node.children.values()) place(child, depth + 1)
      skip[at] = bytes.length
    }
    place(this.#root, 0)
    starts.push(tokens.length)
    return {
      bytes: Uint8Array.from(bytes),
      skip: Int32Array.from(skip),
      depth: Uint16Array.from(depths),
      starts: Int32Array.from(starts),
      tokens: Int32Array.from(tokens),
      counts: withCounts ? Int32Array.from(counts) : undefined,
    }
  }
}

interface SuffixNode {
  byte: number
  children: Map<number, SuffixNode>
  tokens: number[]
  counts: number[]
}
