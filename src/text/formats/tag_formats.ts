// Formats whose calls are tags or a notation of their own, which no JSON Schema describes.
import { type CallBody, closedBody, type RawCall } from './call_body.ts'
import { constrain, parametersOf, type ToolFormat } from './format.ts'
import { gemmaCalls } from './gemma_calls.ts'
import { HarmonyParser } from './harmony.ts'
import { marked, thinkTags } from './json_formats.ts'
import type { ParserOptions } from './parts.ts'
import { functionTags, invokeTags, keyValueTags } from './tagged_calls.ts'

type Reader = (inside: string, options: ParserOptions) => RawCall[] | undefined

function closed(close: string, read: Reader): (options: ParserOptions) => CallBody {
  return (options) => closedBody(close, (inside) => read(inside, options))
}

/** Qwen3-Coder: an element for each parameter. */
export const qwenCoder = marked(
  'qwen-coder',
  {
    reasoning: thinkTags,
    calls: [{ open: '<tool_call>', body: closed('</tool_call>', functionTags) }],
  },
  (tools) =>
    constrain(tools, { triggers: ['<tool_call>'], separator: '\n' }, (tool) => [
      { literal: `<tool_call>\n<function=${tool.name}>\n` },
      { until: '</function>' },
      { literal: '</function>\n</tool_call>' },
    ]),
)

/** GLM 4.5 and later: keys and values in elements of their own. */
export const glm = marked(
  'glm',
  {
    reasoning: thinkTags,
    calls: [{ open: '<tool_call>', body: closed('</tool_call>', keyValueTags) }],
  },
  (tools) =>
    constrain(tools, { triggers: ['<tool_call>'], separator: '\n' }, (tool) => [
      { literal: `<tool_call>${tool.name}\n` },
      { until: '</tool_call>' },
      { literal: '</tool_call>' },
    ]),
)

/** MiniMax M2: invoke elements. */
export const minimax = marked(
  'minimax',
  {
    reasoning: thinkTags,
    calls: [
      {
        open: '<minimax:tool_call>',
        body: closed('</minimax:tool_call>', (t, o) => invokeTags(t, o)),
      },
    ],
  },
  (tools) =>
    constrain(
      tools,
      {
        triggers: ['<minimax:tool_call>'],
        begin: '<minimax:tool_call>\n',
        separator: '\n',
        end: '\n</minimax:tool_call>',
      },
      (tool) => [
        { literal: `<invoke name="${tool.name}">\n` },
        { until: '</invoke>' },
        { literal: '</invoke>' },
      ],
    ),
)

const dsml = '｜DSML｜'

/** DeepSeek V3.2: invoke elements under a prefix, strings marked as such. */
export const deepseekDsml = marked(
  'deepseek-dsml',
  {
    reasoning: thinkTags,
    calls: [
      {
        open: `<${dsml}function_calls>`,
        body: closed(`</${dsml}function_calls>`, (inside, options) =>
          invokeTags(inside, options, dsml),
        ),
      },
    ],
  },
  (tools) =>
    constrain(
      tools,
      {
        triggers: [`<${dsml}function_calls>`],
        begin: `<${dsml}function_calls>\n`,
        separator: '\n',
        end: `\n</${dsml}function_calls>`,
      },
      (tool) => [
        { literal: `<${dsml}invoke name="${tool.name}">\n` },
        { until: `</${dsml}invoke>` },
        { literal: `</${dsml}invoke>` },
      ],
    ),
)

export const gemma4 = marked(
  'gemma-4',
  {
    reasoning: [['<|channel>thought', '<channel|>']],
    calls: [{ open: '<|tool_call>', body: closed('<tool_call|>', (t) => gemmaCalls(t, '<|"|>')) }],
    dropped: ['<turn|>'],
  },
  (tools) =>
    constrain(tools, { triggers: ['<|tool_call>'] }, (tool) => [
      { literal: `<|tool_call>call:${tool.name}{` },
      { until: '<tool_call|>' },
      { literal: '<tool_call|>' },
    ]),
)

export const functionGemma = marked(
  'function-gemma',
  {
    reasoning: [],
    calls: [
      {
        open: '<start_function_call>',
        body: closed('<end_function_call>', (t) => gemmaCalls(t, '<escape>')),
      },
    ],
    dropped: ['<end_of_turn>'],
  },
  (tools) =>
    constrain(tools, { triggers: ['<start_function_call>'] }, (tool) => [
      { literal: `<start_function_call>call:${tool.name}{` },
      { until: '<end_function_call>' },
      { literal: '<end_function_call>' },
    ]),
)

const harmonyWrapping = {
  triggers: ['<|channel|>commentary to='],
  separator: '<|call|><|start|>assistant',
  end: '<|call|>',
}

/** gpt-oss. */
export const harmony: ToolFormat = {
  name: 'harmony',
  marks: ['<|start|>', '<|channel|>', '<|message|>', '<|end|>', '<|return|>', '<|call|>'],
  reasoningMarks: ['<|channel|>analysis<|message|>'],
  parser: (options) => new HarmonyParser(options),
  constraint: (tools) =>
    constrain(tools, harmonyWrapping, (tool) => [
      {
        literal: `<|channel|>commentary to=functions.${tool.name} <|constrain|>json<|message|>`,
      },
      { schema: parametersOf(tool) },
    ]),
}
