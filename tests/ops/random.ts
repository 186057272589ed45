// Seeded numbers: the same row always draws the same values.

/** FNV-1a of a text, as a seed. */
export const seedOf = (text: string, seed = 0): number => {
  let hash = 0x811c9dc5 ^ seed
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

/** A generator of 32 bits (mulberry32, Tommy Ettinger 2017, public domain). */
export class Random {
  private state: number
  private spare: number | undefined

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** From 0 to 2^32 - 1. */
  bits(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let z = this.state
    z = Math.imul(z ^ (z >>> 15), z | 1)
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61)
    return (z ^ (z >>> 14)) >>> 0
  }

  /** From 0 up to but not including 1. */
  unit(): number {
    return this.bits() / 2 ** 32
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.unit()
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.unit() * below)
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  /** Normal with mean 0 and deviation 1 (Box and Muller 1958). */
  normal(): number {
    if (this.spare !== undefined) {
      const { spare } = this
      this.spare = undefined
      return spare
    }
    const radius = Math.sqrt(-2 * Math.log(1 - this.unit()))
    const angle = 2 * Math.PI * this.unit()
    this.spare = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }

  /** Fisher and Yates. */
  shuffle<T>(list: T[]): T[] {
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.below(i + 1)
      const kept = list[i]!
      list[i] = list[j]!
      list[j] = kept
    }
    return list
  }
}
