// Whether the tokenizer must still add the beginning-of-sequence token to a rendered prompt.
import type { RenderedPrompt } from './prompt.ts'

/**
 * Exactly one token begins a sequence: the one the template wrote, or else the tokenizer's where
 * the vocabulary asks for it. A template's own first tokens are kept even where the vocabulary
 * does not ask; text of a user that merely looks like the token does not count.
 *
 * ```ts
 * if (needsBos(prompt, '<s>', vocabulary.addBos)) ids.unshift(vocabulary.ids.bos)
 * ```
 */
export function needsBos(
  prompt: RenderedPrompt,
  bosToken: string | undefined,
  addBos: boolean,
): boolean {
  if (!addBos || bosToken === undefined || bosToken === '') return addBos
  return !(prompt.text.startsWith(bosToken) && prompt.isTrusted(0, bosToken.length))
}
