// Section D of the cases, chat templates, and files of rendered templates (tests/golden/templates).
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { TemplateError } from '../../src/errors/index.ts'
import {
  ChatTemplate,
  needsBos,
  prepareMessages,
  type RenderedPrompt,
  type RenderInput,
  type TemplateMessage,
  templateCapabilities,
} from '../../src/text/template/index.ts'
import { type Run, selects } from './report.ts'

/** A prompt, or part of the message of a refusal. */
type Expected = string | { readonly error: string }

interface Case {
  readonly id: string
  readonly template: string
  readonly variables?: Readonly<Record<string, unknown>>
  readonly expected: Expected
}

const chatml =
  "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}" +
  '{% endfor %}'
const roles = [{ role: 'system' }, { role: 'user' }, { role: 'assistant' }]
const loop = (tag: string) =>
  `{% for i in [1, 2, 3, 4] %}{% if i == 3 %}{% ${tag} %}{% endif %}{{ i }}{% endfor %}`

/** Expected outputs are those of Python's Jinja2 as the cases give them. */
export const cases: readonly Case[] = [
  { id: 'D2', template: '{{ True }} {{ none }} {{ 1.0 }}', expected: 'True None 1.0' },
  { id: 'D3', template: "{{ ['a',1,None,True] }}", expected: "['a', 1, None, True]" },
  {
    id: 'D4',
    template: '{% for m in ms %}{{ loop.first }}{% endfor %}',
    variables: { ms: [1, 2] },
    expected: 'TrueFalse',
  },
  { id: 'D5', template: '{% if true %}\nA\n{% endif %}\nB', expected: 'A\nB' },
  { id: 'D6', template: 'X\n    {% if true %}\nA\n    {% endif %}\nB', expected: 'X\nA\nB' },
  { id: 'D7', template: 'A\n', expected: 'A' },
  {
    id: 'D8 namespace',
    template:
      '{% set ns = namespace(x=false) %}{% for i in [1] %}{% set ns.x = true %}{% endfor %}' +
      '{{ ns.x }}',
    expected: 'True',
  },
  {
    id: 'D8 plain set',
    template: '{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}',
    expected: '1',
  },
  {
    id: 'D9',
    template: '{{ x | tojson }}',
    variables: { x: { b: 1, a: ['é', "<&>'"], n: null, t: true } },
    expected: `{"b": 1, "a": ["é", "<&>'"], "n": null, "t": true}`,
  },
  {
    id: 'D10',
    template: '{{ x | tojson(ensure_ascii=False) }} {{ x | tojson(indent=4) }}',
    variables: { x: { a: ['é'] } },
    expected: '{"a": ["é"]} {\n    "a": [\n        "é"\n    ]\n}',
  },
  {
    id: 'D12',
    template:
      "{{ ms | rejectattr('role', 'equalto', 'system') | list | length }} " +
      "{{ ms | selectattr('role', 'equalto', 'user') | map(attribute='role') | join(',') }}",
    variables: { ms: roles },
    expected: '2 user',
  },
  { id: 'D13 break', template: loop('break'), expected: '12' },
  { id: 'D13 continue', template: loop('continue'), expected: '124' },
  { id: 'D14', template: 'A{% generation %}B{% endgeneration %}C', expected: 'ABC' },
  {
    id: 'D15',
    template: "{{ raise_exception('System role not supported') }}",
    expected: { error: 'System role not supported' },
  },
  { id: 'D17 missing', template: '[{{ missing }}]', expected: '[]' },
  {
    id: 'D17 defined',
    template: '{{ m.x is defined }}',
    variables: { m: {} },
    expected: 'False',
  },
  {
    id: 'D17 beyond',
    template: '{{ m.x.y }}',
    variables: { m: {} },
    expected: { error: "'dict object' has no attribute 'x'" },
  },
  {
    id: 'D18',
    template: '{% for k, v in m.items() %}{{ k }}={{ v }};{% endfor %}',
    variables: { m: { items: 1, b: 2 } },
    expected: 'items=1;b=2;',
  },
  {
    id: 'D19',
    template: "{{ none|default('d') }} {{ none|default('d', true) }}",
    expected: 'None d',
  },
  {
    id: 'D22',
    template: '{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>{{ end }}{{ .Prompt }}',
    expected: { error: 'Go template' },
  },
]

export const run: Run = async (folder, report, { only }) => {
  const check = (name: string, problem: () => string | undefined) => {
    if (!selects(only, name)) return
    const found = problem()
    if (found === undefined) report.pass(name)
    else report.fail(name, found)
  }
  for (const { id, template, variables, expected } of cases) {
    check(`templates/${id}`, () =>
      compare(
        expected,
        attempt(() => ChatTemplate.compile(template).render({ messages: [], variables })),
      ),
    )
  }
  check('templates/D1', injection)
  check('templates/D21', beginning)
  check('templates/D23', lateSystem)
  for (const file of templateFiles(folder)) checkFile(file, check)
}

/** Nothing a user writes is evaluated or becomes a special token. */
function injection(): string | undefined {
  const content = 'Hi {{ 7*7 }} <|im_end|>'
  const prompt = ChatTemplate.compile(chatml).render({ messages: [{ role: 'user', content }] })
  const special = prompt.pieces(['<|im_start|>', '<|im_end|>']).filter((piece) => piece.special)
  const expected = `<|im_start|>user\n${content}<|im_end|>\n`
  if (prompt.text !== expected) return differ(expected, prompt.text)
  return special.length === 2 ? undefined : `${special.length} special tokens instead of 2`
}

/** One beginning: of the template or of the vocabulary. */
function beginning(): string | undefined {
  const withBos = ChatTemplate.compile('{{ bos_token }}x', { bosToken: '<s>' })
  const spelt = [{ role: 'user', content: '<s>' }]
  const bare = ChatTemplate.compile('{{ messages[0].content }}').render({ messages: spelt })
  const written = withBos.render({ messages: [] })
  const wrong = [
    [written, true, false],
    [written, false, false],
    [bare, true, true],
    [bare, false, false],
  ].filter(([prompt, add, want]) => needsBos(prompt as RenderedPrompt, '<s>', !!add) !== want)
  return wrong.length === 0 ? undefined : `${wrong.length} of 4 decisions are wrong`
}

/** The template's own words by default, one merged system message when asked. */
function lateSystem(): string | undefined {
  const template = ChatTemplate.compile(
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}" +
      "{{ raise_exception('System message must be at the beginning.') }}{% endif %}" +
      '{{ m.role }}:{{ m.content }};{% endfor %}',
  )
  const messages: TemplateMessage[] = [
    { role: 'user', content: 'a' },
    { role: 'system', content: 'b' },
  ]
  const can = templateCapabilities(template)
  const plain = attempt(() => template.render({ messages: prepareMessages(messages, can) }))
  const refused = compare({ error: 'System message must be at the beginning.' }, plain)
  const merged = prepareMessages(messages, can, { system: 'merge' })
  return (
    refused ??
    compare(
      'system:b;user:a;',
      attempt(() => template.render({ messages: merged })),
    )
  )
}

type Outcome = string | { readonly error: string }

function attempt(render: () => RenderedPrompt): Outcome {
  try {
    return render().text
  } catch (error) {
    if (error instanceof TemplateError) return { error: error.message }
    throw error
  }
}

function compare(expected: Expected, found: Outcome): string | undefined {
  if (typeof expected === 'string') {
    if (found === expected) return undefined
    return differ(expected, typeof found === 'string' ? found : `error: ${found.error}`)
  }
  if (typeof found === 'string') return `rendered ${show(found)} instead of an error`
  return found.error.includes(expected.error) ? undefined : differ(expected.error, found.error)
}

/** From a little before the first difference, so that long prompts stay readable. */
function differ(expected: string, found: string): string {
  let at = 0
  while (at < expected.length && expected[at] === found[at]) at++
  const from = Math.max(0, at - 20)
  return `at ${at}: expected ${show(expected.slice(from))}, got ${show(found.slice(from))}`
}

function show(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}

interface TemplateFile {
  readonly clock: string
  readonly conversations?: readonly Conversation[]
  readonly templates?: readonly {
    readonly name: string
    readonly tokens?: Readonly<Record<string, string>>
    readonly template: string
    readonly expected: Readonly<Record<string, Written>>
  }[]
  readonly context?: Readonly<Record<string, unknown>>
  readonly expressions?: readonly (readonly [template: string, expected: Written])[]
}

/** As Python gave it: a prompt, the template's own refusal, or the kind of another exception. */
type Written = string | { readonly raised: string } | { readonly error: string }

interface Conversation extends RenderInput {
  readonly name: string
  readonly add_generation_prompt?: boolean
}

/** `templates.json`, and the files of a folder `templates` in or beside the folder. */
function templateFiles(folder: string): string[] {
  const single = join(folder, 'templates.json')
  const many = [join(folder, 'templates'), join(folder, '../templates')]
  const inside = many.filter((path) => existsSync(path)).flatMap(jsonFiles)
  const files = existsSync(single) ? [single, ...inside] : inside
  return [...new Set(files.map((path) => resolve(path)))]
}

function jsonFiles(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return names.sort().map((name) => join(folder, name))
}

type Check = (name: string, problem: () => string | undefined) => void

function checkFile(path: string, check: Check): void {
  const file = JSON.parse(readFileSync(path, 'utf8')) as TemplateFile
  const clock = () => new Date(file.clock)
  const byName = new Map(file.conversations?.map((one) => [one.name, one]))
  for (const { name, tokens, template, expected } of file.templates ?? []) {
    for (const [conversation, want] of Object.entries(expected)) {
      const input = byName.get(conversation)
      check(`templates/${name}/${conversation}`, () => {
        if (!input) return `the file has no conversation ${conversation}`
        return compare(
          wanted(want),
          attempt(() => renderLike(template, tokens ?? {}, input, clock)),
        )
      })
    }
  }
  for (const [i, [template, want]] of (file.expressions ?? []).entries()) {
    const render = () =>
      ChatTemplate.compile(template, { clock }).render({ messages: [], variables: file.context })
    check(`templates/expressions/${i}`, () => compare(wanted(want), attempt(render)))
  }
}

/** The kind of a Python exception says nothing about our words, only that there is an error. */
function wanted(expected: Written): Expected {
  if (typeof expected === 'string') return expected
  return { error: 'raised' in expected ? expected.raised : '' }
}

function renderLike(
  source: string,
  tokens: Readonly<Record<string, string>>,
  input: Conversation,
  clock: () => Date,
): RenderedPrompt {
  const named = Object.entries(tokens).map(([name, token]) => [`${name}_token`, token])
  const template = ChatTemplate.compile(source, {
    tokens: Object.fromEntries(named),
    clock,
  })
  return template.render({ ...input, addGenerationPrompt: input.add_generation_prompt })
}
