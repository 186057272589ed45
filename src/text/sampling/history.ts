// The tokens that came last, for samplers that punish repetition.

/** A ring of the last `capacity` tokens, with a count of each. */
export class TokenHistory {
  readonly #ring: Int32Array
  readonly #counts = new Map<number, number>()
  #next = 0
  #size = 0

  constructor(capacity: number) {
    this.#ring = new Int32Array(capacity)
  }

  /** How many tokens are remembered. */
  get size(): number {
    return this.#size
  }

  /** How often each remembered token occurs. */
  get counts(): ReadonlyMap<number, number> {
    return this.#counts
  }

  /** The token `back` places before the end; 0 is the last. */
  fromEnd(back: number): number {
    const at = this.#next - 1 - back
    return this.#ring[at < 0 ? at + this.#ring.length : at]!
  }

  push(token: number): void {
    const capacity = this.#ring.length
    if (capacity === 0) return
    if (this.#size === capacity) this.#forget(this.#ring[this.#next]!)
    else this.#size++
    this.#ring[this.#next] = token
    this.#counts.set(token, (this.#counts.get(token) ?? 0) + 1)
    this.#next = this.#next + 1 === capacity ? 0 : this.#next + 1
  }

  clear(): void {
    this.#counts.clear()
    this.#next = 0
    this.#size = 0
  }

  #forget(token: number): void {
    const count = this.#counts.get(token)!
    if (count === 1) this.#counts.delete(token)
    else this.#counts.set(token, count - 1)
  }
}
