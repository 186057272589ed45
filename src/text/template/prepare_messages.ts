// Brings messages into the shape a template understands.
import type { TemplateCapabilities } from './capabilities.ts'
import type { TemplateMessage } from './chat_template.ts'

export interface PrepareOptions {
  /**
   * What becomes of system messages. `keep`: they stay where they are, and a template that refuses
   * them says so. `merge`: all of them become one, first message. `user`: as `merge`, and a
   * template without a system role finds the text at the start of the first user message.
   * Default: `keep`.
   */
  readonly system?: 'keep' | 'merge' | 'user'
}

/**
 * Arguments of tool calls become objects or JSON strings, contents strings or lists of parts,
 * reasoning moves to the field the template reads, and tool results that are no text become JSON.
 * Messages that already fit stay the same objects.
 *
 * ```ts
 * const can = templateCapabilities(template)
 * template.render({ messages: prepareMessages(messages, can, { system: 'merge' }) })
 * ```
 */
export function prepareMessages(
  messages: readonly TemplateMessage[],
  can: TemplateCapabilities,
  options: PrepareOptions = {},
): TemplateMessage[] {
  const placed = placeSystem(messages, can, options.system ?? 'keep')
  return placed.map((message) => withReasoning(withArguments(withContent(message, can), can), can))
}

function isSystem(message: TemplateMessage): boolean {
  return message.role === 'system' || message.role === 'developer'
}

function placeSystem(
  messages: readonly TemplateMessage[],
  can: TemplateCapabilities,
  rule: 'keep' | 'merge' | 'user',
): readonly TemplateMessage[] {
  const systems = messages.filter(isSystem)
  if (rule === 'keep' || systems.length === 0) return messages
  const others = messages.filter((message) => !isSystem(message))
  const text = systems.map((message) => textOf(message.content)).join('\n\n')
  if (rule === 'merge' || can.system) return [{ ...systems[0]!, content: text }, ...others]
  const first = others.findIndex((message) => message.role === 'user')
  if (first < 0) return [{ role: 'user', content: text }, ...others]
  const user = others[first]!
  const merged = { ...user, content: prefixed(text, user.content) }
  return others.map((message, i) => (i === first ? merged : message))
}

function prefixed(text: string, content: unknown): unknown {
  if (Array.isArray(content)) return [{ type: 'text', text: `${text}\n\n` }, ...content]
  return `${text}\n\n${textOf(content)}`
}

/** The text of a content, its text parts joined. */
function textOf(content: unknown): string {
  if (Array.isArray(content)) return content.map(textOfPart).join('')
  return content === null || content === undefined ? '' : asText(content)
}

function textOfPart(part: unknown): string {
  return isRecord(part) && typeof part.text === 'string' ? part.text : ''
}

function asText(content: unknown): string {
  return isRecord(content) ? JSON.stringify(content) : String(content)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isTextPart(part: unknown): boolean {
  return isRecord(part) && typeof part.text === 'string'
}

function withContent(message: TemplateMessage, can: TemplateCapabilities): TemplateMessage {
  const { content } = message
  if (Array.isArray(content)) {
    const joinable = !can.partContent && content.every(isTextPart)
    return joinable ? { ...message, content: textOf(content) } : message
  }
  if (message.role === 'tool' && isRecord(content) && !('value' in content)) {
    return { ...message, content: JSON.stringify(content) }
  }
  const needsParts = !can.textContent && can.partContent && typeof content === 'string'
  return needsParts ? { ...message, content: [{ type: 'text', text: content }] } : message
}

function withArguments(message: TemplateMessage, can: TemplateCapabilities): TemplateMessage {
  const calls = message.tool_calls
  if (!Array.isArray(calls)) return message
  const tool_calls = calls.map((call: unknown) => {
    const target = isRecord(call) ? call.function : undefined
    if (!isRecord(target)) return call
    const shaped = argumentsAs(target.arguments, can.argumentsAs)
    return { ...(call as object), function: { ...target, arguments: shaped } }
  })
  return { ...message, tool_calls }
}

/** A string that is no JSON stays as it is: the template shows what the model wrote. */
function argumentsAs(args: unknown, shape: 'object' | 'string'): unknown {
  if (shape === 'string') return typeof args === 'string' ? args : JSON.stringify(args ?? {})
  if (typeof args !== 'string') return args
  try {
    const parsed: unknown = JSON.parse(args)
    return isRecord(parsed) ? parsed : args
  } catch {
    return args
  }
}

const reasoningFields = ['reasoning_content', 'reasoning', 'thinking'] as const

function withReasoning(message: TemplateMessage, can: TemplateCapabilities): TemplateMessage {
  const target = can.reasoningField
  if (target === undefined || message[target] !== undefined) return message
  const source = reasoningFields.find((field) => typeof message[field] === 'string')
  return source === undefined ? message : { ...message, [target]: message[source] }
}
