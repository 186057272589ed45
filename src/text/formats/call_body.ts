// Reads what follows the begin mark of a tool call.
import { isRecord, JsonEnd, readJson } from './json_value.ts'

export interface RawCall {
  readonly name: string
  readonly args: unknown
  readonly id?: string | undefined
}

/** `more`: not decided yet. `reject`: no call after all. Otherwise the calls and where they end. */
export type BodyResult = 'more' | 'reject' | { readonly calls: RawCall[]; readonly end: number }

export interface CallBody {
  /** `text` is everything since the begin mark and only grows; `ended`: nothing will follow. */
  read(text: string, ended: boolean): BodyResult
}

/** Longest text between a begin mark and its JSON, UTF-16 units. */
const headerMax = 1024

/** Names of the members of a call, as formats have them. */
const nameKeys = ['name', 'tool_name', 'function', 'tool'] as const
const argumentKeys = ['arguments', 'parameters', 'args', 'input'] as const

/** A call written as JSON: `{ "name": …, "arguments": … }`; undefined when it is none. */
function callOfJson(value: unknown): RawCall | undefined {
  if (!isRecord(value)) return undefined
  if (isRecord(value.function)) return callOfJson(value.function)
  const name = nameKeys.map((key) => value[key]).find((one) => typeof one === 'string')
  if (typeof name !== 'string' || name === '') return undefined
  const args = argumentKeys.map((key) => value[key]).find((one) => one !== undefined)
  const id = typeof value.id === 'string' ? value.id : undefined
  return { name, args: plainArguments(args), id }
}

/** Arguments as a JSON string inside of the JSON are read once more; none are an empty object. */
function plainArguments(args: unknown): unknown {
  if (args === undefined || args === null) return {}
  if (typeof args !== 'string') return args
  const inner = readJson(args)
  return inner && isRecord(inner.value) ? inner.value : args
}

/** One call or a list of calls as JSON. */
export function jsonBody(): CallBody {
  return headedJsonBody((header, value) => {
    return header.trim() === '' ? callsOfJson(value) : undefined
  })
}

/** A call or a list of calls; one that is none spoils the list. */
export function callsOfJson(value: unknown): RawCall[] | undefined {
  const calls = (Array.isArray(value) ? value : [value]).map(callOfJson)
  return calls.every((call) => call !== undefined) && calls.length > 0 ? calls : undefined
}

/** Text, then JSON; `calls` makes calls of both or says that they are none. */
export function headedJsonBody(
  calls: (header: string, value: unknown) => RawCall[] | undefined,
  start: RegExp = /[{[]/,
): CallBody {
  let from: number | undefined
  let scan: JsonEnd | undefined
  return {
    read(text, ended) {
      if (from === undefined) {
        const at = text.search(start)
        if (at < 0) return ended || text.length > headerMax ? 'reject' : 'more'
        from = at
        scan = new JsonEnd(at)
      }
      const end = scan!.find(text)
      if (end === undefined) return ended ? 'reject' : 'more'
      const json = readJson(text.slice(from, end))
      const found = json && calls(text.slice(0, from), json.value)
      return found ? { calls: found, end } : 'reject'
    },
  }
}

/** Everything up to a closing mark; at the end of the answer the mark may be missing. */
export function closedBody(
  close: string,
  calls: (inside: string) => RawCall[] | undefined,
): CallBody {
  let searched = 0
  return {
    read(text, ended) {
      const at = text.indexOf(close, searched)
      searched = Math.max(0, text.length - close.length)
      if (at < 0 && !ended) return 'more'
      const found = calls(at < 0 ? text : text.slice(0, at))
      return found ? { calls: found, end: at < 0 ? text.length : at + close.length } : 'reject'
    },
  }
}
