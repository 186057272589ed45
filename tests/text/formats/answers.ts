// Answers as models write them, and the parts they are made of.
import type { FormatName, ParsedPart } from '../../../src/text/formats/index.ts'

export interface Answer {
  readonly name: string
  readonly format: FormatName
  readonly output: string
  readonly parts: readonly ParsedPart[]
}

export const tools = [
  {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer' },
        zip: { type: 'string' },
      },
      required: ['city'],
    },
  },
  { name: 'get_time', parameters: { type: 'object', properties: {} } },
  { name: 'python' },
]

const text = (value: string): ParsedPart => ({ type: 'text', text: value })
const reasoning = (value: string): ParsedPart => ({ type: 'reasoning', text: value })
const call = (name: string, args: unknown, id = 'id'): ParsedPart => ({
  type: 'tool-call',
  id,
  name,
  args,
})
const oslo = call('get_weather', { city: 'Oslo' })
const time = call('get_time', {})

export const answers: readonly Answer[] = [
  {
    name: 'plain text stays as it is',
    format: 'plain',
    output: ' Hello <b>you</b> {"name": 1}\n',
    parts: [text(' Hello <b>you</b> {"name": 1}\n')],
  },
  {
    name: 'think tags make reasoning; line ends at their borders go',
    format: 'plain',
    output: '<think>\nfirst\n\nsecond\n</think>\n\nDone.',
    parts: [reasoning('first\n\nsecond'), text('Done.')],
  },
  {
    name: 'a think tag after text is text',
    format: 'plain',
    output: 'The tag <think> opens and </think> closes.',
    parts: [text('The tag <think> opens and </think> closes.')],
  },
  {
    name: 'empty reasoning is no part',
    format: 'hermes',
    output: '<think>\n\n</think>\n\nYes.',
    parts: [text('Yes.')],
  },
  {
    name: 'reasoning that never ends is reasoning',
    format: 'hermes',
    output: '<think>\nand so on </thi',
    parts: [reasoning('and so on </thi')],
  },
  {
    name: 'text, then two calls',
    format: 'hermes',
    output:
      'Let me look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city' +
      '": "Oslo"}}\n</tool_call>\n' +
      '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>',
    parts: [text('Let me look.\n'), oslo, time],
  },
  {
    name: 'the end tag inside of a string does not end the call',
    format: 'hermes',
    output:
      '<tool_call>{"name": "get_weather", "arguments": {"city": "a</tool_call>}\\""}}</tool_call>',
    parts: [call('get_weather', { city: 'a</tool_call>}"' })],
  },
  {
    name: 'arguments as a string of JSON are read',
    format: 'hermes',
    output:
      '<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}</tool_call>',
    parts: [oslo],
  },
  {
    name: 'a line end inside of a string is forgiven',
    format: 'hermes',
    output: '<tool_call>{"name": "get_weather", "arguments": {"city": "a\nb"}}</tool_call>',
    parts: [call('get_weather', { city: 'a\nb' })],
  },
  {
    name: 'a call that is cut off is text',
    format: 'hermes',
    output: 'x <tool_call>\n{"name": "get_weather", "argum',
    parts: [text('x <tool_call>\n{"name": "get_weather", "argum')],
  },
  {
    name: 'a call without its end tag is a call',
    format: 'hermes',
    output: '<tool_call>\n{"name": "get_time", "arguments": {}}',
    parts: [time],
  },
  {
    name: 'broken JSON is text, and what follows is read on',
    format: 'hermes',
    output: '<tool_call>{nonsense}</tool_call><tool_call>{"name": "get_time"}</tool_call>',
    parts: [text('<tool_call>{nonsense}</tool_call>'), time],
  },
  {
    name: 'JSON without a name is text',
    format: 'hermes',
    output: '<tool_call>{"city": "Oslo"}</tool_call>',
    parts: [text('<tool_call>{"city": "Oslo"}</tool_call>')],
  },
  {
    name: 'reasoning, then a call',
    format: 'hermes',
    output:
      '<think>weather</think>\n<tool_call>{"name": "get_time", "arguments": {}}</tool_call>\n',
    parts: [reasoning('weather'), time],
  },
  {
    name: 'a call without a mark',
    format: 'llama-3',
    output: '{"name": "get_weather", "parameters": {"city": "Oslo"}}',
    parts: [oslo],
  },
  {
    name: 'two calls without marks',
    format: 'llama-3',
    output:
      '{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}; ' +
      '{"name": "get_time", "parameters": {}}<|eom_id|>',
    parts: [oslo, time],
  },
  {
    name: 'JSON that names no tool is text',
    format: 'llama-3',
    output: '{"name": "Ada", "born": 1815}',
    parts: [text('{"name": "Ada", "born": 1815}')],
  },
  {
    name: 'other JSON is text',
    format: 'llama-3',
    output: ' {"city": "Oslo"} is the answer',
    parts: [text(' {"city": "Oslo"} is the answer')],
  },
  {
    name: 'a marked call of JSON',
    format: 'llama-3',
    output: '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}<|eom_id|>',
    parts: [oslo],
  },
  {
    name: 'a built-in tool in the notation of Python',
    format: 'llama-3',
    output: '<|python_tag|>brave_search.call(query="a, \\"b\\" c", limit=3)',
    parts: [call('brave_search', { query: 'a, "b" c', limit: 3 })],
  },
  {
    name: 'code for the interpreter',
    format: 'llama-3',
    output: '<|python_tag|>print(1)\nprint(2)',
    parts: [call('python', { code: 'print(1)\nprint(2)' })],
  },
  {
    name: 'a list of calls',
    format: 'mistral-list',
    output:
      '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "abcdef001"}, ' +
      '{"name": "get_time", "arguments": {}}]',
    parts: [call('get_weather', { city: 'Oslo' }, 'abcdef001'), time],
  },
  {
    name: 'names before arguments, with and without ids',
    format: 'mistral',
    output:
      '[THINK]hm[/THINK]Now:[TOOL_CALLS]get_weather[CALL_ID]abcdef001[ARGS]{"city": "Oslo"}' +
      '[TOOL_CALLS]get_time[ARGS]{}',
    parts: [
      reasoning('hm'),
      text('Now:'),
      call('get_weather', { city: 'Oslo' }, 'abcdef001'),
      time,
    ],
  },
  {
    name: 'names before code blocks',
    format: 'deepseek-fenced',
    output:
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n' +
      '{"city": "Oslo"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time' +
      '\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    parts: [oslo, time],
  },
  {
    name: 'names before JSON',
    format: 'deepseek',
    output:
      'On it.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo"}' +
      '<｜tool▁call▁end｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{}<｜tool▁call▁end｜>' +
      '<｜tool▁calls▁end｜>',
    parts: [text('On it.'), oslo, time],
  },
  {
    name: 'invoke elements, strings marked',
    format: 'deepseek-dsml',
    output:
      '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n' +
      '<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n' +
      '<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n' +
      '</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    parts: [call('get_weather', { city: 'Oslo', days: 2 })],
  },
  {
    name: 'channels: analysis, preamble, call',
    format: 'harmony',
    output:
      '<|channel|>analysis<|message|>Need weather.<|end|><|start|>assistant<|channel|>commentary' +
      '<|message|>Looking.<|end|><|start|>assistant' +
      '<|channel|>commentary to=functions.get_weather ' +
      '<|constrain|>json<|message|>{"city": "Oslo"}<|call|>',
    parts: [reasoning('Need weather.'), text('Looking.'), oslo],
  },
  {
    name: 'a recipient before the channel',
    format: 'harmony',
    output: ' to=functions.get_time<|channel|>commentary json<|message|>{}<|call|>',
    parts: [time],
  },
  {
    name: 'the final channel is the text',
    format: 'harmony',
    output:
      '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final' +
      '<|message|>Hi < you' +
      '<|return|>',
    parts: [reasoning('hm'), text('Hi < you')],
  },
  {
    name: 'a body that is no JSON is text',
    format: 'harmony',
    output: '<|channel|>commentary to=functions.get_time<|message|>{oops<|call|>',
    parts: [text('{oops')],
  },
  {
    name: 'text without a header',
    format: 'harmony',
    output: 'to be continued',
    parts: [text('to be continued')],
  },
  {
    name: 'a thought, then a call with nested values',
    format: 'gemma-4',
    output:
      '<|channel>thought\nhm\n<channel|><|tool_call>call:get_weather{city:<|"|>Oslo, {N}<|"|>,' +
      'days:2,more:{list:[1.5,true,null],<|"|>a:b<|"|>:<|"|><|"|>}}<tool_call|>',
    parts: [
      reasoning('hm'),
      call('get_weather', {
        city: 'Oslo, {N}',
        days: 2,
        more: { list: [1.5, true, null], 'a:b': '' },
      }),
    ],
  },
  {
    name: 'a broken notation is text',
    format: 'gemma-4',
    output: '<|tool_call>call:get_weather{city:<tool_call|>!',
    parts: [text('<|tool_call>call:get_weather{city:<tool_call|>!')],
  },
  {
    name: 'escape marks around strings',
    format: 'function-gemma',
    output:
      '<start_function_call>call:get_weather{city:<escape>Oslo<escape>}<end_function_call>' +
      '<start_function_call>call:get_time{}<end_function_call>',
    parts: [oslo, time],
  },
  {
    name: 'thinking, action with names of its own',
    format: 'command-r',
    output:
      '<|START_THINKING|>I will look.<|END_THINKING|>' +
      '<|START_ACTION|>[\n    {"tool_call_id": "0", ' +
      '"tool_name": "get_weather", "parameters": {"city": "Oslo"}}\n]<|END_ACTION|>',
    parts: [reasoning('I will look.'), oslo],
  },
  {
    name: 'a response between marks',
    format: 'command-r',
    output: '<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>Hi!<|END_RESPONSE|>',
    parts: [reasoning('x'), text('Hi!')],
  },
  {
    name: 'a list in a code block',
    format: 'command-r',
    output: 'Action: ```json\n[{"tool_name": "get_weather", "parameters": {"city": "Oslo"}}]\n```',
    parts: [oslo],
  },
  {
    name: 'the word alone is text',
    format: 'command-r',
    output: 'Action: reaction',
    parts: [text('Action: reaction')],
  },
  {
    name: 'a list after a mark',
    format: 'granite',
    output: '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]',
    parts: [oslo],
  },
  {
    name: 'thinking and response tags',
    format: 'granite',
    output: '<think>a</think><response>b</response>',
    parts: [reasoning('a'), text('b')],
  },
  {
    name: 'a list between marks',
    format: 'phi-4-mini',
    output: '<|tool_call|>[{"name": "get_time", "arguments": {}}]<|/tool_call|>',
    parts: [time],
  },
  {
    name: 'a list between tags',
    format: 'nemotron',
    output: '<think>\n</think><TOOLCALL>[{"name": "get_time", "arguments": {}}]</TOOLCALL>',
    parts: [time],
  },
  {
    name: 'an element for each parameter, typed by the schema',
    format: 'qwen-coder',
    output:
      '<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\nNorway\n</parameter>\n' +
      '<parameter=days>\n2\n</parameter>\n<parameter=zip>\n0150\n</parameter>\n' +
      '<parameter=other>\n[1]\n</parameter>\n</function>\n</tool_call>',
    parts: [call('get_weather', { city: 'Oslo\nNorway', days: 2, zip: '0150', other: [1] })],
  },
  {
    name: 'keys and values',
    format: 'glm',
    output:
      '<think>x</think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n' +
      '<arg_value>12</arg_value>\n' +
      '<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>',
    parts: [reasoning('x'), call('get_weather', { city: '12', days: 3 })],
  },
  {
    name: 'invoke elements',
    format: 'minimax',
    output:
      '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo' +
      '</parameter>\n' +
      '</invoke>\n<invoke name="get_time">\n</invoke>\n</minimax:tool_call>',
    parts: [oslo, time],
  },
  {
    name: 'ids that the template wants back',
    format: 'kimi-k2',
    output:
      'Sure.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0' +
      '<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_call_begin|>' +
      'functions.get_time:1<|tool_call_argument_begin|>{}<|tool_call_end|>' +
      '<|tool_calls_section_end|>',
    parts: [
      text('Sure.'),
      call('get_weather', { city: 'Oslo' }, 'functions.get_weather:0'),
      call('get_time', {}, 'functions.get_time:1'),
    ],
  },
]
