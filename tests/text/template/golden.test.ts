// Published templates and random expressions render as Python's Jinja2 renders them.
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../../scripts/golden/cases_templates.ts'
import { TemplateError } from '../../../src/errors/index.ts'
import { ChatTemplate, templateCapabilities } from '../../../src/text/template/index.ts'

const folder = join(import.meta.dir, '../../golden/templates')
const readJson = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))

interface Named {
  readonly name: string
  readonly template: string
  readonly expected: Readonly<Record<string, unknown>>
}
const { templates, conversations } = readJson('templates.json') as {
  templates: Named[]
  conversations: { name: string }[]
}
const compiled = (name: string) => {
  const { template } = templates.find((one) => one.name === name)!
  return ChatTemplate.compile(template, { bosToken: '<s>', eosToken: '</s>' })
}

test('section D, published templates and expressions pass the golden check', async () => {
  const failures: string[] = []
  let passed = 0
  const report = {
    pass: () => {
      passed++
    },
    fail: (name: string, problem: string) => failures.push(`${name}: ${problem}`),
  }
  await run(join(folder, '../cases'), report, {})
  expect(failures).toEqual([])
  expect(passed).toBeGreaterThan(850)
})

test('at least fifteen families render five conversations', () => {
  const known = new Set(conversations.map(({ name }) => name))
  const full = templates.filter(({ expected }) => {
    expect(Object.keys(expected).every((name) => known.has(name))).toBe(true)
    return Object.values(expected).filter((one) => typeof one === 'string').length >= 5
  })
  expect(full.length).toBeGreaterThan(40)
})

test('the golden check finds a prompt that differs, and a refusal that is not there', async () => {
  const file = {
    clock: '2025-01-01T00:00:00',
    conversations: [{ name: 'one', messages: [] }],
    templates: [
      { name: 'right', template: 'A', expected: { one: 'A' } },
      { name: 'wrong', template: 'A', expected: { one: 'B' } },
      { name: 'silent', template: 'A', expected: { one: { raised: 'no' } } },
    ],
  }
  const dir = mkdtempSync(join(tmpdir(), 'leaven-'))
  writeFileSync(join(dir, 'templates.json'), JSON.stringify(file))
  const failures: string[] = []
  const report = { pass: () => {}, fail: (name: string) => failures.push(name) }
  await run(dir, report, {})
  rmSync(dir, { recursive: true })
  expect(failures).toEqual(['templates/wrong/one', 'templates/silent/one'])
})

describe('expressions that fail in Python', () => {
  const file = readJson('expressions.json') as {
    clock: string
    context: Record<string, unknown>
    expressions: [source: string, expected: string | { error?: string; raised?: string }][]
  }
  const render = (source: string) =>
    ChatTemplate.compile(source).render({ messages: [], variables: file.context })

  test('fail here too, with a place', () => {
    const failing = file.expressions.filter(([, expected]) => typeof expected !== 'string')
    expect(failing.length).toBeGreaterThan(30)
    for (const [source] of failing) {
      let found: unknown
      try {
        render(source)
      } catch (error) {
        found = error
      }
      expect([source, found instanceof TemplateError]).toEqual([source, true])
      expect((found as TemplateError).line).toBeGreaterThan(0)
      expect((found as TemplateError).column).toBeGreaterThan(0)
    }
  })
})

describe('capabilities of published templates', () => {
  const expected: Record<string, object> = {
    'llama2-7b': { system: true, tools: false, toolCalls: false, toolResults: false },
    'gemma2-2b': { system: false, textContent: true, partContent: false },
    'gemma3-1b': { textContent: true, partContent: true },
    'llama3.1-8b': { tools: true, toolCalls: true, parallelToolCalls: false },
    'qwen2.5-0.5b': { tools: true, parallelToolCalls: true, reasoningField: undefined },
    'qwen3-0.6b': {
      tools: true,
      toolResults: true,
      argumentsAs: 'object',
      reasoningField: 'reasoning_content',
      thinkingSwitch: 'enable_thinking',
      reasoningEffort: false,
    },
    'deepseek-r1': { toolCalls: true, argumentsAs: 'string', reasoningField: undefined },
    'deepseek-v3.1': { argumentsAs: 'string', thinkingSwitch: 'thinking' },
    'gemma-4': { tools: true, partContent: true, thinkingSwitch: 'enable_thinking' },
  }
  for (const [name, capabilities] of Object.entries(expected)) {
    test(name, () => {
      expect(templateCapabilities(compiled(name))).toMatchObject(capabilities)
    })
  }
})
