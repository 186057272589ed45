// The values of `format` that are supported, as patterns over the whole string.

const day = String.raw`(?:0[1-9]|[12]\d|3[01])`
const dayTo30 = String.raw`(?:0[1-9]|[12]\d|30)`
const dayTo28 = String.raw`(?:0[1-9]|1\d|2[0-8])`
const leapYears = String.raw`\d\d(?:0[48]|[2468][048]|[13579][26])`
const leapCenturies = '(?:[02468][048]|[13579][26])00'
const longMonth = `(?:0[13578]|1[02])-${day}`
const shortMonth = `(?:0[469]|11)-${dayTo30}`
/** RFC 3339 full-date, the calendar's leap years included. */
const date =
  `(?:\\d{4}-(?:${longMonth}|${shortMonth}|02-${dayTo28})|` +
  `(?:${leapYears}|${leapCenturies})-02-29)`
const hourMinute = String.raw`(?:[01]\d|2[0-3]):[0-5]\d`
/** RFC 3339 full-time, without leap seconds. */
const time = String.raw`${hourMinute}:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-]${hourMinute})`
const byte = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?'

/** Patterns by format name; other formats are refused. */
export const formatPatterns: ReadonlyMap<string, string> = new Map([
  ['date', `^${date}$`],
  ['time', `^${time}$`],
  ['date-time', `^${date}T${time}$`],
  ['uuid', '^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'],
  ['ipv4', String.raw`^${byte}(?:\.${byte}){3}$`],
  ['email', String.raw`^${atom}(?:\.${atom})*@(?:${label}\.)+${label}$`],
])
