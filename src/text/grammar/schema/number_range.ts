// Numbers between limits, as graphs over their decimal digits.
import {
  choice,
  type Expression,
  type Graph,
  oneOf,
  optional,
  repeat,
  sequence,
  text,
} from '../expression.ts'
import { compareDecimals, type Decimal } from './decimal.ts'
import { digit, fraction, fractionDigits, integerDigits } from './json_text.ts'

/** A limit; whether a number equal to it is inside. */
export interface Limit {
  value: Decimal
  inclusive: boolean
}

const zero: Limit = { value: { negative: false, whole: '0', fraction: '' }, inclusive: true }

/** Which numbers: whole ones have no point, and with a divisor above 1 only its multiples count. */
export interface NumberKind {
  isWhole: boolean
  /** 1 unless `isWhole`; each digit needs as many states. */
  divisor: number
}

/**
 * Numbers in plain decimal notation from `low` to `high` (absent: no limit on that side), exactly.
 */
export function numberRange(
  low: Limit | undefined,
  high: Limit | undefined,
  kind: NumberKind,
): Expression {
  if (low !== undefined && high !== undefined && isEmpty(low, high)) return choice()
  const items: Expression[] = []
  // Below zero the digits grow downwards: the limits change places.
  if (low === undefined || low.value.negative) {
    const nearest = high?.value.negative ? positive(high) : zero
    items.push(sequence(text('-'), magnitudes(nearest, low && positive(low), kind)))
  } else if (compareDecimals(low.value, zero.value) === 0 && low.inclusive) {
    if (high === undefined || !isEmpty(zero, high)) items.push(text('-0'))
  }
  if (high === undefined || !high.value.negative) {
    const nearest = low !== undefined && !low.value.negative ? low : zero
    items.push(magnitudes(nearest, high, kind))
  }
  return choice(...items)
}

/** Whether nothing lies between two limits. */
function isEmpty(low: Limit, high: Limit): boolean {
  const order = compareDecimals(low.value, high.value)
  return order > 0 || (order === 0 && !(low.inclusive && high.inclusive))
}

/** Whether all digits from `at` on, in front of the point and behind it, are zeros. */
function isZeros({ whole, fraction }: Decimal, at: number): boolean {
  return fraction === '' && /^0*$/.test(whole.slice(at))
}

function positive({ value, inclusive }: Limit): Limit {
  return { value: { ...value, negative: false }, inclusive }
}

/** Numbers without sign between two limits that are not negative. */
function magnitudes(low: Limit, high: Limit | undefined, kind: NumberKind): Expression {
  const shortest = low.value.whole.length
  const longest = high === undefined ? integerDigits + 1 : high.value.whole.length
  const items: Expression[] = []
  const withLength = (length: number, from: Limit | undefined, to: Limit | undefined) =>
    new Digits(from, to, kind).graph(length)
  if (shortest <= integerDigits) {
    items.push(withLength(shortest, low, shortest === longest ? high : undefined))
  }
  // Numbers with more digits than the low limit and fewer than the high one are free.
  const between = Math.min(longest - 1, integerDigits)
  if (shortest < between) {
    items.push(freeNumbers(shortest + 1, between, kind))
  }
  if (longest > shortest && longest <= integerDigits) {
    items.push(withLength(longest, undefined, high))
  }
  return choice(...items)
}

/** Numbers with at least `shortest` (2 or more) and at most `longest` digits before the point. */
function freeNumbers(
  shortest: number,
  longest: number,
  { isWhole, divisor }: NumberKind,
): Expression {
  if (divisor > 1) return freeMultiples(shortest, longest, divisor)
  const whole = sequence(oneOf([0x31, 0x39]), repeat(digit, shortest - 1, longest - 1))
  return isWhole ? whole : sequence(whole, optional(fraction))
}

/** A state for each number of digits and each remainder of the digits read so far. */
function freeMultiples(shortest: number, longest: number, divisor: number): Graph {
  const edges: { from: number; to: number; label: Expression }[] = []
  const accepting: boolean[] = []
  for (let length = 0; length <= longest; length++) {
    for (let remainder = 0; remainder < divisor; remainder++) {
      accepting.push(length >= shortest && remainder === 0)
      if (length === longest || (length === 0 && remainder > 0)) continue
      for (let value = length === 0 ? 1 : 0; value <= 9; value++) {
        const to = (length + 1) * divisor + ((remainder * 10 + value) % divisor)
        edges.push({
          from: length * divisor + remainder,
          to,
          label: oneOf([0x30 + value, 0x30 + value]),
        })
      }
    }
  }
  return { kind: 'graph', edges, accepting }
}

/**
 * Reads digits with two flags: whether those so far equal the digits of the low limit, and of the
 * high one. A state is a place among the digits with its flags, and with the remainder of the
 * digits.
 */
class Digits {
  readonly #low: Limit | undefined
  readonly #high: Limit | undefined
  readonly #kind: NumberKind
  readonly #ids = new Map<string, number>()
  readonly #edges: { from: number; to: number; label: Expression }[] = []
  readonly #accepting: boolean[] = []
  readonly #queue: (() => void)[] = []

  constructor(low: Limit | undefined, high: Limit | undefined, kind: NumberKind) {
    this.#low = low
    this.#high = high
    this.#kind = kind
  }

  graph(length: number): Graph {
    this.#whole(0, length, 0, this.#low !== undefined, this.#high !== undefined)
    for (let next = this.#queue.pop(); next !== undefined; next = this.#queue.pop()) next()
    return { kind: 'graph', edges: this.#edges, accepting: this.#accepting }
  }

  /** Before digit `at` of `length` digits in front of the point. */
  #whole(at: number, length: number, remainder: number, nearLow: boolean, atHigh: boolean): number {
    // Nothing is below a limit whose further digits are zeros.
    const atLow = nearLow && !(this.#low!.inclusive && isZeros(this.#low!.value, at))
    if (at === length) return this.#point(remainder, atLow, atHigh)
    const { divisor } = this.#kind
    return this.#state(`w${at} ${remainder} ${atLow} ${atHigh}`, false, (from) => {
      if (!atLow && !atHigh && at > 0 && divisor === 1) {
        const label = repeat(digit, length - at, length - at)
        this.#edges.push({ from, to: this.#point(0, false, false), label })
        return
      }
      const digits: [string | undefined, string | undefined] = [
        this.#low?.value.whole[at],
        this.#high?.value.whole[at],
      ]
      const first = at === 0 && length > 1 ? 1 : 0
      this.#step(from, first, digits, [atLow, atHigh], (value, low, high) =>
        this.#whole(at + 1, length, (remainder * 10 + value) % divisor, low, high),
      )
    })
  }

  /** After the digits in front of the point. */
  #point(remainder: number, atLow: boolean, atHigh: boolean): number {
    const ends = remainder === 0 && this.#mayEnd(0, atLow, atHigh)
    return this.#state(`p${remainder} ${atLow} ${atHigh}`, ends, (from) => {
      if (this.#kind.isWhole) return
      const to = this.#fraction(0, atLow, atHigh)
      this.#edges.push({ from, to, label: text('.') })
    })
  }

  /** Before digit `at` behind the point. */
  #fraction(at: number, nearLow: boolean, atHigh: boolean): number {
    const { inclusive = false, value } = this.#low ?? {}
    const atLow = nearLow && !(inclusive && at >= value!.fraction.length)
    const ends = at > 0 && this.#mayEnd(at, atLow, atHigh)
    return this.#state(`f${at} ${atLow} ${atHigh}`, ends, (from) => {
      if (at === fractionDigits) return
      if (!atLow && !atHigh) {
        const label = repeat(digit, at === 0 ? 1 : 0, fractionDigits - at)
        this.#edges.push({ from, to: this.#end(), label })
        return
      }
      if (!atLow && at >= this.#high!.value.fraction.length) {
        if (!this.#high!.inclusive) return
        const label = repeat(text('0'), at === 0 ? 1 : 0, fractionDigits - at)
        this.#edges.push({ from, to: this.#end(), label })
        return
      }
      const digits: [string, string] = [
        this.#low?.value.fraction[at] ?? '0',
        this.#high?.value.fraction[at] ?? '0',
      ]
      this.#step(from, 0, digits, [atLow, atHigh], (_, low, high) =>
        this.#fraction(at + 1, low, high),
      )
    })
  }

  #end(): number {
    return this.#state('end', true, () => {})
  }

  /** Whether a number may end here: what is missing counts as zeros. */
  #mayEnd(at: number, atLow: boolean, atHigh: boolean): boolean {
    const lowRest = this.#low?.value.fraction.slice(at) ?? ''
    const highRest = this.#high?.value.fraction.slice(at) ?? ''
    if (atLow && (lowRest !== '' || !this.#low!.inclusive)) return false
    return !(atHigh && highRest === '' && !this.#high!.inclusive)
  }

  /** Edges for the digits from `first` on that stay within the limits where the flags say so. */
  #step(
    from: number,
    first: number,
    [lowDigit, highDigit]: readonly [string | undefined, string | undefined],
    [atLow, atHigh]: readonly [boolean, boolean],
    next: (value: number, atLow: boolean, atHigh: boolean) => number,
  ): void {
    const lowest = Math.max(first, atLow ? Number(lowDigit) : 0)
    const highest = atHigh ? Number(highDigit) : 9
    for (let start = lowest; start <= highest; ) {
      const low = atLow && start === Number(lowDigit)
      const high = atHigh && start === Number(highDigit)
      const isFree = !low && !high && this.#kind.divisor === 1
      const end = isFree && start < highest ? (atHigh ? highest - 1 : 9) : start
      const label = oneOf([0x30 + start, 0x30 + end])
      this.#edges.push({ from, to: next(start, low, high), label })
      start = end + 1
    }
  }

  /** The state of this name; at first sight its edges are queued to be made. */
  #state(name: string, accepts: boolean, addEdges: (from: number) => void): number {
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const id = this.#accepting.push(accepts) - 1
    this.#ids.set(name, id)
    this.#queue.push(() => addEdges(id))
    return id
  }
}
