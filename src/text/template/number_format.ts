// Numbers as digits: fixed, exponent and general form, shared by % and format().

/** Python's rounding to `digits` places; ties (exact in binary) go to the even digit. */
export function toFixed(value: number, digits: number): string {
  if (Math.abs(value) >= 1e21) return BigInt(value).toString() + fraction('', digits)
  const places = Math.min(digits, 100)
  let text = Math.abs(value).toFixed(places)
  if (isTie(Math.abs(value), places)) text = towardsEven(text, places)
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  return sign + text + '0'.repeat(digits - places)
}

function fraction(digits: string, length: number): string {
  return length === 0 ? '' : `.${digits.padEnd(length, '0')}`
}

/** Whether the exact value lies halfway between two numbers of `places` decimals. */
function isTie(value: number, places: number): boolean {
  // Halves need one more binary digit per decimal place, so only short fractions can be ties.
  if (places > 22) return false
  const exact = value.toFixed(100)
  const rest = exact.slice(exact.indexOf('.') + 1 + places)
  return rest[0] === '5' && /^50*$/.test(rest)
}

/** `toFixed` rounds ties up; one step down where that made the last digit odd. */
function towardsEven(text: string, places: number): string {
  const last = text.charCodeAt(text.length - 1) - 48
  if (last % 2 === 0) return text
  const digits = (BigInt(text.replace('.', '')) - 1n).toString().padStart(places + 1, '0')
  const point = digits.length - places
  return places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`
}

/** `1.50e+02`. */
export function toExponent(value: number, digits: number): string {
  const [mantissa, power] = value.toExponential(Math.min(digits, 100)).split('e') as [
    string,
    string,
  ]
  const size = power.slice(1).padStart(2, '0')
  const sign = Object.is(value, -0) ? '-' : ''
  return `${sign}${mantissa}${'0'.repeat(Math.max(0, digits - 100))}e${power[0]}${size}`
}

/** `g`: the shorter of fixed and exponent; trailing zeros go unless `keep`. */
export function toGeneral(value: number, digits: number, keep: boolean): string {
  const significant = Math.max(digits, 1)
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const exponent = Number(value.toExponential(Math.min(significant - 1, 100)).split('e')[1])
  const small = exponent < -4 || exponent >= significant
  const text = small
    ? toExponent(value, significant - 1)
    : toFixed(value, Math.max(0, significant - 1 - exponent))
  if (keep || !text.includes('.')) return text
  return text.replace(/\.?0+(?=e|$)/, '')
}

export function formatFloat(value: number, kind: string, digits: number, keep = false): string {
  if (!Number.isFinite(value)) {
    const word = Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'
    return kind === kind.toUpperCase() ? word.toUpperCase() : word
  }
  const lower = kind.toLowerCase()
  const text =
    lower === 'f'
      ? toFixed(value, digits)
      : lower === 'e'
        ? toExponent(value, digits)
        : toGeneral(value, digits, keep)
  return kind === lower ? text : text.toUpperCase()
}
