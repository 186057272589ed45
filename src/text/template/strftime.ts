// strftime in the C locale, local time, with the flags of glibc.

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months =
  'January February March April May June July August September October November December'.split(' ')

/** `%d %B %Y` and so on; an unknown directive is left as it is, as C does. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%([-_0^#]?)([a-zA-Z%])/g, (whole, flag: string, letter: string) => {
    const text = fields[letter]?.(date)
    return text === undefined ? whole : flagged(text, flag, letter)
  })
}

/** `-`, `_` and `0` change the padding of numbers, `^` and `#` the case of names. */
function flagged(text: string, flag: string, letter: string): string {
  if (flag === '^') return text.toUpperCase()
  if (flag === '#' && letter === 'p') return text.toLowerCase()
  if (flag === '#') return 'aAbBh'.includes(letter) ? text.toUpperCase() : text
  if (!/^[ \d]+$/.test(text)) return text
  if (flag === '-') return text.replace(/^[0 ]+(?=.)/, '')
  if (flag === '_') return text.replace(/^0+(?=.)/, (zeros) => ' '.repeat(zeros.length))
  return flag === '0' ? text.replace(/^ +/, (gap) => '0'.repeat(gap.length)) : text
}

function two(value: number, fill = '0'): string {
  return String(value).padStart(2, fill)
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, '0')
}

function hour12(date: Date): number {
  return date.getHours() % 12 || 12
}

/** Weeks begun since the first one that starts on `firstDay` (0 is Sunday). */
function week(date: Date, firstDay: number): string {
  return two(Math.floor((dayOfYear(date) + 6 - ((date.getDay() - firstDay + 7) % 7)) / 7))
}

/** Python's local time without a zone prints nothing for one. */
const noZone = () => ''

const fields: Readonly<Record<string, (date: Date) => string>> = {
  a: (date) => days[date.getDay()]!.slice(0, 3),
  A: (date) => days[date.getDay()]!,
  b: (date) => months[date.getMonth()]!.slice(0, 3),
  B: (date) => months[date.getMonth()]!,
  c: (date) => strftime(date, '%a %b %e %H:%M:%S %Y'),
  C: (date) => two(Math.floor(date.getFullYear() / 100)),
  d: (date) => two(date.getDate()),
  D: (date) => strftime(date, '%m/%d/%y'),
  e: (date) => two(date.getDate(), ' '),
  f: (date) => `${padded(date.getMilliseconds(), 3)}000`,
  F: (date) => strftime(date, '%Y-%m-%d'),
  h: (date) => months[date.getMonth()]!.slice(0, 3),
  H: (date) => two(date.getHours()),
  I: (date) => two(hour12(date)),
  j: (date) => padded(dayOfYear(date), 3),
  k: (date) => two(date.getHours(), ' '),
  l: (date) => two(hour12(date), ' '),
  m: (date) => two(date.getMonth() + 1),
  M: (date) => two(date.getMinutes()),
  n: () => '\n',
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  R: (date) => strftime(date, '%H:%M'),
  s: (date) => String(Math.floor(date.getTime() / 1000)),
  S: (date) => two(date.getSeconds()),
  t: () => '\t',
  T: (date) => strftime(date, '%H:%M:%S'),
  u: (date) => String(date.getDay() || 7),
  U: (date) => week(date, 0),
  w: (date) => String(date.getDay()),
  W: (date) => week(date, 1),
  x: (date) => strftime(date, '%m/%d/%y'),
  X: (date) => strftime(date, '%H:%M:%S'),
  y: (date) => two(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  z: noZone,
  Z: noZone,
  '%': () => '%',
}

/** January 1st is day 1. */
function dayOfYear(date: Date): number {
  const start = Date.UTC(date.getFullYear(), 0, 1)
  const today = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate())
  return (today - start) / 86_400_000 + 1
}
