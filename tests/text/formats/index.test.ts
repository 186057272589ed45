// Parsers of answers: parts, splitting, hold-back, bounds, detection and constraints.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import {
  type CallConstraint,
  detectFormat,
  type FormatName,
  formatByName,
  formatNames,
  type ParsedPart,
  type ParserOptions,
  promptOpensReasoning,
} from '../../../src/text/formats/index.ts'
import { answers, tools } from './answers.ts'

const options: ParserOptions = { tools, newId: () => 'id' }

/** Parts of an answer that arrives in the given pieces, neighbours of one type joined. */
function parse(format: FormatName, pieces: readonly string[], given = options): ParsedPart[] {
  const parser = formatByName(format).parser(given)
  return joined([...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()])
}

function joined(parts: readonly ParsedPart[]): ParsedPart[] {
  const result: ParsedPart[] = []
  for (const part of parts) {
    const last = result.at(-1)
    if (part.type !== 'tool-call' && last?.type === part.type) {
      result[result.length - 1] = { type: part.type, text: last.text + part.text }
    } else result.push(part)
  }
  return result
}

describe('answers', () => {
  for (const { name, format, output, parts } of answers) {
    test(`${format}: ${name}`, () => {
      expect(parse(format, [output])).toEqual([...parts])
      expect(parse(format, [...output])).toEqual([...parts])
    })
  }
})

test('parts do not depend on how the answer is split', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...answers),
      fc.array(fc.nat(400), { maxLength: 12 }),
      ({ format, output, parts }, cuts) => {
        const at = [...new Set([0, ...cuts.map((cut) => cut % output.length), output.length])]
        at.sort((a, b) => a - b)
        const pieces = at.slice(1).map((end, i) => output.slice(at[i], end))
        expect(parse(format, pieces)).toEqual([...parts])
      },
    ),
    { numRuns: 400 },
  )
})

test('no soup of marks throws, and splitting never changes its parts', () => {
  const bits = [
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '\n',
    ' ',
    'name',
    '"name"',
    'get_time',
    '```',
    '\\',
  ]
  fc.assert(
    fc.property(fc.constantFrom(...formatNames), fc.infiniteStream(fc.nat()), (name, draws) => {
      const format = formatByName(name)
      const soup = [...format.marks, ...bits, '</tool_call>', '</think>', 'call:x{', '<function=a>']
      const pieces = Array.from({ length: 20 }, () => soup[draws.next().value % soup.length]!)
      const whole = parse(name, [pieces.join('')])
      expect(parse(name, pieces)).toEqual(whole)
      expect(parse(name, [...pieces.join('')])).toEqual(whole)
    }),
    { numRuns: 1500 },
  )
})

describe('hold-back', () => {
  const first = (format: FormatName, text: string) =>
    formatByName(format).parser(options).push(text)

  test('text is given out at once', () => {
    expect(first('hermes', 'Hello')).toEqual([{ type: 'text', text: 'Hello' }])
    expect(first('llama-3', 'Hello {')).toEqual([{ type: 'text', text: 'Hello {' }])
  })

  test('only what may become a mark is held back, and only while it may', () => {
    const parser = formatByName('hermes').parser(options)
    expect(parser.push('a <tool')).toEqual([{ type: 'text', text: 'a ' }])
    expect(parser.push('box')).toEqual([{ type: 'text', text: '<toolbox' }])
  })

  test('a bare object is held back only while it may be a call', () => {
    const parser = formatByName('llama-3').parser(options)
    expect(parser.push('{"na')).toEqual([])
    expect(parser.push('tion"')).toEqual([{ type: 'text', text: '{"nation"' }])
  })

  test('without tools no bare object is held back', () => {
    const parser = formatByName('llama-3').parser()
    expect(parser.push('{"name": "x"')).toEqual([{ type: 'text', text: '{"name": "x"' }])
  })

  test('a call is given out with its last brace, before its end mark', () => {
    const parser = formatByName('hermes').parser(options)
    expect(parser.push('<tool_call>{"name": "get_time"}')).toHaveLength(1)
    expect([...parser.push('\n</tool_call>'), ...parser.end()]).toEqual([])
  })

  test('reasoning streams', () => {
    const parser = formatByName('hermes').parser(options)
    expect(parser.push('<think>\nso')).toEqual([{ type: 'reasoning', text: 'so' }])
    expect(parser.push('\n')).toEqual([])
    expect(parser.push('on')).toEqual([{ type: 'reasoning', text: '\non' }])
  })
})

test('an answer may begin inside of reasoning', () => {
  const given = { ...options, startsInReasoning: true }
  expect(parse('hermes', ['hm', '</think>', '\nYes'], given)).toEqual([
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'Yes' },
  ])
  const harmony = '<|end|><|start|>assistant<|channel|>final<|message|>Yes'
  expect(parse('harmony', ['hm', harmony], given)).toEqual([
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'Yes' },
  ])
  expect(promptOpensReasoning('<|im_start|>assistant\n<think>\n', formatByName('hermes'))).toBe(
    true,
  )
  expect(promptOpensReasoning('<think>\n\n</think>\n\n', formatByName('hermes'))).toBe(false)
})

test('ids of calls are nine letters and digits by default', () => {
  const parser = formatByName('hermes').parser()
  const [call] = parser.push('<tool_call>{"name": "a"}')
  expect(call).toMatchObject({ id: expect.stringMatching(/^[A-Za-z0-9]{9}$/) })
})

test('an argument called __proto__ is a member', () => {
  const output = '<tool_call><function=a><parameter=__proto__>1</parameter></function></tool_call>'
  const [part] = parse('qwen-coder', [output])
  expect(Object.keys((part as { args: object }).args)).toEqual(['__proto__'])
})

test('long answers take linear time', () => {
  const parser = formatByName('hermes').parser(options)
  const started = performance.now()
  parser.push('<tool_call>{"name": "get_time", "arguments": {"x": "')
  for (let i = 0; i < 20_000; i++) parser.push('word {"} '.replace('"', '\\"'))
  expect(parser.push('"}}')).toHaveLength(1)
  expect(performance.now() - started).toBeLessThan(5_000)
})

describe('detection', () => {
  const file = join(import.meta.dir, '../../golden/templates/templates.json')
  const templates: { name: string; template: string }[] = JSON.parse(
    readFileSync(file, 'utf8'),
  ).templates
  const expected: Record<string, FormatName> = {
    'llama3.1-8b': 'llama-3',
    'llama3-8b': 'plain',
    llama4: 'llama-3',
    'qwen2.5-0.5b': 'hermes',
    'qwen3-0.6b': 'hermes',
    'qwen3-coder-30b': 'qwen-coder',
    'deepseek-r1': 'deepseek-fenced',
    'deepseek-v3.1': 'deepseek',
    'granite3.3-2b': 'granite',
    granite4: 'hermes',
    'command-r7b-7b': 'command-r',
    'command-r-tool_use': 'command-r',
    'gemma-4': 'gemma-4',
    'phi4-mini-3.8b': 'phi-4-mini',
    'glm4-9b': 'plain',
    'tinyllama-1.1b': 'plain',
  }
  for (const [name, format] of Object.entries(expected)) {
    test(`${name} answers in ${format}`, () => {
      const { template } = templates.find((one) => one.name === name)!
      expect(detectFormat(template).name).toBe(format)
    })
  }
})

describe('constraints', () => {
  const args = { city: 'Oslo', days: 2 }
  const free: Partial<Record<FormatName, string>> = {
    'qwen-coder': '<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n',
    glm:
      '<arg_key>city</arg_key><arg_value>Oslo</arg_value>' +
      '<arg_key>days</arg_key><arg_value>2</arg_value>',
    minimax: '<parameter name="city">Oslo</parameter><parameter name="days">2</parameter>',
    'deepseek-dsml':
      '<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>' +
      '<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>',
    'gemma-4': 'city:<|"|>Oslo<|"|>,days:2}',
    'function-gemma': 'city:<escape>Oslo<escape>,days:2}',
  }

  /** A value the schemas of the formats accept: of a call, of arguments, or an index. */
  function sample(schema: unknown): unknown {
    const { properties, type } = schema as { properties?: Record<string, unknown>; type: string }
    if (type === 'integer') return 0
    if (!properties || 'city' in properties) return args
    const entries = Object.entries(properties).map(([key, value]) => {
      const { const: fixed, pattern } = value as { const?: string; pattern?: string }
      return [key, fixed ?? (pattern ? '0' : sample(value))]
    })
    return Object.fromEntries(entries)
  }

  function write(constraint: CallConstraint, name: FormatName, times: number): string {
    const parts = constraint.calls.find(({ tool }) => tool === 'get_weather')!.parts
    const one = parts.map((part) => {
      if ('literal' in part) return part.literal
      return 'schema' in part ? JSON.stringify(sample(part.schema)) : free[name]!
    })
    const calls = Array.from({ length: times }, () => one.join(''))
    return constraint.begin + calls.join(constraint.separator) + constraint.end
  }

  for (const name of formatNames.filter((one) => one !== 'plain')) {
    test(`${name}: what its constraint allows, its parser reads`, () => {
      const constraint = formatByName(name).constraint(tools)!
      const text = write(constraint, name, 2)
      expect(constraint.triggers.some((trigger) => text.startsWith(trigger))).toBe(true)
      const found = parse(name, [...text]).map((part) => ({ ...part, id: 'id' }))
      const call = { type: 'tool-call' as const, id: 'id', name: 'get_weather', args }
      expect(found).toEqual([call, call])
    })
  }

  test('plain has no calls', () => {
    expect(formatByName('plain').constraint(tools)).toBeUndefined()
  })
})
