// Exact decimal numbers, for the limits of number ranges.

/** digits * 10^-scale, with a sign; `digits` are decimal, without leading zeros, and scale >= 0. */
export interface Decimal {
  negative: boolean
  /** Digits before the point; '0' at least. */
  whole: string
  /** Digits after the point, without trailing zeros. */
  fraction: string
}

/** The decimal that JSON prints for a finite number: the shortest that is nearest to it. */
export function shortestDecimal(value: number): Decimal {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value))!
  const [, sign, whole = '0', fraction = '', exponent = '0'] = match
  return scaled(sign === '-', BigInt(whole + fraction), fraction.length - Number(exponent))
}

/**
 * The number half way between `value` and the next double above it (below it for `direction` -1):
 * every decimal beyond it is read as a greater (smaller) double, every one before it as `value` or
 * less (more).
 */
export function halfWay(value: number, direction: 1 | -1): Decimal {
  const next = neighbour(value, direction)
  const [a, aScale] = exact(value)
  const [b, bScale] = exact(next)
  const scale = Math.max(aScale, bScale) + 1
  // (a + b) / 2, with both as multiples of 2^-scale.
  const sum = (a << BigInt(scale - 1 - aScale)) + (b << BigInt(scale - 1 - bScale))
  // n * 2^-scale = n * 5^scale * 10^-scale
  const digits = sum * 5n ** BigInt(scale)
  return scaled(digits < 0n, digits < 0n ? -digits : digits, scale)
}

/** The next double above or below. */
export function neighbour(value: number, direction: 1 | -1): number {
  if (value === 0) return direction * Number.MIN_VALUE
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const away = value > 0 === direction > 0
  view.setBigInt64(0, view.getBigInt64(0) + (away ? 1n : -1n))
  return view.getFloat64(0)
}

/** A double as an integer times 2^-scale, scale >= 0. */
function exact(value: number): [bigint, number] {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const exponent = Number((bits >> 52n) & 0x7ffn)
  const mantissa = (bits & ((1n << 52n) - 1n)) | (exponent === 0 ? 0n : 1n << 52n)
  const signed = bits >> 63n === 1n ? -mantissa : mantissa
  const power = Math.max(exponent, 1) - 1075
  return power >= 0 ? [signed << BigInt(power), 0] : [signed, -power]
}

function scaled(negative: boolean, digits: bigint, scale: number): Decimal {
  const padded =
    scale < 0 ? String(digits) + '0'.repeat(-scale) : String(digits).padStart(scale + 1, '0')
  const point = padded.length - Math.max(0, scale)
  const whole = padded.slice(0, point).replace(/^0+(?=\d)/, '')
  const fraction = padded.slice(point).replace(/0+$/, '')
  return { negative: negative && (whole !== '0' || fraction !== ''), whole, fraction }
}

/** Less than 0, 0 or greater than 0, as a is less than, equal to or greater than b. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.negative !== b.negative) return a.negative ? -1 : 1
  const order =
    a.whole.length - b.whole.length ||
    compareText(a.whole, b.whole) ||
    compareText(a.fraction, b.fraction)
  return a.negative ? -order : order
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
