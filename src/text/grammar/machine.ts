// The automaton that reads bytes: sets of stacks of local states, deterministic and made on demand.
import { GrammarError } from '../../errors/index.ts'
import { InternTable, mix } from './intern.ts'
import type { LocalState, LocalStates } from './local_state.ts'
import type { NfaRule } from './nfa.ts'

/** Most places at once; more only an extremely ambiguous grammar needs. */
const placesMax = 4096

/** States of a machine, with 1 KiB of memory each, before a fresh one takes over. */
const statesMax = 1 << 14

/** Places of a machine before a fresh one takes over. */
const placesMadeMax = 1 << 17

/**
 * A local state on top of a stack, made once for each stack below. In a counted repetition `low`
 * and `high` are how many more times its body, counting the one at hand, must and may come.
 */
export class Place {
  readonly local: LocalState
  readonly low: number
  readonly high: number
  /** Where to go on when the rule ends; undefined only in the bottom. */
  readonly parent: Place | undefined
  readonly id: number
  /** The states of the place alone, and after the rule above it has ended; 0 when not made yet. */
  alone = 0
  returned = 0
  /** In which search the place was seen, and in which its end was followed. */
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

/** All places where the text so far may have led; made once for each set. */
export interface State {
  readonly id: number
  /** Places that read bytes or tokens, by ascending id. */
  readonly places: readonly Place[]
  /** Whether the text may end: the bottom was reached. */
  readonly complete: boolean
}

/** No state: the input does not fit. */
export const dead = -1

/** The text may end in the state. */
export const completeFlag = 1
/** The state has places: the text may go on. */
export const openFlag = 2

/** Makes states on demand. They are numbers from 1 on; `states` tells what they stand for. */
export class Machine {
  readonly locals: LocalStates
  readonly states: State[] = [{ id: 0, places: [], complete: false }]
  /** The state after a byte at [256 * state + byte]: 0 is not known yet. Replaced when it grows. */
  rows = new Int32Array(256 * 256)
  /** By state: `completeFlag` and `openFlag`. Replaced when it grows. */
  flags = new Uint8Array(256)
  /** Below everything: rules that end here end the text, or the part that is looked at. */
  readonly bottom: Place
  readonly #places = new InternTable<Place>()
  readonly #known = new InternTable<State>()
  #placesMade = 0
  #search = 0
  readonly #queue: Place[] = []
  readonly #queueLeaves: boolean[] = []

  constructor(locals: LocalStates) {
    this.locals = locals
    this.bottom = new Place(locals.start(locals.nfa.start), 0, 0, undefined, this.#placesMade++)
  }

  /** Whether so much was made that a fresh machine is better. */
  get isFull(): boolean {
    return this.states.length > statesMax || this.#placesMade > placesMadeMax
  }

  /** The state before any text. */
  start(): number {
    const { start } = this.locals.nfa
    this.#begin()
    this.#enqueue(this.place(this.locals.start(start), 0, 0, this.bottom), false)
    const state = this.#close(start.nullable)
    return state === dead ? this.#intern([], false) : state
  }

  /** The place of a local state on a stack. */
  place(local: LocalState, low: number, high: number, parent: Place): Place {
    const counts = local.rule.loop === undefined ? 0 : mix(low, Math.min(high, 0x7fffffff))
    const hash = mix(mix(parent.id, local.id), counts)
    const known = this.#places.find(
      hash,
      (place) =>
        place.parent === parent &&
        place.local === local &&
        place.low === low &&
        place.high === high,
    )
    if (known !== undefined) return known
    const made = new Place(local, low, high, parent, this.#placesMade++)
    this.#places.add(hash, made)
    return made
  }

  /** The state of a place alone: without what it calls, and without what follows its rule. */
  alone(place: Place): number {
    return this.#intern([place], false)
  }

  /** The state after the rule above `place` has ended. */
  returned(place: Place): number {
    if (place.returned === 0) {
      this.#begin()
      if (place !== this.bottom) this.#enqueue(place, true)
      place.returned = this.#close(place === this.bottom)
    }
    return place.returned
  }

  /** The state after a byte, or `dead`. */
  step(state: number, byte: number): number {
    const known = this.rows[256 * state + byte]!
    if (known !== 0) return known
    this.#begin()
    for (const place of this.states[state]!.places) {
      const next = this.locals.row(place.local)[byte]
      if (next) this.#enqueue(this.place(next, place.low, place.high, place.parent!), true)
    }
    const made = this.#close(false)
    this.rows[256 * state + byte] = made
    return made
  }

  /** The state after a token that the grammar names or excludes, or `dead` when it does neither. */
  stepToken(state: number, token: number): number {
    this.#begin()
    for (const place of this.states[state]!.places) {
      for (const { ids, negated, to } of this.locals.tokens(place.local)) {
        if (ids.includes(token) === negated) continue
        this.#enqueue(this.place(to, place.low, place.high, place.parent!), true)
      }
    }
    return this.#close(false)
  }

  /** The state that is at any place of both; either may be `dead`. */
  union(a: number, b: number): number {
    if (a === dead || b === dead || a === b) return Math.max(a, b)
    const [one, other] = [this.states[a]!, this.states[b]!]
    const places = new Set([...one.places, ...other.places])
    return this.#intern([...places], one.complete || other.complete)
  }

  /** The same state as that of another machine over the same locals. */
  adopt({ places, complete }: State): number {
    return this.#intern(
      places.map((place) => this.#adoptPlace(place)),
      complete,
    )
  }

  #adoptPlace(place: Place): Place {
    const stack: Place[] = []
    for (let at = place; at.parent !== undefined; at = at.parent) stack.push(at)
    let own = this.bottom
    for (const { local, low, high } of stack.reverse()) own = this.place(local, low, high, own)
    return own
  }

  /** Forgets what is queued still when the last search gave up. */
  #begin(): void {
    this.#queue.length = 0
    this.#queueLeaves.length = 0
  }

  #enqueue(place: Place, leaves: boolean): void {
    this.#queue.push(place)
    this.#queueLeaves.push(leaves)
  }

  /**
   * The state of the queued places and of those they lead to without input; `dead` when no place
   * has input and nothing ended. `complete` says that the text may end anyway.
   */
  #close(complete: boolean): number {
    const found: Place[] = []
    const ended = this.#follow(found) || complete
    return found.length === 0 && !ended ? dead : this.#intern(found, ended)
  }

  /**
   * Follows calls and ends of rules from the queued places until only places with input are left;
   * true when the text may end. A queued place's end counts only where `leaves` says so: not where
   * its rule has just been entered, since callers go past nullable rules themselves.
   */
  #follow(found: Place[]): boolean {
    const search = ++this.#search
    let ended = false
    let steps = 0
    for (let place = this.#queue.pop(); place !== undefined; place = this.#queue.pop()) {
      const leaves = this.#queueLeaves.pop()!
      if (++steps > 16 * placesMax || found.length > placesMax) {
        const problem = `ambiguous: more than ${placesMax} ways to read the text`
        throw new GrammarError('grammar', '', problem)
      }
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
    return ended
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

  #intern(places: Place[], complete: boolean): number {
    const only = places.length === 1 && !complete ? places[0]! : undefined
    if (only !== undefined) {
      if (only.alone === 0) only.alone = this.#newState(places, complete)
      return only.alone
    }
    places.sort((a, b) => a.id - b.id)
    let hash = complete ? 1 : 0
    for (const place of places) hash = mix(hash, place.id)
    const known = this.#known.find(
      hash,
      (state) => state.complete === complete && sameItems(state.places, places),
    )
    if (known !== undefined) return known.id
    const made = this.#newState(places, complete)
    this.#known.add(hash, this.states[made]!)
    return made
  }

  #newState(places: readonly Place[], complete: boolean): number {
    const id = this.states.length
    this.states.push({ id, places, complete })
    this.#beginRow(id)
    return id
  }

  /** Marks the bytes that no place reads. */
  #beginRow(state: number): void {
    const start = 256 * state
    if (start === this.rows.length) {
      const grown = new Int32Array(2 * start)
      grown.set(this.rows)
      this.rows = grown
      const grownFlags = new Uint8Array(2 * state)
      grownFlags.set(this.flags)
      this.flags = grownFlags
    }
    const { places, complete } = this.states[state]!
    this.flags[state] = (complete ? completeFlag : 0) | (places.length > 0 ? openFlag : 0)
    const { rows } = this
    rows.fill(dead, start, start + 256)
    for (const { local } of places) {
      const { openBytes } = this.locals.read(local)
      for (let i = 0; i < openBytes.length; i++) rows[start + openBytes[i]!] = 0
    }
  }
}

function sameItems(a: readonly Place[], b: readonly Place[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
