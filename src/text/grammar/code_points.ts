// Sets of code points as sorted ranges, and the byte sequences that write them.

/**
 * Pairs [first, last], inclusive, ascending, apart from each other: flat, so [0x41, 0x5a] is A-Z.
 */
export type CodePoints = readonly number[]

/** The largest code point. */
export const codePointMax = 0x10ffff

/** The largest value that the bits of four bytes make in the `loose` reading. */
const looseMax = 0x3fffff

export const allCodePoints: CodePoints = [0, codePointMax]

/** All code points that UTF-8 can write: without surrogates. */
export const allScalars: CodePoints = [0, 0xd7ff, 0xe000, codePointMax]

/** The set of any pairs, in any order. */
export function codePoints(pairs: readonly number[]): CodePoints {
  const starts: [number, number][] = []
  for (let i = 0; i < pairs.length; i += 2) starts.push([pairs[i]!, pairs[i + 1]!])
  starts.sort((a, b) => a[0] - b[0])
  const merged: number[] = []
  for (const [first, last] of starts) {
    if (merged.length > 0 && first <= merged[merged.length - 1]! + 1) {
      merged[merged.length - 1] = Math.max(merged[merged.length - 1]!, last)
    } else {
      merged.push(first, last)
    }
  }
  return merged
}

/** Single code points of a string. */
export function codePointsOf(text: string): CodePoints {
  return codePoints([...text].flatMap((char) => [char.codePointAt(0)!, char.codePointAt(0)!]))
}

export function union(a: CodePoints, b: CodePoints): CodePoints {
  return codePoints([...a, ...b])
}

/** What is in [0, max] and not in the set. */
export function complement(points: CodePoints, max = codePointMax): CodePoints {
  const result: number[] = []
  let next = 0
  for (let i = 0; i < points.length; i += 2) {
    if (points[i]! > next) result.push(next, Math.min(points[i]! - 1, max))
    next = points[i + 1]! + 1
    if (next > max) break
  }
  if (next <= max) result.push(next, max)
  return result
}

export function intersect(a: CodePoints, b: CodePoints): CodePoints {
  const result: number[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const first = Math.max(a[i]!, b[j]!)
    const last = Math.min(a[i + 1]!, b[j + 1]!)
    if (first <= last) result.push(first, last)
    if (a[i + 1]! < b[j + 1]!) i += 2
    else j += 2
  }
  return result
}

export function difference(a: CodePoints, b: CodePoints): CodePoints {
  return intersect(a, complement(b, Math.max(looseMax, codePointMax)))
}

export function contains(points: CodePoints, point: number): boolean {
  let low = 0
  let high = points.length >> 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (points[2 * middle + 1]! < point) low = middle + 1
    else high = middle
  }
  return 2 * low < points.length && points[2 * low]! <= point
}

function overlaps(points: CodePoints, first: number, last: number): boolean {
  for (let i = 0; i < points.length; i += 2) {
    if (points[i]! > last) return false
    if (points[i + 1]! >= first) return true
  }
  return false
}

/** The complement in the `loose` reading. */
export function looseComplement(points: CodePoints): CodePoints {
  return complement(points, looseMax)
}

/** A sequence of inclusive byte ranges, [first, last] for each byte. */
export type ByteRanges = readonly (readonly [number, number])[]

/**
 * The UTF-8 byte sequences of the set, as few sequences of byte ranges: the classic split of code
 * point ranges at the borders of encoded lengths and of trailing 6-bit groups. Surrogates have
 * none.
 */
export function utf8Ranges(points: CodePoints): ByteRanges[] {
  const result: ByteRanges[] = []
  const scalars = intersect(points, allScalars)
  for (let i = 0; i < scalars.length; i += 2) {
    let first = scalars[i]!
    const last = scalars[i + 1]!
    for (const [limit, length] of [
      [0x7f, 1],
      [0x7ff, 2],
      [0xffff, 3],
      [codePointMax, 4],
    ] as const) {
      if (first > limit) continue
      splitRange(first, Math.min(last, limit), length, result)
      first = limit + 1
      if (first > last) break
    }
  }
  return result
}

function splitRange(first: number, last: number, length: number, result: ByteRanges[]): void {
  for (let bits = 6 * (length - 1); bits > 0; bits -= 6) {
    const mask = 2 ** bits - 1
    if (Math.floor(first / 2 ** bits) === Math.floor(last / 2 ** bits)) continue
    if ((first & mask) !== 0) {
      splitRange(first, first | mask, length, result)
      splitRange((first | mask) + 1, last, length, result)
      return
    }
    if ((last & mask) !== mask) {
      splitRange(first, (last & ~mask) - 1, length, result)
      splitRange(last & ~mask, last, length, result)
      return
    }
  }
  const low = encode(first, length)
  const high = encode(last, length)
  result.push(low.map((byte, i) => [byte, high[i]!] as const))
}

function encode(point: number, length: number): number[] {
  if (length === 1) return [point]
  const bytes: number[] = []
  for (let i = length - 1; i > 0; i--) bytes.push(0x80 | ((point >> (6 * (length - 1 - i))) & 0x3f))
  const lead = [0, 0, 0xc0, 0xe0, 0xf0][length]!
  bytes.push(lead | (point >> (6 * (length - 1))))
  return bytes.reverse()
}

/**
 * The byte sequences of the `loose` reading: a lead byte C2..FF and continuation bytes whose bits
 * make a value of the set. Overlong forms are cut off only where the reference does: a two-byte
 * remainder below 2, and a zero remainder that could only make smaller values.
 */
export function looseRanges(points: CodePoints): ByteRanges[] {
  const result: ByteRanges[] = []
  const single = intersect(points, [1, 0x7f])
  for (let i = 0; i < single.length; i += 2) result.push([[single[i]!, single[i + 1]!]])
  for (let lead = 0xc2; lead <= 0xff; lead++) {
    const remaining = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
    const value = lead & (remaining === 1 ? 0x1f : 0xf)
    extendLoose(points, value, remaining, [[lead, lead]], result)
  }
  return mergeLeads(result)
}

function extendLoose(
  points: CodePoints,
  value: number,
  remaining: number,
  bytes: ByteRanges,
  result: ByteRanges[],
): void {
  if (remaining === 1) {
    if (value < 2) return
    const base = value << 6
    const last = intersect(points, [base, base | 0x3f])
    for (let i = 0; i < last.length; i += 2) {
      result.push([...bytes, [0x80 | (last[i]! & 0x3f), 0x80 | (last[i + 1]! & 0x3f)]])
    }
    return
  }
  const low = value === 0 ? (remaining === 2 ? 0x800 : 0x10000) : value * 64 ** remaining
  const high = value * 64 ** remaining + 64 ** remaining - 1
  if (!overlaps(points, low, high)) return
  if (covers(points, value * 64 ** remaining, high) && value !== 0) {
    const any: ByteRanges = Array.from({ length: remaining }, () => [0x80, 0xbf] as const)
    result.push([...bytes, ...any])
    return
  }
  for (let next = 0; next < 64; next++) {
    const byte = 0x80 | next
    extendLoose(points, value * 64 + next, remaining - 1, [...bytes, [byte, byte]], result)
  }
}

function covers(points: CodePoints, first: number, last: number): boolean {
  for (let i = 0; i < points.length; i += 2) {
    if (points[i]! <= first && points[i + 1]! >= last) return true
  }
  return false
}

/** Joins neighbours that differ in one byte range which can be widened. */
function mergeLeads(sequences: ByteRanges[]): ByteRanges[] {
  const result: ByteRanges[] = []
  for (const bytes of sequences) {
    const previous = result[result.length - 1]
    const joined = previous && join(previous, bytes)
    if (joined) result[result.length - 1] = joined
    else result.push(bytes)
  }
  return result.length < sequences.length ? mergeLeads(result) : result
}

function join(a: ByteRanges, b: ByteRanges): ByteRanges | undefined {
  if (a.length !== b.length) return undefined
  const differing = a.findIndex((range, i) => range[0] !== b[i]![0] || range[1] !== b[i]![1])
  if (differing < 0) return a
  const same = a.every(
    (range, i) => i === differing || (range[0] === b[i]![0] && range[1] === b[i]![1]),
  )
  if (!same || a[differing]![1] + 1 !== b[differing]![0]) return undefined
  return a.map((range, i) => (i === differing ? [range[0], b[i]![1]] : range))
}
