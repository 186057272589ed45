// Formats whose calls are JSON between marks.
import { callsOfJson, headedJsonBody, jsonBody, type RawCall } from './call_body.ts'
import { callSchema, constrain, parametersOf, type ToolFormat } from './format.ts'
import { type MarkedFormat, MarkedParser } from './output_parser.ts'
import { bareCallBegins, bareCallBody, pythonTagBody } from './python_calls.ts'

export const thinkTags = [['<think>', '</think>']] as const

/** Names of all marks a format has, for `ToolFormat.marks`. */
export function marksOf(format: MarkedFormat): string[] {
  return [
    ...format.reasoning.flat(),
    ...format.calls.map(({ open }) => open),
    ...(format.dropped ?? []),
    ...(format.afterCall ?? []),
  ]
}

export function marked(
  name: ToolFormat['name'],
  format: MarkedFormat,
  constraint: ToolFormat['constraint'],
): ToolFormat {
  return {
    name,
    marks: marksOf(format),
    reasoningMarks: format.reasoning.map(([open]) => open),
    parser: (options) => new MarkedParser(format, options),
    constraint,
  }
}

/** No calls; reasoning between think tags where the model writes them. */
export const plain = marked('plain', { reasoning: thinkTags, calls: [] }, () => undefined)

/** Hermes 2 Pro and later, Qwen 2.5 and 3, Granite 4: JSON between tool_call tags. */
export const hermes = marked(
  'hermes',
  {
    reasoning: thinkTags,
    calls: [{ open: '<tool_call>', body: jsonBody }],
    afterCall: ['</tool_call>'],
  },
  (tools) =>
    constrain(tools, { triggers: ['<tool_call>'], separator: '\n' }, (tool) => [
      { literal: '<tool_call>\n' },
      { schema: callSchema(tool) },
      { literal: '\n</tool_call>' },
    ]),
)

/** Llama 3.1 to 4: JSON with `parameters`, with or without a mark; several with semicolons. */
export const llama3 = marked(
  'llama-3',
  {
    reasoning: thinkTags,
    calls: [{ open: '<|python_tag|>', body: pythonTagBody }],
    dropped: ['<|eom_id|>', '<|eot_id|>', '<|python_start|>', '<|python_end|>'],
    afterCall: [';', ','],
    bare: { begins: bareCallBegins, body: bareCallBody },
  },
  (tools) =>
    constrain(tools, { triggers: ['{"name"', '<|python_tag|>'], separator: '; ' }, (tool) => [
      { schema: callSchema(tool, 'name', 'parameters') },
    ]),
)

/** Granite 3: a list of calls after a mark. */
export const granite = marked(
  'granite',
  {
    reasoning: thinkTags,
    calls: [
      { open: '<|tool_call|>', body: jsonBody },
      { open: '<tool_call>', body: jsonBody },
    ],
    dropped: ['<response>', '</response>'],
    afterCall: ['</tool_call>'],
  },
  (tools) =>
    constrain(
      tools,
      { triggers: ['<|tool_call|>'], begin: '<|tool_call|>[', separator: ', ', end: ']' },
      (tool) => [{ schema: callSchema(tool) }],
    ),
)

/** Phi-4-mini: a list between marks. */
export const phi4Mini = marked(
  'phi-4-mini',
  {
    reasoning: thinkTags,
    calls: [{ open: '<|tool_call|>', body: jsonBody }],
    afterCall: ['<|/tool_call|>'],
  },
  (tools) =>
    constrain(
      tools,
      {
        triggers: ['<|tool_call|>'],
        begin: '<|tool_call|>[',
        separator: ', ',
        end: ']<|/tool_call|>',
      },
      (tool) => [{ schema: callSchema(tool) }],
    ),
)

/** Nemotron: a list between TOOLCALL tags. */
export const nemotron = marked(
  'nemotron',
  {
    reasoning: thinkTags,
    calls: [{ open: '<TOOLCALL>', body: jsonBody }],
    afterCall: ['</TOOLCALL>'],
  },
  (tools) =>
    constrain(
      tools,
      { triggers: ['<TOOLCALL>'], begin: '<TOOLCALL>[', separator: ', ', end: ']</TOOLCALL>' },
      (tool) => [{ schema: callSchema(tool) }],
    ),
)

/** Command R7B and A: a list with names of their own, thinking and answer between marks. */
export const commandR = marked(
  'command-r',
  {
    reasoning: [['<|START_THINKING|>', '<|END_THINKING|>'], ...thinkTags],
    calls: [
      // Its ids count from 0 in every answer: they cannot tell calls of a conversation apart.
      { open: '<|START_ACTION|>', body: jsonBody },
      // Command R and R+ write the list in a code block after a word.
      { open: 'Action:', body: fencedList },
    ],
    dropped: ['<|START_RESPONSE|>', '<|END_RESPONSE|>', '<|START_TEXT|>', '<|END_TEXT|>'],
    afterCall: ['<|END_ACTION|>', '```'],
  },
  (tools) =>
    constrain(
      tools,
      {
        triggers: ['<|START_ACTION|>'],
        begin: '<|START_ACTION|>[',
        separator: ', ',
        end: ']<|END_ACTION|>',
      },
      (tool) => [{ schema: commandSchema(tool) }],
    ),
)

function commandSchema(tool: { name: string; parameters?: unknown }): unknown {
  return {
    type: 'object',
    properties: {
      tool_call_id: { type: 'string', pattern: '^[0-9]+$' },
      tool_name: { const: tool.name },
      parameters: parametersOf(tool),
    },
    required: ['tool_call_id', 'tool_name', 'parameters'],
    additionalProperties: false,
  }
}

function fencedList() {
  const inner = jsonBody()
  let from: number | undefined
  return {
    read(text: string, ended: boolean) {
      if (from === undefined) {
        const head = /^\s*(?:```(?:json)?\s*)?(?=[[{])/.exec(text)
        if (head) from = head[0].length
        else if (ended || !/^\s*(?:`{0,2}|```[a-z]*\s*)$/.test(text)) return 'reject' as const
        else return 'more' as const
      }
      const result = inner.read(text.slice(from), ended)
      return typeof result === 'string' ? result : { ...result, end: result.end + from }
    },
  }
}

/** A bracket later than the start belongs to a mark such as [ARGS]. */
const mistralStart = /\{|(?<=^\s*)\[/

const mistralMarks: MarkedFormat = {
  reasoning: [['[THINK]', '[/THINK]'], ...thinkTags],
  calls: [{ open: '[TOOL_CALLS]', body: () => headedJsonBody(mistralCalls, mistralStart) }],
}

/** Mistral since 2025: a name and its arguments after each mark. */
export const mistral = marked('mistral', mistralMarks, (tools) =>
  constrain(tools, { triggers: ['[TOOL_CALLS]'] }, (tool) => [
    { literal: `[TOOL_CALLS]${tool.name}[ARGS]` },
    { schema: parametersOf(tool) },
  ]),
)

/** Mistral before: one mark and a list. */
export const mistralList = marked('mistral-list', mistralMarks, (tools) =>
  constrain(
    tools,
    { triggers: ['[TOOL_CALLS]'], begin: '[TOOL_CALLS][', separator: ', ', end: ']' },
    (tool) => [{ schema: callSchema(tool) }],
  ),
)

/** `name[CALL_ID]id[ARGS]{…}`, `name{…}`, or a list of calls. */
function mistralCalls(header: string, value: unknown): RawCall[] | undefined {
  if (header.trim() === '') return callsOfJson(value)
  const match = /^\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*(\w+)\s*)?(?:\[ARGS\]\s*)?$/.exec(header)
  return match ? [{ name: match[1]!, args: value, id: match[2] }] : undefined
}

const bar = '｜'

const deepseekMarks: MarkedFormat = {
  reasoning: thinkTags,
  calls: [
    { open: `<${bar}tool▁call▁begin${bar}>`, body: () => headedJsonBody(deepseekCalls, /[{]/) },
  ],
  dropped: [`<${bar}tool▁calls▁begin${bar}>`, `<${bar}tool▁calls▁end${bar}>`],
  afterCall: ['```', `<${bar}tool▁call▁end${bar}>`],
}

const deepseekWrapping = {
  triggers: [`<${bar}tool▁calls▁begin${bar}>`],
  begin: `<${bar}tool▁calls▁begin${bar}>`,
  end: `<${bar}tool▁calls▁end${bar}>`,
}

/** DeepSeek V3.1: the name, then JSON. */
export const deepseek = marked('deepseek', deepseekMarks, (tools) =>
  constrain(tools, deepseekWrapping, (tool) => [
    { literal: `<${bar}tool▁call▁begin${bar}>${tool.name}<${bar}tool▁sep${bar}>` },
    { schema: parametersOf(tool) },
    { literal: `<${bar}tool▁call▁end${bar}>` },
  ]),
)

/** DeepSeek V3 and R1: a type, the name, and JSON in a code block. */
export const deepseekFenced = marked('deepseek-fenced', deepseekMarks, (tools) =>
  constrain(tools, { ...deepseekWrapping, separator: '\n' }, (tool) => [
    {
      literal:
        `<${bar}tool▁call▁begin${bar}>function<${bar}tool▁sep${bar}>${tool.name}` + '\n```json\n',
    },
    { schema: parametersOf(tool) },
    { literal: `\n\`\`\`<${bar}tool▁call▁end${bar}>` },
  ]),
)

function deepseekCalls(header: string, args: unknown): RawCall[] | undefined {
  const [before, after, more] = header.split(`<${bar}tool▁sep${bar}>`)
  if (after === undefined || more !== undefined) return undefined
  const block = /^\s*([^\s`]+)\s*```(?:json)?\s*$/.exec(after)
  const name = block?.[1] ?? (after.trim() === '' ? before!.trim() : '')
  return name === '' ? undefined : [{ name, args }]
}

/** Kimi K2: ids of the form functions.name:index, which its template wants back. */
export const kimi = marked(
  'kimi-k2',
  {
    reasoning: thinkTags,
    calls: [{ open: '<|tool_call_begin|>', body: () => headedJsonBody(kimiCalls, /[{]/) }],
    dropped: ['<|tool_calls_section_begin|>', '<|tool_calls_section_end|>'],
    afterCall: ['<|tool_call_end|>'],
  },
  (tools) =>
    constrain(
      tools,
      {
        triggers: ['<|tool_calls_section_begin|>'],
        begin: '<|tool_calls_section_begin|>',
        end: '<|tool_calls_section_end|>',
      },
      (tool) => [
        { literal: `<|tool_call_begin|>functions.${tool.name}:` },
        { schema: { type: 'integer', minimum: 0 } },
        { literal: '<|tool_call_argument_begin|>' },
        { schema: parametersOf(tool) },
        { literal: '<|tool_call_end|>' },
      ],
    ),
)

function kimiCalls(header: string, args: unknown): RawCall[] | undefined {
  const match = /^\s*((?:functions\.)?([\w.-]+?):\d+)\s*<\|tool_call_argument_begin\|>\s*$/.exec(
    header,
  )
  return match ? [{ name: match[2]!, args, id: match[1] }] : undefined
}
