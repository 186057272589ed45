// strftime in the C locale, local time, with the flags of glibc.

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months =
  'January February March April May June July August September October November December'.split(' ')

/** `%d %B %Y` and so on; an unknown directive is left as it is, as C does. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%([-_0^#]?)([a-zA-Z%])/g, (whole, flag: string, letter: string) => {
    const text = field(date, letter)
    return text === undefined ? whole : flagged(text, flag)
  })
}

function flagged(text: string, flag: string): string {
  if (flag === '-') return text.replace(/^[0 ]+(?=.)/, '')
  if (flag === '_') return text.replace(/^0+(?=.)/, (zeros) => ' '.repeat(zeros.length))
  if (flag === '0') return text.replace(/^ +/, (gap) => '0'.repeat(gap.length))
  return flag === '' ? text : text.toUpperCase()
}

function two(value: number, fill = '0'): string {
  return String(value).padStart(2, fill)
}

function field(date: Date, letter: string): string | undefined {
  const hour = date.getHours()
  const compose = (format: string) => strftime(date, format)
  switch (letter) {
    case 'a':
      return days[date.getDay()]!.slice(0, 3)
    case 'A':
      return days[date.getDay()]!
    case 'b':
    case 'h':
      return months[date.getMonth()]!.slice(0, 3)
    case 'B':
      return months[date.getMonth()]!
    case 'c':
      return compose('%a %b %e %H:%M:%S %Y')
    case 'C':
      return two(Math.floor(date.getFullYear() / 100))
    case 'd':
      return two(date.getDate())
    case 'D':
    case 'x':
      return compose('%m/%d/%y')
    case 'e':
      return two(date.getDate(), ' ')
    case 'f':
      return `${String(date.getMilliseconds()).padStart(3, '0')}000`
    case 'F':
      return compose('%Y-%m-%d')
    case 'H':
      return two(hour)
    case 'I':
      return two(hour % 12 || 12)
    case 'j':
      return String(dayOfYear(date)).padStart(3, '0')
    case 'k':
      return two(hour, ' ')
    case 'l':
      return two(hour % 12 || 12, ' ')
    case 'm':
      return two(date.getMonth() + 1)
    case 'M':
      return two(date.getMinutes())
    case 'n':
      return '\n'
    case 'p':
      return hour < 12 ? 'AM' : 'PM'
    case 'R':
      return compose('%H:%M')
    case 's':
      return String(Math.floor(date.getTime() / 1000))
    case 'S':
      return two(date.getSeconds())
    case 't':
      return '\t'
    case 'T':
    case 'X':
      return compose('%H:%M:%S')
    case 'u':
      return String(date.getDay() || 7)
    case 'U':
      return two(Math.floor((dayOfYear(date) + 6 - date.getDay()) / 7))
    case 'w':
      return String(date.getDay())
    case 'W':
      return two(Math.floor((dayOfYear(date) + 6 - ((date.getDay() + 6) % 7)) / 7))
    case 'y':
      return two(date.getFullYear() % 100)
    case 'Y':
      return String(date.getFullYear())
    case 'z':
    case 'Z':
      // Python's local time without a zone prints nothing here.
      return ''
    case '%':
      return '%'
    default:
      return undefined
  }
}

/** January 1st is day 1. */
function dayOfYear(date: Date): number {
  const start = Date.UTC(date.getFullYear(), 0, 1)
  const today = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate())
  return (today - start) / 86_400_000 + 1
}
