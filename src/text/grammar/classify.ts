// Which tokens fit at a place, as far as its own rule decides: computed once, used under every stack.
//
// The idea is published for XGrammar (Dong et al., "XGrammar: Flexible and Efficient Structured
// Generation Engine for Large Language Models", 2024): most tokens are accepted or refused without
// knowing where the rule returns to. Only tokens that run past the end of the rule depend on it;
// what they have left behind the end is kept in a small trie, which is walked where the place lies.
import type { ByteSet } from './first_follow.ts'
import type { Machine, State } from './machine.ts'
import type { TokenTrie } from './token_trie.ts'

/** The tokens of a place. */
export interface Classification {
  /** Tokens that fit whatever follows the rule: a list, or a mask when they are many. */
  readonly tokens: Int32Array | undefined
  readonly mask: Uint32Array | undefined
  /** In a counted repetition of units: which of them need how many units. */
  readonly units: UnitCounts | undefined
  /** What tokens that run past the end of the rule have left there; undefined when there are none. */
  readonly suffixes: SuffixTrie | undefined
}

/** How many units of a repetition tokens need, begun ones included. */
export class UnitCounts {
  /** The most that a token needs. */
  readonly max: number
  /** `tokens` in order of need; those that need at most n end at `ends[n]`. */
  readonly #tokens: Int32Array
  readonly #ends: Int32Array

  constructor(tokens: readonly number[], needs: readonly number[]) {
    this.max = needs.reduce((max, need) => Math.max(max, need), 0)
    this.#ends = new Int32Array(this.max + 2)
    for (const need of needs) this.#ends[need + 1]!++
    for (let need = 0; need <= this.max; need++) this.#ends[need + 1]! += this.#ends[need]!
    this.#tokens = new Int32Array(tokens.length)
    for (const [i, token] of tokens.entries()) this.#tokens[this.#ends[needs[i]!]!++] = token
  }

  /** Turns the mask of all tokens into that of those which need at most `high` units. */
  limit(mask: Uint32Array, high: number): void {
    if (high >= this.max) return
    const end = this.#ends[high]!
    const total = this.#tokens.length
    if (end < total - end) {
      mask.fill(0)
      for (let i = 0; i < end; i++) setBit(mask, this.#tokens[i]!)
    } else {
      for (let i = end; i < total; i++) clearBit(mask, this.#tokens[i]!)
    }
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

/** From how many tokens on a mask is smaller to apply than a list. */
const listMax = 1024

/**
 * Walks all tokens from `start`, a state over the bottom.
 *
 * `follow` are the bytes that can come after the rule. With `countUnits`, the rule is the body of a
 * counted repetition whose iterations are unmistakable, and `start` is without limits. `named` are
 * tokens that fit as such, whatever their bytes.
 */
export function classify(
  machine: Machine,
  trie: TokenTrie,
  start: State,
  follow: ByteSet,
  countUnits: boolean,
  named: readonly number[],
): Classification {
  const walk = new Walk(machine, trie, follow, countUnits)
  walk.run(start)
  for (const token of named) walk.tokens.push(token)
  const { tokens, needs } = walk
  const isLong = tokens.length > listMax || countUnits
  let mask: Uint32Array | undefined
  if (isLong) {
    mask = new Uint32Array((trie.vocabularySize + 31) >>> 5)
    for (const token of tokens) setBit(mask, token)
  }
  return {
    tokens: isLong ? undefined : Int32Array.from(tokens),
    mask,
    units: countUnits ? new UnitCounts(tokens, needs) : undefined,
    suffixes: walk.suffixes.build(countUnits),
  }
}

class Walk {
  readonly tokens: number[] = []
  readonly needs: number[] = []
  readonly suffixes: SuffixBuilder
  readonly #machine: Machine
  readonly #trie: TokenTrie
  readonly #follow: ByteSet
  readonly #countUnits: boolean

  constructor(machine: Machine, trie: TokenTrie, follow: ByteSet, countUnits: boolean) {
    this.#machine = machine
    this.#trie = trie
    this.#follow = follow
    this.#countUnits = countUnits
    this.suffixes = new SuffixBuilder(trie)
  }

  run(start: State): void {
    const { bytes, skip, depth, token, nodeCount, depthMax } = this.#trie
    const machine = this.#machine
    const states: State[] = new Array(depthMax + 1).fill(start)
    const counts = new Int32Array(depthMax + 1)
    for (let node = 1; node < nodeCount; ) {
      const level = depth[node]!
      const before = states[level - 1]!
      const state = before.row[bytes[node]!] ?? machine.step(before, bytes[node]!)
      if (state === null) {
        node = skip[node]!
        continue
      }
      const count = counts[level - 1]! + (state.complete ? 1 : 0)
      states[level] = state
      counts[level] = count
      if (token[node]! >= 0) this.#accept(token[node]!, state.complete ? count : count + 1)
      if (state.complete) this.#leave(node, count)
      node = state.places.length === 0 ? skip[node]! : node + 1
    }
  }

  #accept(first: number, need: number): void {
    for (let token = first; token >= 0; token = this.#trie.nextSame[token]!) {
      this.tokens.push(token)
      if (this.#countUnits) this.needs.push(need)
    }
  }

  /** Keeps what lies behind a node where the rule may end. */
  #leave(node: number, count: number): void {
    const { bytes, skip } = this.#trie
    for (let child = node + 1; child < skip[node]!; child = skip[child]!) {
      if (this.#follow[bytes[child]!] === 1) this.suffixes.add(child, count)
    }
  }
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
