// Checks of arguments before any work: what is wrong, by its name and with its value.

/** A value as messages show it. Never throws, whatever the value. */
export const shown = (value: unknown): string => {
  switch (typeof value) {
    case 'string':
      return `the string ${JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)}`
    case 'bigint':
      return `${value}n`
    case 'function':
      return 'a function'
    case 'object':
      return value === null
        ? 'null'
        : Array.isArray(value)
          ? 'an array'
          : `an object${classOf(value)}`
    default:
      return String(value)
  }
}

const classOf = (value: object): string => {
  const name = Object.prototype.toString.call(value).slice(8, -1)
  return name === 'Object' ? '' : ` (${name})`
}

const wrong = (name: string, wanted: string, value: unknown): TypeError =>
  new TypeError(`${name} must be ${wanted}, not ${shown(value)}`)

/** An object with properties, as options are. */
export const checkObject = (name: string, value: unknown): void => {
  if (typeof value !== 'object' || value === null) throw wrong(name, 'an object', value)
}

export const checkString = (name: string, value: unknown): void => {
  if (typeof value !== 'string') throw wrong(name, 'a string', value)
}

export const checkArray = (name: string, value: unknown): void => {
  if (!Array.isArray(value)) throw wrong(name, 'an array', value)
}

/** A function, where one is given. */
export const checkCallback = (name: string, value: unknown): void => {
  if (value !== undefined && typeof value !== 'function') throw wrong(name, 'a function', value)
}

/** An AbortSignal, where one is given. */
export const checkSignal = (value: unknown): void => {
  if (value !== undefined && !(value instanceof AbortSignal)) {
    throw wrong('signal', 'an AbortSignal', value)
  }
}

/** An object of one of our classes; `wanted` is the class in words, such as `a Device`. */
export const checkInstance = (
  name: string,
  value: unknown,
  Class: { [Symbol.hasInstance](value: unknown): boolean },
  wanted: string,
): void => {
  if (!Class[Symbol.hasInstance](value)) throw wrong(name, wanted, value)
}

/** A typed array whose memory is still its own: transferring it to a Worker gives it away. */
export const checkAttached = (name: string, view: ArrayBufferView): void => {
  if ((view.buffer as ArrayBuffer).detached)
    throw new TypeError(`${name} has given its memory away`)
}

/** A number that is not NaN. */
export const checkNumber = (name: string, value: unknown): void => {
  if (typeof value !== 'number' || Number.isNaN(value)) throw wrong(name, 'a number', value)
}

/** A whole number in [min, max]. */
export const checkWhole = (
  name: string,
  value: unknown,
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
): void => {
  if (typeof value !== 'number') throw wrong(name, 'a number', value)
  if (Number.isSafeInteger(value) && value >= min && value <= max) return
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`
  throw new RangeError(`${name} must be a whole number ${range}, not ${value}`)
}
