// Which chat template to use: the model file's own, or a built-in one where it carries none.
import { type BuiltinTemplate, builtinTemplate, type ModelHints } from './builtin.ts'

export interface TemplateChoice extends BuiltinTemplate {
  /** Where it comes from; show it to people when it is `builtin`. */
  readonly origin: 'file' | 'builtin'
}

export interface ChoiceOptions {
  /** The conversation has tools: a file's template for tool use is taken where there is one. */
  readonly tools?: boolean | undefined
  /** A template of the file by its name, such as `rag`. */
  readonly name?: string | undefined
}

const key = 'tokenizer.chat_template'

/**
 * The template of a model file. Undefined when it has none (of that name) and its format is not
 * known either: then the caller must ask for one, since a guess would garble every prompt.
 *
 * ```ts
 * const choice = chooseTemplate((key) => metadata.get(key), hints, { tools: true })
 * ```
 */
export function chooseTemplate(
  metadata: (key: string) => unknown,
  hints: ModelHints,
  { tools, name }: ChoiceOptions = {},
): TemplateChoice | undefined {
  const named = (wanted: string): TemplateChoice | undefined => {
    const source = metadata(wanted === 'default' ? key : `${key}.${wanted}`)
    const usable = typeof source === 'string' && source !== ''
    return usable ? { name: wanted, source, origin: 'file' } : undefined
  }
  if (name !== undefined) return named(name)
  const own = (tools ? named('tool_use') : undefined) ?? named('default')
  if (own) return own
  const builtin = builtinTemplate(hints)
  return builtin && { ...builtin, origin: 'builtin' }
}
