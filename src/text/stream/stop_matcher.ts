// Stop strings in a text that arrives in parts.

export interface StopResult {
  /** Text that is certain not to be part of a stop string. */
  text: string
  /** The stop string that was found; the text ends in front of it. */
  stop: string | undefined
}

/** A state of the automaton: a prefix of one or more stop strings. */
interface State {
  /** Length of the prefix. */
  depth: number
  next: Map<number, State>
  /** The longest proper suffix of the prefix that is a prefix too. */
  fail: State | undefined
  /** The longest stop string that the prefix ends with. */
  stop: string | undefined
}

/**
 * Passes text on and stops it in front of the first stop string. It holds back as little as
 * possible: exactly the longest end of the text so far that could become a stop string. The first
 * to be complete wins, the longest where two end together; the way in which the text is cut into
 * parts never matters.
 *
 * Aho, Corasick (1975), "Efficient string matching": one step per UTF-16 code unit.
 *
 * @throws TypeError for a stop string that is no string; RangeError for the empty string, which
 *   would end every text before it began.
 * @example
 * const matcher = new StopMatcher(['\nUser:'])
 * matcher.push('Hello\nUs') // { text: 'Hello', stop: undefined }
 * matcher.push('er: hi')    // { text: '', stop: '\nUser:' }
 */
export class StopMatcher {
  readonly #root: State
  #state: State
  #held = ''
  #stop: string | undefined

  constructor(stops: readonly string[]) {
    this.#root = automaton(stops)
    this.#state = this.#root
  }

  /** What is held back now: the start of a stop string, perhaps. */
  get held(): string {
    return this.#held
  }

  /** Takes the next text. After a stop string was found nothing follows. */
  push(text: string): StopResult {
    if (this.#stop !== undefined) return { text: '', stop: this.#stop }
    const root = this.#root
    let state = this.#state
    const all = this.#held + text
    for (let i = this.#held.length; i < all.length; i++) {
      const unit = all.charCodeAt(i)
      while (state !== root && !state.next.has(unit)) state = state.fail!
      state = state.next.get(unit) ?? root
      if (state.stop === undefined) continue
      this.#stop = state.stop
      this.#held = ''
      return { text: all.slice(0, i + 1 - state.stop.length), stop: state.stop }
    }
    this.#state = state
    const certain = all.length - state.depth
    this.#held = all.slice(certain)
    return { text: all.slice(0, certain), stop: undefined }
  }

  /** Ends the text: returns what was held back, which is no stop string now. */
  flush(): string {
    const text = this.#held
    this.#held = ''
    this.#state = this.#root
    return text
  }
}

function automaton(stops: readonly string[]): State {
  const newState = (depth: number): State => ({
    depth,
    next: new Map(),
    fail: undefined,
    stop: undefined,
  })
  const root = newState(0)
  stops.forEach((stop, index) => {
    if (typeof stop !== 'string') throw new TypeError(`stop string ${index} is a ${typeof stop}`)
    if (stop === '') throw new RangeError(`stop string ${index} is empty`)
    let state = root
    for (let i = 0; i < stop.length; i++) {
      const unit = stop.charCodeAt(i)
      let next = state.next.get(unit)
      if (!next) {
        next = newState(i + 1)
        state.next.set(unit, next)
      }
      state = next
    }
    state.stop = stop
  })
  const queue = [root]
  for (const state of queue) {
    for (const [unit, next] of state.next) {
      let fail = state.fail
      while (fail && !fail.next.has(unit)) fail = fail.fail
      next.fail = fail?.next.get(unit) ?? root
      next.stop ??= next.fail.stop
      queue.push(next)
    }
  }
  return root
}
