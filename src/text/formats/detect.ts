// Which format a model answers in, told by its chat template.
import type { FormatName, ToolFormat } from './format.ts'
import {
  commandR,
  deepseek,
  deepseekFenced,
  granite,
  hermes,
  kimi,
  llama3,
  mistral,
  mistralList,
  nemotron,
  phi4Mini,
  plain,
} from './json_formats.ts'
import {
  deepseekDsml,
  functionGemma,
  gemma4,
  glm,
  harmony,
  minimax,
  qwenCoder,
} from './tag_formats.ts'

/** A format applies where the template has all of these texts; the first that applies is taken. */
const signs: readonly (readonly [format: ToolFormat, ...texts: string[]])[] = [
  [harmony, '<|channel|>', '<|message|>', '<|start|>'],
  [deepseekDsml, '｜DSML｜'],
  [deepseekFenced, '<｜tool▁call▁begin｜>', '```json'],
  [deepseek, '<｜tool▁call▁begin｜>'],
  [kimi, '<|tool_call_begin|>'],
  [gemma4, '<|tool_call>call:'],
  [functionGemma, '<start_function_call>'],
  [minimax, '<minimax:tool_call>'],
  [commandR, '<|START_ACTION|>'],
  [commandR, 'Action:', 'tool_name'],
  [mistral, '[TOOL_CALLS]', '[ARGS]'],
  [mistralList, '[TOOL_CALLS]'],
  [glm, '<tool_call>', '<arg_key>'],
  [qwenCoder, '<tool_call>', '<function='],
  [hermes, '<tool_call>'],
  [granite, '<|tool_call|>', '<|start_of_role|>'],
  [phi4Mini, '<|tool_call|>'],
  [phi4Mini, '<|tool|>', '<|/tool|>'],
  [nemotron, '<TOOLCALL>'],
  [granite, '<|start_of_role|>', 'tools'],
  [llama3, '<|python_tag|>'],
  [llama3, '<|start_header_id|>', 'tools', '"parameters"'],
  [llama3, '<|header_start|>', 'tools', '"parameters"'],
  [mistral, '[THINK]'],
  [commandR, '<|START_THINKING|>'],
  [gemma4, '<|channel>'],
]

const all: ReadonlyMap<FormatName, ToolFormat> = new Map(
  [plain, ...signs.map(([format]) => format)].map((format) => [format.name, format]),
)

/**
 * The format of a template's model; `plain` (think tags, no calls) where nothing tells of another.
 *
 * ```ts
 * const parser = detectFormat(template.source).parser({ tools })
 * for await (const delta of deltas) for (const part of parser.push(delta)) show(part)
 * for (const part of parser.end()) show(part)
 * ```
 */
export function detectFormat(templateSource: string): ToolFormat {
  const found = signs.find(([, ...texts]) => texts.every((text) => templateSource.includes(text)))
  return found?.[0] ?? plain
}

export function formatByName(name: FormatName): ToolFormat {
  return all.get(name)!
}

export const formatNames: readonly FormatName[] = [...all.keys()].sort()

/** Whether a prompt ends inside a reasoning block, as templates that make a model think have it. */
export function promptOpensReasoning(prompt: string, format: ToolFormat): boolean {
  const end = prompt.trimEnd()
  return format.reasoningMarks.some((mark) => end.endsWith(mark.trimEnd()))
}
