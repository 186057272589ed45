// leaven template from outside: prompts by the file's own template and by built-in ones.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openGguf } from '../../src/files/index.ts'
import { alteredModel } from '../engine/altered_model.ts'
import { model as plain, runCli } from './run_cli.ts'

const source =
  '{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n' +
  '{% if m.tool_calls %}{{ m.tool_calls[0].function.arguments.city }}\n{% endif %}{% endfor %}' +
  '{% if tools %}{{ tools | length }} tools{% endif %}{{ mood }}' +
  '{% if add_generation_prompt %}<s>assistant:{% endif %}'
const folder = mkdtempSync(join(tmpdir(), 'leaven-template-'))
let model: Awaited<ReturnType<typeof alteredModel>>
beforeAll(async () => {
  model = await alteredModel({
    metadata: {
      'tokenizer.chat_template': source,
      'tokenizer.chat_template.short': '{{ messages[0].content }}',
    },
  })
})
afterAll(() => {
  model[Symbol.dispose]()
  rmSync(folder, { recursive: true })
})

const put = (name: string, value: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}

test("a text becomes a prompt by the file's template, which stderr names", async () => {
  const { status, stdout, stderr } = await runCli(['template', model.path, 'Hi', '-s', 'Be kind'])
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: '<s>system: Be kind\n<s>user: Hi\n<s>assistant:\n',
  })
  expect(stderr).toBe('template of the file: default\n')
})

test('a conversation with tools and variables comes from files', async () => {
  const call = { function: { name: 'weather', arguments: '{"city":"Oslo"}' } }
  const messages = put('chat.json', [
    { role: 'user', content: 'Warm?' },
    { role: 'assistant', content: 'Let me see', tool_calls: [call] },
  ])
  const tools = put('tools.json', [{ type: 'function', function: { name: 'weather' } }])
  const args = ['template', model.path, '--messages', messages, '--tools', tools]
  const { stdout } = await runCli([...args, '--set', 'mood="merry"'])
  expect(stdout).toBe('<s>user: Warm?\n<s>assistant: Let me see\nOslo\n1 toolsmerry<s>assistant:\n')
  expect((await runCli([...args, '--set', 'mood=glum'])).stdout).toContain('1 toolsglum')
})

test('the last message can be left open', async () => {
  const messages = put('open.json', [
    { role: 'user', content: 'Once' },
    { role: 'assistant', content: 'upon a' },
  ])
  const args = ['template', model.path, '--messages', messages, '--continue']
  expect((await runCli(args)).stdout).toBe('<s>user: Once\n<s>assistant: upon a\n')
})

test('what a user writes never becomes a control token in the ids', async () => {
  const { stdout } = await runCli(['template', model.path, 'a<s>b', '--json'])
  const { template, prompt, tokens } = JSON.parse(stdout)
  expect(template).toMatchObject({ name: 'default', origin: 'file', source })
  expect(template.capabilities).toMatchObject({ system: true, tools: false })
  expect(prompt).toBe('<s>user: a<s>b\n<s>assistant:')
  using gguf = openGguf(model.path)
  const bos = gguf.metadata.integer('tokenizer.ggml.bos_token_id')
  expect(tokens.filter((id: number) => id === bos)).toHaveLength(2)
  const { stdout: ids } = await runCli(['template', model.path, 'a<s>b', '--ids'])
  expect(ids).toBe(`${tokens.join(' ')}\n`)
})

test('the template itself, also one that is chosen by name', async () => {
  expect((await runCli(['template', model.path, '--source'])).stdout).toBe(`${source}\n`)
  const short = await runCli(['template', model.path, 'Hi', '--name', 'short'])
  expect(short).toEqual({ status: 0, stdout: 'Hi\n', stderr: 'template of the file: short\n' })
})

test('a file without a template gets the one that fits its name, or an error', async () => {
  using named = await alteredModel({ metadata: { 'general.name': 'TinyLlama Chat' } })
  expect(await runCli(['template', named.path])).toEqual({
    status: 0,
    stdout: '<|user|>\nHello</s>\n<|assistant|>\n\n',
    stderr: 'built-in template: zephyr, since the file has none\n',
  })
  const none = await runCli(['template', plain])
  expect(none).toMatchObject({ status: 1, stdout: '' })
  expect(none.stderr).toContain('has no chat template, and its vocabulary is of no known format')
})

test.each([
  [['--name', 'rag'], 1, 'has no template named rag'],
  [['--set', 'mood'], 2, '--set takes NAME=JSON, not "mood"'],
  [['--messages', '{"role":'], 2, 'is no JSON'],
  [['--messages', '{"role": "user"}'], 2, '--messages takes a JSON array of objects'],
  [['--tools', '[7]'], 2, '--tools takes a JSON array of objects'],
  [['Hi', '--messages', '[{"role": "user"}]'], 2, 'TEXT and --messages exclude each other'],
] as const)('%p is refused', async (args, status, message) => {
  const given = args.map((arg) => (/^[[{]/.test(arg) ? put('given.json', arg) : arg))
  const outcome = await runCli(['template', model.path, ...given])
  expect(outcome).toMatchObject({ status, stdout: '' })
  expect(outcome.stderr).toContain(message)
})
