// Llama's calls of built-in tools: brave_search.call(query="…"), or plain code for the interpreter.
import type { CallBody, RawCall } from './call_body.ts'
import { jsonBody } from './call_body.ts'
import { readJson } from './json_value.ts'
import type { ParserOptions } from './parts.ts'

/** Names under which an interpreter takes code. */
const interpreters: ReadonlySet<string> = new Set(['python', 'ipython', 'code_interpreter'])

/** What follows `<|python_tag|>`: JSON, a call in Python's notation, or code. */
export function pythonTagBody(options: ParserOptions): CallBody {
  const json = jsonBody()
  let isJson: boolean | undefined
  return {
    read(text, ended) {
      const first = text.trimStart()[0]
      if (first === undefined) return ended ? 'reject' : 'more'
      isJson ??= first === '{' || first === '['
      if (isJson) return json.read(text, ended)
      if (!ended) return 'more'
      const call = builtinCall(text.trim()) ?? code(text, options)
      return call ? { calls: [call], end: text.length } : 'reject'
    },
  }
}

/** `name.call(key="text", other=2)`. */
function builtinCall(text: string): RawCall | undefined {
  const match = /^([A-Za-z_]\w*)\.call\(([\s\S]*)\)$/.exec(text)
  if (!match) return undefined
  const args: [string, unknown][] = []
  let at = 0
  const inside = match[2]!
  const argument = /\s*([A-Za-z_]\w*)\s*=\s*("(?:[^"\\]|\\[\s\S])*"|[^,"]+)\s*(?:,|$)/y
  while (at < inside.length) {
    argument.lastIndex = at
    const found = argument.exec(inside)
    const value = found && readJson(found[2]!.trim())
    if (!value) return undefined
    args.push([found[1]!, value.value])
    at = argument.lastIndex
  }
  return { name: match[1]!, args: Object.fromEntries(args) }
}

function code(text: string, options: ParserOptions): RawCall | undefined {
  const tool = options.tools?.find(({ name }) => interpreters.has(name))
  return tool && { name: tool.name, args: { code: text } }
}

/** `{"name": …, "parameters": …}` without a mark: only names of known tools make it a call. */
export function bareCallBody(options: ParserOptions): CallBody {
  const inner = jsonBody()
  return {
    read(text, ended) {
      const result = inner.read(text, ended)
      if (typeof result === 'string') return result
      const known = result.calls.every(({ name }) => options.tools?.some((t) => t.name === name))
      return known ? result : 'reject'
    },
  }
}

/** Whether text may be such an object: after the brace its first member must be one of a call. */
export function bareCallBegins(text: string): 'no' | 'maybe' | 'yes' {
  const tight = text.slice(0, 64).replace(/\s+/g, '')
  const begins = ['name', 'type', 'function', 'parameters', 'id'].map((key) => `{"${key}"`)
  if (begins.some((begin) => tight.startsWith(begin))) return 'yes'
  return begins.some((begin) => begin.startsWith(tight)) ? 'maybe' : 'no'
}
