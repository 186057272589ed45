// Calls written as tags instead of JSON: one element for each argument.
import type { RawCall } from './call_body.ts'
import { isRecord, readJson } from './json_value.ts'
import type { ParserOptions } from './parts.ts'

/**
 * `<function=name><parameter=key>value</parameter></function>`, as Qwen3-Coder writes it. One line
 * end on each side of a value belongs to the tags.
 */
export function functionTags(inside: string, options: ParserOptions): RawCall[] | undefined {
  const calls: RawCall[] = []
  for (const [, name, body] of inside.matchAll(
    /<function=([^>\n]+)>([\s\S]*?)(?:<\/function>|$)/g,
  )) {
    const args: Record<string, unknown> = {}
    const pattern = /<parameter=([^>\n]+)>\n?([\s\S]*?)(?:\n?<\/parameter>|$)/g
    for (const [, key, value] of body!.matchAll(pattern)) {
      setArgument(args, key!.trim(), value!, name!.trim(), options)
    }
    calls.push({ name: name!.trim(), args })
  }
  return calls.length > 0 ? calls : undefined
}

/** `name`, then `<arg_key>key</arg_key><arg_value>value</arg_value>`, as GLM 4.5 writes it. */
export function keyValueTags(inside: string, options: ParserOptions): RawCall[] | undefined {
  const name = /^\s*([\w.-]+)\s*(?=$|<arg_key>)/.exec(inside)?.[1]
  if (name === undefined) return undefined
  const args: Record<string, unknown> = {}
  const pattern = /<arg_key>([\s\S]*?)<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>/g
  for (const [, key, value] of inside.matchAll(pattern)) {
    setArgument(args, key!.trim(), value!, name, options)
  }
  return [{ name, args }]
}

/** `<invoke name="…"><parameter name="…">value</parameter></invoke>`; tags begin with `prefix`. */
export function invokeTags(
  inside: string,
  options: ParserOptions,
  prefix = '',
): RawCall[] | undefined {
  const calls: RawCall[] = []
  const tag = (name: string) => `${prefix}${name}`
  const invoke = new RegExp(`<${tag('invoke')} name="([^"]+)">([\\s\\S]*?)</${tag('invoke')}>`, 'g')
  const parameter = new RegExp(
    `<${tag('parameter')} name="([^"]+)"(?: string="(true|false)")?>` +
      `([\\s\\S]*?)</${tag('parameter')}>`,
    'g',
  )
  for (const [, name, body] of inside.matchAll(invoke)) {
    const args: Record<string, unknown> = {}
    for (const [, key, isString, value] of body!.matchAll(parameter)) {
      if (isString === 'true') define(args, key!, value!)
      else setArgument(args, key!, value!, name!, options)
    }
    calls.push({ name: name!, args })
  }
  return calls.length > 0 ? calls : undefined
}

/** Tags carry no types: the tool's schema decides what is a string, JSON what is not. */
function setArgument(
  args: Record<string, unknown>,
  key: string,
  text: string,
  name: string,
  options: ParserOptions,
): void {
  const types = typesOf(schemaOf(key, name, options))
  const json = readJson(text.trim())
  const onlyString = types.length > 0 && types.every((type) => type === 'string')
  const wantsOther = types.some((type) => type !== 'string')
  const unknown = types.length === 0
  const plainJson = json !== undefined && typeof json.value !== 'string'
  define(args, key, !onlyString && plainJson && (wantsOther || unknown) ? json.value : text)
}

/** `__proto__` must become a member, not a prototype. */
function define(args: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(args, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

function schemaOf(key: string, name: string, options: ParserOptions): unknown {
  const tool = options.tools?.find((one) => one.name === name)
  const parameters = tool?.parameters
  const properties = isRecord(parameters) ? parameters.properties : undefined
  return isRecord(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined
}

function typesOf(schema: unknown): string[] {
  if (!isRecord(schema)) return []
  const { type } = schema
  if (typeof type === 'string') return [type]
  return Array.isArray(type) ? type.filter((one) => typeof one === 'string') : []
}
