// Split GGUF files: `NAME-00001-of-00003.gguf` and so on, numbered by keys `split.*` inside.
import { GgufError } from '../errors/index.ts'
import type { GgufPart } from './gguf.ts'
import { shorten } from './gguf_cursor.ts'
import { GgufMetadata } from './gguf_metadata.ts'

/** Keys of the split, with the numbers as the file gives them; part numbers begin at 0. */
interface SplitKeys {
  readonly number: number
  readonly count: number
  /** Tensors of all parts together. */
  readonly tensorCount: number | undefined
}

// split.count is a u16 in the files of llama.cpp's gguf-split; names have room for five digits.
const partCountMax = 65_535

const splitKeys = (part: GgufPart): SplitKeys | undefined => {
  const metadata = new GgufMetadata(part.header)
  const count = metadata.integer('split.count', { min: 0, max: partCountMax, fallback: 0 })
  if (count < 2) return undefined
  return {
    number: metadata.integer('split.no', { min: 0, max: count - 1 }),
    count,
    tensorCount: metadata.integer('split.tensors.count', { min: 0, fallback: undefined }),
  }
}

const fail = (part: GgufPart, field: string, value: unknown, problem: string): never => {
  throw new GgufError({ file: part.header.file, field, offset: 24, value }, problem)
}

const digits = (number: number): string => String(number).padStart(5, '0')

/** Path of part `number` (from 0) of `count`, for the common beginning of their paths. */
export const splitPath = (prefix: string, number: number, count: number): string =>
  `${prefix}-${digits(number + 1)}-of-${digits(count)}.gguf`

/**
 * Paths of the other parts when `first` is the first of several, in order; none when it is not
 * split. Throws a GgufError when it is another part than the first, or is not named as one.
 */
export const otherPartPaths = (first: GgufPart): string[] => {
  const keys = splitKeys(first)
  if (keys === undefined) return []
  const { number, count } = keys
  const part = `part ${number + 1} of ${count}`
  const path = first.source
  if (typeof path !== 'string') {
    return fail(first, "key 'split.no'", number, `it is ${part}: give all parts as an array`)
  }
  const ending = `-${digits(number + 1)}-of-${digits(count)}.gguf`
  if (!path.endsWith(ending)) {
    const fix = `its name must end in ${ending} for the others to be found, or give all as an array`
    return fail(first, "key 'split.no'", number, `it is ${part}: ${fix}`)
  }
  const prefix = path.slice(0, -ending.length)
  if (number !== 0) {
    const begin = splitPath(prefix, 0, count)
    return fail(first, "key 'split.no'", number, `it is ${part}: open the first, ${begin}`)
  }
  return Array.from({ length: count - 1 }, (_, index) => splitPath(prefix, index + 1, count))
}

/** The error for a part that cannot be opened. */
export const missingPart = (first: GgufPart, path: string, number: number, cause: unknown) =>
  new GgufError(
    { file: path, field: 'file', offset: 0, value: number },
    `part ${number + 1} of the split file ${first.header.file} cannot be read: ` +
      (cause instanceof Error ? cause.message : String(cause)),
    { cause },
  )

/** Checks that `parts` are the whole of one split file, in order. */
export const checkParts = (parts: readonly [GgufPart, ...GgufPart[]]): void => {
  const first = splitKeys(parts[0])
  if (first === undefined) {
    if (parts.length > 1) {
      fail(parts[0], "key 'split.count'", 1, `it is whole, not one of ${parts.length} parts`)
    }
    return
  }
  parts.forEach((part, index) => {
    const keys = splitKeys(part)
    if (keys?.count !== parts.length) {
      const count = keys?.count ?? 1
      fail(part, "key 'split.count'", count, `it is of ${count} parts, not of ${parts.length}`)
    }
    if (keys?.number !== index) {
      fail(part, "key 'split.no'", keys?.number, `it is not part ${index + 1} of ${parts.length}`)
    }
  })
  checkTensors(parts, first.tensorCount)
}

const checkTensors = (parts: readonly GgufPart[], expected: number | undefined): void => {
  const homes = new Map<string, GgufPart>()
  for (const part of parts) {
    for (const { name } of part.header.tensors) {
      const home = homes.get(name)
      if (home) {
        fail(part, `tensor '${shorten(name)}'`, name, `it is in ${home.header.file} as well`)
      }
      homes.set(name, part)
    }
  }
  if (expected === undefined || expected === homes.size) return
  const problem = `the parts hold ${homes.size} tensors instead of ${expected}`
  fail(parts[0]!, "key 'split.tensors.count'", expected, problem)
}
