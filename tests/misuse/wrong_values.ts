// Values that no caller means, by name: wrong types, wrong numbers, and memory that is gone.

const detachedArray = (): Int32Array => {
  const array = new Int32Array(4)
  array.buffer.transfer()
  return array
}

/** Getters and traps that throw must not come out as something else than what they threw. */
export const wrongValues: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  NaN: () => Number.NaN,
  '-1': () => -1,
  '0.5': () => 0.5,
  Infinity: () => Number.POSITIVE_INFINITY,
  '2^32': () => 2 ** 32,
  '2^53 - 1': () => Number.MAX_SAFE_INTEGER,
  '1e308': () => 1e308,
  '-1n': () => -1n,
  '2^70': () => 2n ** 70n,
  'an empty string': () => '',
  'a string': () => 'wrong',
  'a string with a zero': () => 'a\0b',
  'a lone surrogate': () => '\ud800',
  'a symbol': () => Symbol('wrong'),
  'an object': () => ({}),
  'an object without a prototype': () => Object.create(null),
  'an empty array': () => [],
  'an array of undefined': () => [undefined],
  'an array of numbers': () => [-1, Number.NaN, 2 ** 40],
  'a function': () => () => undefined,
  'a date': () => new Date(0),
  bytes: () => new Uint8Array(3),
  'no bytes': () => new Uint8Array(0),
  doubles: () => new Float64Array(2),
  'negative integers': () => Int32Array.of(-1, -2),
  'a detached array': detachedArray,
  'a detached buffer': () => detachedArray().buffer,
  'a data view': () => new DataView(new ArrayBuffer(8)),
  'shared bytes': () => new Uint8Array(new SharedArrayBuffer(8)),
  'a promise': () => Promise.resolve(1),
}

/** A deep copy with `replacement` at `path`; class instances are kept as they are. */
const replaced = (
  value: unknown,
  path: readonly (string | number)[],
  replacement: unknown,
): unknown => {
  const [key, ...rest] = path
  if (key === undefined) return replacement
  if (Array.isArray(value)) {
    return value.map((each, i) => (i === key ? replaced(each, rest, replacement) : each))
  }
  const object = value as Record<string, unknown>
  return { ...object, [key]: replaced(object[key], rest, replacement) }
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype)

/** Every place in a list of arguments: each argument, and what is inside plain objects. */
export const placesIn = (
  value: unknown,
  path: readonly (string | number)[] = [],
): (string | number)[][] => {
  const here = path.length === 0 ? [] : [[...path]]
  if (!isPlain(value)) return here
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value)
  return [
    ...here,
    ...[...keys].flatMap((key) =>
      placesIn((value as Record<string | number, unknown>)[key], [...path, key]),
    ),
  ]
}

/** The arguments with a wrong value at one place. */
export const withWrong = (
  args: readonly unknown[],
  path: readonly (string | number)[],
  value: unknown,
): unknown[] => replaced(args, path, value) as unknown[]
