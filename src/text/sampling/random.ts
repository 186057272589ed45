// The seeded random numbers of sampling: the Mersenne Twister MT19937.
//
// Source: Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform
// pseudorandom number generator", ACM TOMACS 8(1), 1998, and their 2002 initialisation.

const wordCount = 624
const shiftCount = 397

/** Largest seed: 64 bits, as many as other programs can store. */
export const seedMax = 0xffff_ffff_ffff_ffffn

/**
 * MT19937 with 32-bit output. Seeds below 2^32 give the sequence of `std::mt19937`; larger ones
 * initialise by array with the low and the high half, so no two seeds share a sequence by rounding.
 */
export class Mt19937 {
  readonly seed: bigint
  readonly #state = new Uint32Array(wordCount)
  #next = wordCount

  /** `seed` lies in [0, 2^64). */
  constructor(seed: bigint) {
    this.seed = seed
    this.reset()
  }

  /** Starts the sequence of the seed again. */
  reset(): void {
    if (this.seed <= 0xffff_ffffn) {
      this.#initialize(Number(this.seed))
    } else {
      this.#initializeByArray([Number(this.seed & 0xffff_ffffn), Number(this.seed >> 32n)])
    }
    this.#next = wordCount
  }

  /** A copy that continues with the same numbers. */
  clone(): Mt19937 {
    const copy = new Mt19937(this.seed)
    copy.#state.set(this.#state)
    copy.#next = this.#next
    return copy
  }

  /** The next number in [0, 2^32). */
  nextU32(): number {
    if (this.#next === wordCount) this.#regenerate()
    let y = this.#state[this.#next++]!
    y ^= y >>> 11
    y ^= (y << 7) & 0x9d2c5680
    y ^= (y << 15) & 0xefc60000
    y ^= y >>> 18
    return y >>> 0
  }

  /** A double in [0, 1) from two outputs, low half first, as `std::generate_canonical` makes it. */
  nextDouble(): number {
    const low = this.nextU32()
    const high = this.nextU32()
    const value = (low + high * 2 ** 32) * 2 ** -64
    return value < 1 ? value : 1 - 2 ** -53
  }

  /** A single-precision number in [0, 1) from one output. */
  nextFloat(): number {
    const value = Math.fround(Math.fround(this.nextU32()) * 2 ** -32)
    return value < 1 ? value : 1 - 2 ** -24
  }

  #initialize(seed: number): void {
    const state = this.#state
    state[0] = seed
    for (let i = 1; i < wordCount; i++) {
      const previous = state[i - 1]! ^ (state[i - 1]! >>> 30)
      state[i] = Math.imul(1812433253, previous) + i
    }
  }

  #initializeByArray(key: readonly number[]): void {
    const state = this.#state
    this.#initialize(19650218)
    let i = 1
    for (let step = 0; step < wordCount; step++) {
      const j = step % key.length
      const previous = state[i - 1]! ^ (state[i - 1]! >>> 30)
      state[i] = (state[i]! ^ Math.imul(previous, 1664525)) + key[j]! + j
      if (++i === wordCount) {
        state[0] = state[wordCount - 1]!
        i = 1
      }
    }
    for (let step = 1; step < wordCount; step++) {
      const previous = state[i - 1]! ^ (state[i - 1]! >>> 30)
      state[i] = (state[i]! ^ Math.imul(previous, 1566083941)) - i
      if (++i === wordCount) {
        state[0] = state[wordCount - 1]!
        i = 1
      }
    }
    state[0] = 0x80000000
  }

  #regenerate(): void {
    const state = this.#state
    for (let i = 0; i < wordCount; i++) {
      const y = (state[i]! & 0x80000000) | (state[(i + 1) % wordCount]! & 0x7fffffff)
      state[i] = state[(i + shiftCount) % wordCount]! ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0)
    }
    this.#next = 0
  }
}
