// Finds out what a chat template can render, by rendering small conversations with it.
import { TemplateError } from '../../errors/index.ts'
import type { ChatTemplate, RenderInput, TemplateMessage } from './chat_template.ts'

/** Fields of an assistant message that templates read reasoning from. */
export type ReasoningField = 'reasoning_content' | 'reasoning' | 'thinking'

/** Variables that switch reasoning on and off. */
export type ThinkingSwitch = 'enable_thinking' | 'thinking'

export interface TemplateCapabilities {
  /** A system message ends up in the prompt. */
  readonly system: boolean
  /** Content may be a string; content may be a list of `{ type: 'text', text }`. */
  readonly textContent: boolean
  readonly partContent: boolean
  /** Tools are described in the prompt. */
  readonly tools: boolean
  /** An assistant's tool calls, and several in one message, end up in the prompt. */
  readonly toolCalls: boolean
  readonly parallelToolCalls: boolean
  /** Messages of role `tool` end up in the prompt. */
  readonly toolResults: boolean
  /** Arguments of tool calls are wanted as an object or as a JSON string. */
  readonly argumentsAs: 'object' | 'string'
  /** Where earlier reasoning is read from; undefined where the template has no use for it. */
  readonly reasoningField: ReasoningField | undefined
  readonly thinkingSwitch: ThinkingSwitch | undefined
  /** The template reads `reasoning_effort`. */
  readonly reasoningEffort: boolean
}

const user = 'probe-user-text'
const system = 'probe-system-text'
const result = 'probe-tool-result'
const value = 'probe-argument-value'
const thought = 'probe-reasoning-text'

const tool = (name: string) => ({
  type: 'function',
  function: {
    name,
    description: 'probe-description',
    parameters: {
      type: 'object',
      properties: { probe_key: { type: 'string', description: 'probe' } },
      required: ['probe_key'],
    },
  },
})

/** Renders about twenty prompts of a few messages; a failing one means "cannot". */
export function templateCapabilities(template: ChatTemplate): TemplateCapabilities {
  const render = (input: RenderInput) => attempt(template, input)
  const says = (text: string | undefined, ...parts: string[]) =>
    text !== undefined && parts.every((part) => text.includes(part))
  const asked = { role: 'user', content: user }
  const plain = render({ messages: [asked] })
  const parts = render({ messages: [{ role: 'user', content: [{ type: 'text', text: user }] }] })
  const calls = toolCallProbe(render)
  return {
    system: says(render({ messages: [{ role: 'system', content: system }, asked] }), system),
    textContent: says(plain, user),
    // A template that prints the list itself shows its keys.
    partContent: says(parts, user) && !/['"]type['"]/.test(parts!),
    tools: says(render({ messages: [asked], tools: [tool('probe_tool')] }), 'probe_tool'),
    ...calls,
    reasoningField: reasoningField(render),
    ...switches(render, asked),
  }
}

type Render = (input: RenderInput) => string | undefined

function attempt(template: ChatTemplate, input: RenderInput): string | undefined {
  try {
    return template.render(input).text
  } catch (error) {
    if (error instanceof TemplateError) return undefined
    throw error
  }
}

/** Ids of nine letters and digits, the only ones Mistral's templates take. */
function called(args: unknown, ...names: string[]): TemplateMessage[] {
  const tool_calls = names.map((name, i) => ({
    id: `probe000${i}`,
    type: 'function',
    function: { name, arguments: args },
  }))
  return [
    { role: 'user', content: user },
    { role: 'assistant', content: '', tool_calls },
  ]
}

function answer(name: string, i: number): TemplateMessage {
  return { role: 'tool', name, tool_call_id: `probe000${i}`, content: result }
}

function toolCallProbe(
  render: Render,
): Pick<TemplateCapabilities, 'toolCalls' | 'parallelToolCalls' | 'toolResults' | 'argumentsAs'> {
  const object = { probe_key: value }
  const tools = [tool('probe_tool'), tool('probe_other')]
  const asObject = render({ tools, messages: called(object, 'probe_tool') })
  const asString = render({ tools, messages: called(JSON.stringify(object), 'probe_tool') })
  const shows = (text: string | undefined) =>
    text?.slice(text.lastIndexOf(user)).includes(value) ?? false
  // An object printed with Python's quotes, or a string escaped once more, is no JSON.
  const objectWorks = shows(asObject) && !/'probe_key'\s*:/.test(asObject!)
  const stringWorks = shows(asString) && !asString!.includes('\\"probe_key')
  const args = objectWorks || !stringWorks ? object : JSON.stringify(object)
  const both = render({
    tools,
    messages: [
      ...called(args, 'probe_tool', 'probe_other'),
      answer('probe_tool', 0),
      answer('probe_other', 1),
    ],
  })
  const answered = render({
    tools,
    messages: [...called(args, 'probe_tool'), answer('probe_tool', 0)],
  })
  const after = both?.slice(both.lastIndexOf(user)) ?? ''
  return {
    toolCalls: objectWorks || stringWorks,
    parallelToolCalls: after.includes('probe_tool') && after.includes('probe_other'),
    toolResults: answered?.includes(result) ?? false,
    argumentsAs: objectWorks || !stringWorks ? 'object' : 'string',
  }
}

/** Many templates keep the reasoning of the last turn only, some only around tool calls. */
function reasoningField(render: Render): ReasoningField | undefined {
  const fields: readonly ReasoningField[] = ['reasoning_content', 'reasoning', 'thinking']
  const tools = [tool('probe_tool')]
  return fields.find((field) => {
    const last = { role: 'assistant', content: 'probe-answer', [field]: thought }
    const [asked, calling] = called({ probe_key: value }, 'probe_tool')
    const looped = [asked!, { ...calling!, [field]: thought }, answer('probe_tool', 0)]
    const texts = [render({ messages: [asked!, last] }), render({ messages: looped, tools })]
    return texts.some((text) => text?.includes(thought))
  })
}

function switches(
  render: Render,
  asked: TemplateMessage,
): Pick<TemplateCapabilities, 'thinkingSwitch' | 'reasoningEffort'> {
  const differs = (name: string, a: unknown, b: unknown) => {
    const input = { messages: [asked], addGenerationPrompt: true }
    const first = render({ ...input, variables: { [name]: a } })
    return first !== undefined && first !== render({ ...input, variables: { [name]: b } })
  }
  const names: readonly ThinkingSwitch[] = ['enable_thinking', 'thinking']
  return {
    thinkingSwitch: names.find((name) => differs(name, true, false)),
    reasoningEffort: differs('reasoning_effort', 'low', 'high'),
  }
}
