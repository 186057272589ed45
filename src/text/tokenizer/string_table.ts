// Many byte strings in one buffer: the shape in which vocabularies and merge lists are kept.
import type { Steps } from './steps.ts'

/**
 * String `i` is `bytes.subarray(starts[i], ends[i])`. A GGUF string array can be described in
 * place, without a JavaScript string per entry. Bytes are kept as they are; they need not be valid
 * UTF-8.
 */
export interface StringTable {
  readonly count: number
  readonly bytes: Uint8Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

/** What can be made a table: strings (as UTF-8), byte arrays, or whatever gives them by number. */
export type Strings =
  | StringTable
  | readonly (string | Uint8Array)[]
  | { readonly length: number; bytes(i: number): Uint8Array }
  | { table(): StringTable }

/** Strings between two yields. */
const SLICE = 1 << 11

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Packs strings into one table; tables are taken as they are. */
export function* tableOf(strings: Strings): Steps<StringTable> {
  if ('starts' in strings) return strings
  if ('table' in strings) return strings.table()
  const count = strings.length
  const starts = new Uint32Array(count)
  const ends = new Uint32Array(count)
  let bytes = new Uint8Array(Math.max(64, count * 8))
  let used = 0
  for (let i = 0; i < count; i++) {
    const entry = 'bytes' in strings ? strings.bytes(i) : strings[i]!
    const sizeMax = typeof entry === 'string' ? entry.length * 3 : entry.length
    if (used + sizeMax > bytes.length) {
      const grown = new Uint8Array(Math.max(bytes.length * 2, used + sizeMax))
      grown.set(bytes.subarray(0, used))
      bytes = grown
    }
    starts[i] = used
    if (typeof entry === 'string') {
      used += encoder.encodeInto(entry, bytes.subarray(used)).written
    } else {
      bytes.set(entry, used)
      used += entry.length
    }
    ends[i] = used
    if (i % SLICE === SLICE - 1) yield
  }
  return { count, bytes: bytes.subarray(0, used), starts, ends }
}

/** The bytes of entry `i`, not copied. */
export function entryBytes(table: StringTable, i: number): Uint8Array {
  return table.bytes.subarray(table.starts[i]!, table.ends[i]!)
}

/** Entry `i` as text; invalid UTF-8 shows as U+FFFD. */
export function entryText(table: StringTable, i: number): string {
  return decoder.decode(entryBytes(table, i))
}
