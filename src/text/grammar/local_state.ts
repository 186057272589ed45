// Rules made deterministic, as far as one rule goes: sets of positions with a table of bytes.
import { GrammarError } from '../../errors/index.ts'
import type { Nfa, NfaRule } from './nfa.ts'

/** Most local states of a grammar; subset construction can be exponential. */
const localStateMax = 1 << 16

/** Most positions that closing sets of positions may take, in all. */
const workMax = 1 << 24

/** A set of positions of one rule, closed under empty moves, made once for each set. */
export interface LocalState {
  readonly id: number
  readonly rule: NfaRule
  readonly positions: readonly number[]
  /** Whether the rule may end here. */
  readonly final: boolean
  /** Whether bytes or tokens may follow within the rule. */
  readonly hasInput: boolean
  /** Whether the rule can only end here. */
  readonly endOnly: boolean
  /** What `LocalStates` made on demand. */
  reading: LocalReading | undefined
  calls: readonly LocalCall[] | undefined
  tokens: readonly LocalTokens[] | undefined
}

/** The next state by byte; null when there is none. */
export type LocalRow = readonly (LocalState | null)[]

/** What a state reads, in three forms. */
export interface LocalReading {
  row: LocalRow
  /** The bytes that have something in the row. */
  openBytes: Uint8Array
  /** Runs of bytes that lead to the same state. */
  runs: readonly { first: number; last: number; to: LocalState }[]
}

/** A call of a rule, and the state to return to. */
export interface LocalCall {
  rule: NfaRule
  back: LocalState
}

/** Tokens, or all other tokens, that lead to a state. */
export interface LocalTokens {
  ids: readonly number[]
  negated: boolean
  to: LocalState
}

/** Makes local states of a grammar on demand. */
export class LocalStates {
  readonly nfa: Nfa
  /** By the positions of the state, and by those from which it was closed. */
  readonly #known = new Map<string, LocalState>()
  readonly #closed = new Map<string, LocalState>()
  readonly #starts = new Map<NfaRule, LocalState>()
  #count = 0
  #work = 0

  constructor(nfa: Nfa) {
    this.nfa = nfa
  }

  /** How many positions all states made so far took. */
  get work(): number {
    return this.#work
  }

  /** The state in which a rule begins. */
  start(rule: NfaRule): LocalState {
    let state = this.#starts.get(rule)
    if (state === undefined) {
      state = this.#intern(rule, [rule.start])
      this.#starts.set(rule, state)
    }
    return state
  }

  /** The next states by byte. */
  row(state: LocalState): LocalRow {
    return this.read(state).row
  }

  read(state: LocalState): LocalReading {
    state.reading ??= this.#makeReading(state)
    return state.reading
  }

  /** The calls to make in a state, each rule once: returns from several places are joined. */
  calls(state: LocalState): readonly LocalCall[] {
    state.calls ??= this.#makeCalls(state)
    return state.calls
  }

  tokens(state: LocalState): readonly LocalTokens[] {
    state.tokens ??= state.positions.flatMap((at) =>
      this.nfa.positions[at]!.tokens.map(({ ids, negated, to }) => ({
        ids,
        negated,
        to: this.#intern(state.rule, [to]),
      })),
    )
    return state.tokens
  }

  /**
   * Sweeps the bytes once: at each byte where an edge begins or ends, the set of targets changes.
   */
  #makeReading(state: LocalState): LocalReading {
    const edges = state.positions.flatMap((at) => this.nfa.positions[at]!.bytes)
    const row = new Array<LocalState | null>(256).fill(null)
    const runs: LocalReading['runs'][number][] = []
    const open: number[] = []
    const borders = new Set<number>()
    for (const { first, last } of edges) borders.add(first).add(last + 1)
    const sorted = [...borders].sort((a, b) => a - b)
    for (let i = 0; i + 1 < sorted.length; i++) {
      const first = sorted[i]!
      const last = sorted[i + 1]! - 1
      const targets: number[] = []
      for (const edge of edges) if (edge.first <= first && first <= edge.last) targets.push(edge.to)
      if (targets.length === 0) continue
      const to = this.#intern(state.rule, targets)
      runs.push({ first, last, to })
      row.fill(to, first, last + 1)
      for (let byte = first; byte <= last; byte++) open.push(byte)
    }
    return { row, openBytes: Uint8Array.from(open), runs }
  }

  #intern(rule: NfaRule, from: readonly number[]): LocalState {
    const fromKey = from.join()
    const before = this.#closed.get(fromKey)
    if (before !== undefined) return before
    const positions = this.#close(from).filter((at) => at === rule.end || this.#hasEdges(at))
    this.#work += positions.length
    if (this.#work > workMax) {
      throw new GrammarError(rule.name, '', 'the rule is too ambiguous to be made deterministic')
    }
    const key = positions.join()
    const state = this.#known.get(key) ?? this.#make(rule, positions, key)
    this.#closed.set(fromKey, state)
    return state
  }

  #make(rule: NfaRule, positions: readonly number[], key: string): LocalState {
    if (this.#count >= localStateMax) {
      throw new GrammarError(rule.name, '', `the rule needs more than ${localStateMax} states`)
    }
    const places = positions.map((at) => this.nfa.positions[at]!)
    const final = positions.includes(rule.end)
    const hasInput = places.some(({ bytes, tokens }) => bytes.length + tokens.length > 0)
    const hasCalls = places.some(({ calls }) => calls.length > 0)
    const state: LocalState = {
      id: this.#count++,
      rule,
      positions,
      final,
      hasInput,
      endOnly: final && !hasInput && !hasCalls,
      reading: undefined,
      calls: undefined,
      tokens: undefined,
    }
    this.#known.set(key, state)
    return state
  }

  #makeCalls(state: LocalState): LocalCall[] {
    const targets = new Map<NfaRule, number[]>()
    for (const at of state.positions) {
      for (const { rule, to } of this.nfa.positions[at]!.calls) {
        const list = targets.get(rule)
        if (list === undefined) targets.set(rule, [to])
        else list.push(to)
      }
    }
    return [...targets].map(([rule, to]) => ({ rule, back: this.#intern(state.rule, to) }))
  }

  /** Whether a position does more than lead to others: only such positions tell states apart. */
  #hasEdges(at: number): boolean {
    const { bytes, calls, tokens } = this.nfa.positions[at]!
    return bytes.length + calls.length + tokens.length > 0
  }

  /** All positions reachable without input, through empty edges and past nullable rules, sorted. */
  #close(from: readonly number[]): number[] {
    const seen = new Set(from)
    for (const at of seen) {
      const position = this.nfa.positions[at]!
      for (const to of position.empty) seen.add(to)
      for (const { rule, to } of position.calls) if (rule.nullable) seen.add(to)
    }
    return [...seen].sort((a, b) => a - b)
  }
}
