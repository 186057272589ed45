// A grammar made ready for a vocabulary: which tokens may come next, as a mask.
import { GrammarError } from '../../errors/index.ts'
import {
  type Classification,
  type Classifier,
  classifierOf,
  nextState,
  type SuffixTrie,
  setBit,
} from './classify.ts'
import type { Rules } from './expression.ts'
import { type ByteSet, followBytes } from './first_follow.ts'
import { type LocalState, LocalStates } from './local_state.ts'
import { dead, Machine, type Place, type State } from './machine.ts'
import { buildNfa, type NfaRule } from './nfa.ts'
import { type GrammarVocabulary, type TokenTrie, trieOf } from './token_trie.ts'

/** Masks kept for the states seen last. */
const masksMax = 64

/** Trie nodes visited at most, in all, when the grammar is compiled. */
const warmNodesMax = 3_000_000

/** Trie nodes below a place from which on its class is worth sharing. */
const wideNodes = 1000

/** Local states looked at when the grammar is compiled, and the positions they may have in all. */
const warmStatesMax = 4096
const warmPositionsMax = 200_000

/**
 * Compiled once, used by any number of generations at once: `start` gives each its own state.
 * What is learnt about tokens is kept and shared by all of them.
 */
export class CompiledGrammar {
  readonly trie: TokenTrie
  readonly #locals: LocalStates
  readonly #classifier: Classifier
  readonly #follow: ReadonlyMap<NfaRule, ByteSet>
  readonly #units = new Map<NfaRule, boolean>()
  readonly #classes = new Map<LocalState, Classification>()
  readonly #countedClasses = new Map<string, Classification>()
  readonly #masks = new Map<State, Uint32Array>()
  readonly #maskMemory: Uint32Array
  readonly #newMask: Uint32Array
  readonly #spareMask: Uint32Array
  readonly #walkStates: Int32Array
  #machine: Machine

  /** @throws GrammarError when the rules cannot be compiled or match nothing. */
  constructor(rules: Rules, vocabulary: GrammarVocabulary) {
    const nfa = buildNfa(rules)
    this.trie = trieOf(vocabulary)
    this.#classifier = classifierOf(this.trie)
    this.#locals = new LocalStates(nfa)
    this.#follow = followBytes(nfa)
    this.#machine = new Machine(this.#locals)
    const words = (this.trie.vocabularySize + 31) >>> 5
    this.#maskMemory = new Uint32Array(masksMax * words)
    this.#newMask = new Uint32Array(words)
    this.#spareMask = new Uint32Array(words)
    this.#walkStates = new Int32Array(this.trie.depthMax + 2)
    this.#warm()
  }

  /** The state of a new generation. */
  start(): GrammarState {
    const machine = this.machine()
    return new GrammarState(this, machine, machine.start())
  }

  /** The machine for new states: a fresh one when the last has become large. */
  machine(): Machine {
    if (this.#machine.isFull) {
      this.#machine = new Machine(this.#locals)
      this.#masks.clear()
    }
    return this.#machine
  }

  /** The mask of a state, [ceil(vocabulary / 32)]; it stays as it is until 64 others were made. */
  maskOf(machine: Machine, state: State): Uint32Array {
    const known = this.#masks.get(state)
    if (known !== undefined) return known
    // Made apart, so that a grammar that gives up half way spoils no mask that is kept.
    const made = this.#newMask.fill(0)
    for (const [i, place] of state.places.entries()) {
      const { tokens, suffixes } = this.#classOf(machine, place)
      const high = place.local.rule.loop === undefined ? 0 : place.high
      tokens.addTo(made, high, i === 0, this.#spareMask)
      if (suffixes !== undefined) this.#addSuffixes(machine, place, suffixes, made)
    }
    if (state.complete) for (const token of this.trie.endOfGeneration) setBit(made, token)
    const mask = this.#freeMask()
    mask.set(made)
    this.#masks.set(state, mask)
    return mask
  }

  #freeMask(): Uint32Array {
    const { size } = this.#masks
    const words = this.#newMask.length
    if (size < masksMax) return this.#maskMemory.subarray(size * words, (size + 1) * words)
    const [oldest, mask] = this.#masks.entries().next().value!
    this.#masks.delete(oldest)
    return mask
  }

  /** Adds tokens that run past the end of the place's rule and fit what follows there. */
  #addSuffixes(machine: Machine, place: Place, suffixes: SuffixTrie, mask: Uint32Array): void {
    const { bytes, skip, depth, starts, tokens, counts } = suffixes
    const states = this.#walkStates
    states[0] = machine.returned(place.parent!)
    if (states[0] === dead) return
    for (let node = 1; node < bytes.length; ) {
      const state = nextState(machine, states[depth[node]! - 1]!, bytes[node]!)
      if (state === dead) {
        node = skip[node]!
        continue
      }
      states[depth[node]!] = state
      for (let i = starts[node]!; i < starts[node + 1]!; i++) {
        if (counts === undefined || (counts[i]! >= place.low && counts[i]! <= place.high)) {
          setBit(mask, tokens[i]!)
        }
      }
      node++
    }
  }

  #classOf(machine: Machine, place: Place): Classification {
    const { local } = place
    if (local.rule.loop === undefined) return this.#plainClass(machine, local, 0, 0, false)
    if (this.#isUnit(local.rule)) {
      return this.#plainClass(machine, local, 0, Number.POSITIVE_INFINITY, true)
    }
    // A token cannot finish more iterations than it has bytes: beyond that, all counts are alike.
    const most = this.trie.depthMax + 1
    const low = Math.min(place.low, most)
    const high = Math.min(place.high, most)
    const key = `${local.id} ${low} ${high}`
    let known = this.#countedClasses.get(key)
    if (known === undefined) {
      known = this.#classify(machine, local, low, high, false)
      this.#countedClasses.set(key, known)
    }
    return known
  }

  #plainClass(
    machine: Machine,
    local: LocalState,
    low: number,
    high: number,
    countUnits: boolean,
  ): Classification {
    let known = this.#classes.get(local)
    if (known === undefined) {
      known = this.#classify(machine, local, low, high, countUnits)
      this.#classes.set(local, known)
    }
    return known
  }

  #classify(
    machine: Machine,
    local: LocalState,
    low: number,
    high: number,
    countUnits: boolean,
  ): Classification {
    const start = machine.alone(machine.place(local, low, high, machine.bottom))
    const follow = this.#follow.get(local.rule)!
    const named = this.#namedTokens(local)
    const isCounted = local.rule.loop !== undefined && !countUnits
    const isWide = this.trie.nodesBelow(this.#locals.read(local).openBytes) > wideNodes
    const key = isWide && !isCounted ? signature(this.#locals, local, follow) : undefined
    const classify = () => this.#classifier.classify({ machine, start, follow, countUnits, named })
    // Classes of places that read alike are the same for all grammars over a vocabulary.
    return key === undefined
      ? classify()
      : this.trie.shared.take(`${countUnits} ${key}`, classify, sizeOfClass)
  }

  /** Tokens that a grammar lets come by name, or as any but those named. */
  #namedTokens(local: LocalState): number[] {
    const { vocabularySize, endOfGeneration } = this.trie
    const named = new Set<number>()
    for (const { ids, negated } of this.#locals.tokens(local)) {
      if (negated) {
        const excluded = new Set([...ids, ...endOfGeneration])
        for (let id = 0; id < vocabularySize; id++) if (!excluded.has(id)) named.add(id)
      } else {
        for (const id of ids) if (id < vocabularySize) named.add(id)
      }
    }
    return [...named]
  }

  /**
   * Whether the body of a repetition is a unit: it calls nothing, is never empty, and once it may
   * end it must end, so that every text is cut into iterations in one way only.
   */
  #isUnit(rule: NfaRule): boolean {
    let known = this.#units.get(rule)
    if (known === undefined) {
      known = isUnit(this.#locals, rule)
      this.#units.set(rule, known)
    }
    return known
  }

  /** Classifies places before they are met, so that no step is slow. */
  #warm(): void {
    const seen = new Set<LocalState>([this.#locals.start(this.#locals.nfa.start)])
    let spent = 0
    for (const local of seen) {
      if (seen.size > warmStatesMax || this.#locals.work > warmPositionsMax) break
      const { runs, openBytes } = this.#locals.read(local)
      for (const { to } of runs) seen.add(to)
      for (const { rule, back } of this.#locals.calls(local)) {
        seen.add(this.#locals.start(rule)).add(back)
      }
      for (const { to } of this.#locals.tokens(local)) seen.add(to)
      if (!local.hasInput || spent > warmNodesMax) continue
      spent += this.trie.nodesBelow(openBytes)
      const low = local.rule.loop?.min ?? 0
      const high = local.rule.loop?.max ?? 0
      this.#classOf(this.#machine, this.#machine.place(local, low, high, this.#machine.bottom))
    }
  }
}

function sizeOfClass({ tokens, suffixes }: Classification): number {
  return tokens.byteLength + 8 * ((suffixes?.tokens.length ?? 0) + (suffixes?.bytes.length ?? 0))
}

/** Most states of a part that is compared with those of other grammars. */
const signatureStatesMax = 64

/**
 * All that decides about tokens at a place whose rule calls nothing: the states that can be reached
 * and what may follow. Undefined for other places.
 */
function signature(locals: LocalStates, start: LocalState, follow: ByteSet): string | undefined {
  const numbers = new Map([[start, 0]])
  let text = follow.join('')
  if (start.rule.loop !== undefined) {
    const again = locals.start(start.rule)
    if (again !== start) numbers.set(again, 1)
    text += `loop ${numbers.get(again)}`
  }
  for (const local of numbers.keys()) {
    if (locals.calls(local).length > 0 || locals.tokens(local).length > 0) return undefined
    text += local.final ? ';!' : ';'
    for (const { first, last, to } of locals.read(local).runs) {
      if (!numbers.has(to)) numbers.set(to, numbers.size)
      text += `${first}-${last}>${numbers.get(to)} `
    }
    if (numbers.size > signatureStatesMax) return undefined
  }
  return text
}

function isUnit(locals: LocalStates, rule: NfaRule): boolean {
  const seen = new Set([locals.start(rule)])
  for (const local of seen) {
    if (local.final && !local.endOnly) return false
    if (locals.calls(local).length > 0 || locals.tokens(local).length > 0) return false
    for (const { to } of locals.read(local).runs) seen.add(to)
    if (seen.size > 256) return false
  }
  return !locals.start(rule).final
}

/** Where a generation stands in its grammar. */
export class GrammarState {
  readonly #grammar: CompiledGrammar
  #machine: Machine
  #state: number
  #finished = false

  constructor(grammar: CompiledGrammar, machine: Machine, state: number) {
    this.#grammar = grammar
    this.#machine = machine
    this.#state = state
  }

  /** Whether the text may end here. */
  get isComplete(): boolean {
    return this.#machine.states[this.#state]!.complete
  }

  /** Whether an end-of-generation token was accepted. */
  get isFinished(): boolean {
    return this.#finished
  }

  /**
   * The tokens that may come next, [ceil(vocabulary / 32)]: bit i & 31 of word i >> 5 is token i.
   * The array is reused: read it before the next call, and do not write to it.
   *
   * @throws GrammarError when the grammar is too ambiguous to go on.
   */
  mask(): Uint32Array {
    const { trie } = this.#grammar
    if (this.#finished) return new Uint32Array((trie.vocabularySize + 31) >>> 5)
    return this.#grammar.maskOf(this.#machine, this.#machine.states[this.#state]!)
  }

  /** Whether a token may come next. */
  allows(token: number): boolean {
    return this.#next(token) !== dead
  }

  /**
   * Goes on by a token.
   *
   * @throws GrammarError when the token does not fit; the state stays as it was.
   */
  accept(token: number): void {
    const next = this.#next(token)
    if (next === dead) {
      throw new GrammarError('token', '', `the token ${token} does not fit the grammar here`)
    }
    if (this.isComplete && this.#endsGeneration(token)) this.#finished = true
    else this.#moveTo(next)
  }

  /** Goes on by text that did not come as tokens; false, and no change, when it does not fit. */
  acceptBytes(bytes: Uint8Array): boolean {
    const next = this.#finished ? dead : this.#walk(bytes)
    if (next !== dead) this.#moveTo(next)
    return next !== dead
  }

  /** A state that goes on independently. */
  clone(): GrammarState {
    const copy = new GrammarState(this.#grammar, this.#machine, this.#state)
    copy.#finished = this.#finished
    return copy
  }

  #moveTo(state: number): void {
    this.#state = state
    if (!this.#machine.isFull) return
    const old = this.#machine
    this.#machine = this.#grammar.machine()
    this.#state = this.#machine.adopt(old.states[state]!)
  }

  #endsGeneration(token: number): boolean {
    return this.#grammar.trie.endOfGeneration.includes(token)
  }

  #next(token: number): number {
    const { trie } = this.#grammar
    if (!Number.isInteger(token) || token < 0 || token >= trie.vocabularySize) {
      throw new RangeError(`token must be in [0, ${trie.vocabularySize}), got ${token}`)
    }
    if (this.#finished) return dead
    if (this.isComplete && this.#endsGeneration(token)) return this.#state
    const bytes = trie.bytesOf(token)
    const byBytes = bytes.length === 0 ? dead : this.#walk(bytes)
    return this.#machine.union(byBytes, this.#machine.stepToken(this.#state, token))
  }

  #walk(bytes: Uint8Array): number {
    let state = this.#state
    for (let i = 0; i < bytes.length && state !== dead; i++) {
      state = this.#machine.step(state, bytes[i]!)
    }
    return state
  }
}
