// Ends a prompt inside its last message, so that the model goes on with it (assistant prefill).
import { TemplateError } from '../../errors/index.ts'
import type { TemplateMessage } from './chat_template.ts'
import { TrustedString, trusted } from './from_js.ts'
import type { RenderedPrompt } from './prompt.ts'

/**
 * Stands at the end of the open message while the template renders. Private-use characters, so
 * that no text has it by chance; its last space tells whether the template trims contents.
 */
const openEnd = '\ue0a1continues-here\ue0a2 '

/** The messages, the last one with the mark at the end of its text. */
export function leaveOpen(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const last = messages.at(-1)
  if (!last) throw new TypeError('continueFinalMessage needs a message to continue')
  return [...messages.slice(0, -1), { ...last, content: marked(last.content) }]
}

function marked(content: unknown): unknown {
  if (typeof content === 'string') return content + openEnd
  if (content instanceof TrustedString) return trusted(content.value + openEnd)
  if (Array.isArray(content)) {
    const last: unknown = content.at(-1)
    const text = typeof last === 'object' && last !== null && 'text' in last ? last.text : undefined
    if (typeof text === 'string') {
      return [...content.slice(0, -1), { ...(last as object), text: text + openEnd }]
    }
  }
  throw new TypeError('continueFinalMessage needs a last message whose content ends in text')
}

/** The prompt up to the mark; white space before it goes where the template trims contents. */
export function cutAtOpenEnd(prompt: RenderedPrompt): RenderedPrompt {
  const at = prompt.text.lastIndexOf(openEnd.trimEnd())
  if (at < 0) {
    throw new TemplateError(1, 1, 'the last message cannot be continued: it is not in the prompt')
  }
  if (prompt.text.startsWith(openEnd, at)) return prompt.cut(at)
  return prompt.cut(prompt.text.slice(0, at).trimEnd().length)
}
