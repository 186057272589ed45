// Mistakes in templates and conversations: where they are, what they say, that they are bounded.
import { describe, expect, test } from 'bun:test'
import { TemplateError } from '../../../src/errors/index.ts'
import { ChatTemplate, type Limits } from '../../../src/text/template/index.ts'

function failure(source: string, variables = {}, limits: Partial<Limits> = {}): TemplateError {
  try {
    ChatTemplate.compile(source, { limits }).render({ messages: [], variables })
  } catch (error) {
    if (error instanceof TemplateError) return error
    throw error
  }
  throw new Error(`no error: ${source.slice(0, 80)}`)
}

describe('place and words', () => {
  const cases: [source: string, line: number, column: number, words: string][] = [
    ['a\n{{ 1 + }}', 2, 8, 'unexpected print end'],
    ['{% if x %}', 1, 11, 'expected {% elif %} or {% else %} or {% endif %}'],
    ['{{ "a', 1, 4, 'a string is not closed'],
    ['\n\n  {% nonsense %}', 3, 6, 'unknown tag nonsense'],
    ['{% include "x" %}', 1, 4, 'a chat template stands alone'],
    ['{% endif %}', 1, 4, 'closes nothing'],
    ['{{ (1] }}', 1, 6, 'unexpected ], expected )'],
    ['{# never', 1, 1, 'a comment is not closed'],
    ['{% break %}', 1, 4, 'break stands outside of a loop'],
    ['{{ a.b.c }}', 1, 5, "'a' is undefined"],
    ['\n{{ m.x.y }}', 2, 7, "'dict object' has no attribute 'x'"],
    ['{{ 1 }}\r\n{{ 1 / 0 }}', 2, 6, 'division by zero'],
    ["{{ 'a' + 1 }}", 1, 8, 'can only concatenate str (not "int")'],
    ['{{ m | what }}', 1, 8, 'no filter named what'],
    ['{{ m | random }}', 1, 8, 'the filter random is not supported'],
    ['{{ [].append(1) }}', 1, 13, 'list.append would change the list'],
    ['{% for a, b in [[1]] %}{% endfor %}', 1, 8, 'not enough values to unpack'],
  ]
  for (const [source, line, column, words] of cases) {
    test(JSON.stringify(source), () => {
      const error = failure(source, { m: {} })
      expect([error.line, error.column]).toEqual([line, column])
      expect(error.message).toContain(words)
      expect(error.code).toBe('TEMPLATE_INVALID')
    })
  }
})

test('the words of raise_exception are the message of the cause', () => {
  const error = failure("{{ raise_exception('Only ' ~ 'users') }}")
  expect(error.message).toEndWith('Only users')
  expect((error.cause as Error).message).toBe('Only users')
})

describe('Go templates are named as such', () => {
  const sources = [
    '{{ .System }}',
    '{{- if .System }}<|im_start|>system\n{{ .System }}{{ end }}',
    '{{- range $i, $_ := .Messages }}x{{ end }}',
    '{{ if and (eq .Role "user") .Content }}x{{ end }}',
  ]
  for (const source of sources) {
    test(JSON.stringify(source), () => {
      expect(() => ChatTemplate.compile(source)).toThrow('this is a Go template')
    })
  }

  test('a Jinja template that quotes one is not', () => {
    const source = "{% raw %}{{ .System }}{% endraw %}{{ 'a .B' }}"
    expect(ChatTemplate.compile(source).render({ messages: [] }).text).toBe('{{ .System }}a .B')
  })
})

describe('bounds', () => {
  const big = 'x'.repeat(1 << 20)
  const cases: [name: string, source: string, words: RegExp][] = [
    ['repeated text', "{{ 'a' * 10**9 }}", /characters and items made/],
    ['repeated list', '{{ [0] * 10**9 }}', /characters and items made/],
    ['long range', '{{ range(10**12) | list }}', /range of more than/],
    ['endless loop in loops', loops(8), /steps of work/],
    ['doubling text', `{% set ns = namespace(s='ab') %}${grow('ns.s ~ ns.s')}`, /made/],
    [
      'doubling structure',
      `{% set ns = namespace(s=[]) %}${grow('[ns.s, ns.s]')}{{ ns.s }}`,
      /steps/,
    ],
    ['huge powers', '{{ 9 ** (9 ** 9) }}', /bits/],
    ['huge products', `{% set ns = namespace(s=9) %}${grow('ns.s * ns.s')}`, /bits/],
    ['wide formats', "{{ '%999999999d' % 1 }}", /made/],
    ['wide format fields', "{{ '{:>999999999}'.format(1) }}", /made/],
    ['wide indents', "{{ 'a' | indent(999999999) }}", /made/],
    ['wide centres', "{{ 'a'.center(999999999) }}", /made/],
    ['wide batches', "{{ [1] | batch(999999999, 'x') | list }}", /made/],
    ['quadratic search', '{{ (a[:500000] ~ "y") in a }}', /steps/],
    ['endless macros', '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', /nested deeper/],
    ['self-reference', '{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}', /nested deeper/],
    ['deep recursion', '{% for x in [l] recursive %}{{ loop([l]) }}{% endfor %}', /nested deeper/],
    ['deep parentheses', `{{ ${'('.repeat(1e5)}1${')'.repeat(1e5)} }}`, /nested deeper/],
    ['deep brackets', `{{ ${'['.repeat(1e5)}${']'.repeat(1e5)} }}`, /nested deeper/],
    ['deep blocks', `${'{% if 1 %}'.repeat(5e3)}${'{% endif %}'.repeat(5e3)}`, /nested deeper/],
    ['deep nots', `{{ ${'not '.repeat(1e5)}1 }}`, /nested deeper/],
    ['deep signs', `{{ ${'-'.repeat(1e5)}1 }}`, /nested deeper/],
    ['long chains', `{{ 1${' + 1'.repeat(1e5)} }}`, /nested deeper/],
    ['long attribute chains', `{{ a${'.b'.repeat(1e5)} }}`, /nested deeper/],
  ]
  for (const [name, source, words] of cases) {
    test(name, () => {
      const started = performance.now()
      const limits = { steps: 500_000 }
      expect(failure(source, { a: big, l: [1] }, limits).message).toMatch(words)
      expect(performance.now() - started).toBeLessThan(4_000)
    })
  }

  function loops(depth: number): string {
    const open = Array.from({ length: depth }, (_, i) => `{% for x${i} in range(100000) %}`)
    return `${open.join('')}x${'{% endfor %}'.repeat(depth)}`
  }

  function grow(expression: string): string {
    return `{% for i in range(200) %}{% set ns.s = ${expression} %}{% endfor %}`
  }

  test('conversations that contain themselves are refused', () => {
    const message: Record<string, unknown> = { role: 'user' }
    message.self = message
    const template = ChatTemplate.compile('x')
    expect(() => template.render({ messages: [message as { role: string }] })).toThrow(
      TemplateError,
    )
  })

  test('limits can be set', () => {
    expect(failure('{% for i in range(100) %}{% endfor %}', {}, { steps: 50 }).message).toContain(
      'more than 50 steps',
    )
  })

  test('a long conversation stays far below the limits', () => {
    const source =
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content | trim }}{% endfor %}"
    const messages = Array.from({ length: 5_000 }, () => ({
      role: 'user',
      content: 'word '.repeat(200),
    }))
    const prompt = ChatTemplate.compile(source).render({ messages })
    expect(prompt.text.length).toBeGreaterThan(5_000_000)
  })

  test('a source of a million characters and more is refused', () => {
    expect(() => ChatTemplate.compile('a'.repeat((1 << 20) + 1))).toThrow(TemplateError)
  })
})

test('random tags never hang, crash or throw anything but a TemplateError', () => {
  const bits = [
    '{{',
    '}}',
    '{%',
    '%}',
    '{#',
    '#}',
    '-',
    '+',
    'if',
    'endif',
    'for',
    'in',
    'endfor',
    'x',
    "'",
    '"',
  ]
  const more = [
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    ':',
    ',',
    '|',
    '.',
    'is',
    'not',
    '1',
    '.5',
    '~',
    '\\',
    '\n',
    ' ',
  ]
  const all = [...bits, ...more, ' ', ' ', 'set', '=', 'macro', 'raw', 'endraw', 'upper', 'm']
  let seed = 12345
  const next = (n: number) => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    return seed % n
  }
  for (let i = 0; i < 20_000; i++) {
    const source = Array.from({ length: 3 + next(12) }, () => all[next(all.length)]).join('')
    try {
      ChatTemplate.compile(`{{ ${source}`).render({ messages: [], variables: { m: {} } })
    } catch (error) {
      if (!(error instanceof TemplateError))
        throw new Error(`seed ${i}: ${source}`, { cause: error })
    }
  }
})
