// The automaton that reads bytes: sets of stacks of local states, deterministic and made on demand.
import { GrammarError } from '../../errors/index.ts'
import type { LocalState, LocalStates } from './local_state.ts'
import type { NfaRule } from './nfa.ts'

/** Most places at once; more only an extremely ambiguous grammar needs. */
const placesMax = 4096

/** Places and states made before the next start begins with fresh memory. */
const nodesMax = 200_000

/**
 * A local state on top of a stack, made once for each stack below. In a counted repetition `low` and
 * `high` are how many more times its body, counting the one at hand, must and may come.
 */
export class Place {
  readonly local: LocalState
  readonly low: number
  readonly high: number
  /** Where to go on when the rule ends; undefined only in the bottom. */
  readonly parent: Place | undefined
  readonly id: number
  readonly above = new Map<number | string, Place>()
  /** The state after the rule above has ended. */
  returned: State | undefined
  /** In which search the place was seen, and whether its end was followed then. */
  seenIn = 0
  leftIn = 0

  constructor(local: LocalState, low: number, high: number, parent: Place | undefined, id: number) {
    this.local = local
    this.low = low
    this.high = high
    this.parent = parent
    this.id = id
  }
}

const emptyRow: undefined[] = []

/** All places where the text so far may have led; made once for each set. */
export class State {
  /** Places that read bytes or tokens, by ascending id. */
  readonly places: readonly Place[]
  /** Whether the text may end: the bottom was reached. */
  readonly complete: boolean
  /** The next state by byte; null when the byte does not fit, undefined when not known yet. */
  row: (State | null | undefined)[] = emptyRow

  constructor(places: readonly Place[], complete: boolean) {
    this.places = places
    this.complete = complete
  }
}

/** Makes states on demand. */
export class Machine {
  readonly locals: LocalStates
  readonly #states = new Map<string, State>()
  /** Below everything: rules that end here end the text, or the part that is looked at. */
  readonly bottom: Place
  #nextId = 0
  #search = 0
  readonly #queue: Place[] = []
  readonly #queueLeaves: boolean[] = []

  constructor(locals: LocalStates) {
    this.locals = locals
    this.bottom = new Place(locals.start(locals.nfa.start), 0, 0, undefined, this.#nextId++)
  }

  /** Whether so much was made that a fresh machine is better. */
  get isFull(): boolean {
    return this.#nextId + this.#states.size > nodesMax
  }

  /** The state before any text. */
  start(): State {
    const { start } = this.locals.nfa
    const place = this.place(this.locals.start(start), 0, 0, this.bottom)
    this.#enqueue(place, true)
    return this.#close(start.nullable) ?? new State([], false)
  }

  /** The place of a local state on a stack. */
  place(local: LocalState, low: number, high: number, parent: Place): Place {
    const key = local.rule.loop === undefined ? local.id : `${local.id} ${low} ${high}`
    let place = parent.above.get(key)
    if (place === undefined) {
      place = new Place(local, low, high, parent, this.#nextId++)
      parent.above.set(key, place)
    }
    return place
  }

  /** The state of a place alone: without what it calls, and without what follows its rule. */
  alone(place: Place): State {
    return this.#intern([place], false)
  }

  /** The state after the rule above `place` has ended. */
  returned(place: Place): State {
    if (place.returned === undefined) {
      if (place !== this.bottom) this.#enqueue(place, true)
      place.returned = this.#close(place === this.bottom) ?? new State([], false)
    }
    return place.returned
  }

  /** The state after a byte, or null when the byte does not fit. */
  step(state: State, byte: number): State | null {
    const known = state.row[byte]
    if (known !== undefined) return known
    for (const place of state.places) {
      const next = this.locals.row(place.local)[byte]
      if (next) this.#enqueue(this.place(next, place.low, place.high, place.parent!), true)
    }
    const made = this.#close(false) ?? null
    if (state.row === emptyRow) state.row = new Array(256).fill(undefined)
    state.row[byte] = made
    return made
  }

  /** The state after a token that the grammar names or excludes, or null when it does neither. */
  stepToken(state: State, token: number): State | null {
    for (const place of state.places) {
      for (const { ids, negated, to } of this.locals.tokens(place.local)) {
        if (ids.includes(token) === negated) continue
        this.#enqueue(this.place(to, place.low, place.high, place.parent!), true)
      }
    }
    return this.#close(false) ?? null
  }

  /** The state that is at any place of both. */
  union(a: State | null, b: State | null): State | null {
    if (a === null || b === null || a === b) return a ?? b
    const places = new Set([...a.places, ...b.places])
    return this.#intern([...places], a.complete || b.complete)
  }

  #enqueue(place: Place, leaves: boolean): void {
    this.#queue.push(place)
    this.#queueLeaves.push(leaves)
  }

  /**
   * Follows calls and ends of rules from the queued places until only places with input are left.
   * `leaves` says whether the end of a place's rule counts: not where it has just been entered, since
   * callers go past nullable rules themselves. Undefined when nothing is left and nothing ended.
   */
  #close(complete: boolean): State | undefined {
    const search = ++this.#search
    const found: Place[] = []
    let ended = complete
    let steps = 0
    for (let place = this.#queue.pop(); place !== undefined; place = this.#queue.pop()) {
      const leaves = this.#queueLeaves.pop()!
      if (++steps > 16 * placesMax || found.length > placesMax) this.#giveUp()
      if (place.seenIn !== search) {
        place.seenIn = search
        if (place.local.hasInput) found.push(place)
        for (const { rule, back } of this.locals.calls(place.local)) this.#enter(rule, back, place)
      }
      if (leaves && place.local.final && place.leftIn !== search) {
        place.leftIn = search
        if (this.#leave(place)) ended = true
      }
    }
    return found.length === 0 && !ended ? undefined : this.#intern(found, ended)
  }

  /** Begins a rule. A call in last position needs no place to return to. */
  #enter(rule: NfaRule, back: LocalState, from: Place): void {
    const last = back.endOnly && from.local.rule.loop === undefined
    const parent = last ? from.parent! : this.place(back, from.low, from.high, from.parent!)
    const { loop } = rule
    const start = this.locals.start(rule)
    this.#enqueue(this.place(start, loop?.min ?? 0, loop?.max ?? 0, parent), false)
  }

  /** Ends the rule of a place; true when that ends the text. */
  #leave(place: Place): boolean {
    const { rule } = place.local
    const parent = place.parent!
    if (rule.loop !== undefined) {
      const low = Math.max(0, place.low - 1)
      const high = place.high - 1
      if (high > 0) this.#enqueue(this.place(this.locals.start(rule), low, high, parent), false)
      if (low > 0) return false
    }
    if (parent === this.bottom) return true
    this.#enqueue(parent, true)
    return false
  }

  #intern(places: Place[], complete: boolean): State {
    places.sort((a, b) => a.id - b.id)
    let key = complete ? '!' : ''
    for (const place of places) key += `${place.id},`
    let state = this.#states.get(key)
    if (state === undefined) {
      state = new State(places, complete)
      this.#states.set(key, state)
    }
    return state
  }

  #giveUp(): never {
    this.#queue.length = 0
    this.#queueLeaves.length = 0
    throw new GrammarError('grammar', '', `ambiguous: more than ${placesMax} ways to read the text`)
  }
}
