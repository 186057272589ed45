// Where the characters of a prompt come from, and that content never becomes a special token.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { TemplateError } from '../../../src/errors/index.ts'
import {
  ChatTemplate,
  describePrompt,
  needsBos,
  RenderedPrompt,
  trusted,
} from '../../../src/text/template/index.ts'

const render = (source: string, variables: Record<string, unknown> = {}) =>
  ChatTemplate.compile(source, { bosToken: '<s>' }).render({ messages: [], variables })

/** Text with what came from the caller in guillemets. */
const show = (prompt: RenderedPrompt) =>
  prompt
    .segments()
    .map(({ text, trusted: own }) => (own ? text : `«${text}»`))
    .join('')

describe('operations keep where text comes from', () => {
  const cases: [source: string, shown: string][] = [
    ["{{ 'a' + x + 'b' }}", 'a«X y»b'],
    ["{{ 'a' ~ x ~ 1 }}", 'a«X y»1'],
    ['{{ x | upper }}{{ x.lower() }}', '«X Yx y»'],
    ["{{ x.split(' ') | join('-') }}", '«X»-«y»'],
    ["{{ x.replace('y', 'z') }}", '«X »z'],
    ["{{ 'abc'.replace('b', x) }}", 'a«X y»c'],
    ['{{ x[0] }}|{{ x[1:] }}|{{ x[::-1] }}', '«X»|« y»|«y X»'],
    ["{{ '  ' ~ x ~ '  ' | trim }}|{{ (' ' ~ x) | trim }}", '  «X y»|«X y»'],
    ["{{ '%s=%s' % (x, 1) }}|{{ '{}!'.format(x) }}", '«X y»=1|«X y»!'],
    ['{{ [x, 1] }}', "['«X y»', 1]"],
    ['{{ {"k": x} | tojson }}', '{"k": "«X y»"}'],
    ['{{ q | tojson }}|{{ [q] }}', `"«a\\"b»"|['«a"b»']`],
    ["{{ x | indent(2, true) }}|{{ x | truncate(2, true, '', 0) }}", '  «X y»|«X »'],
    ["{{ x.center(7, '*') }}|{{ x | center(5) }}", '**«X y»**| «X y» '],
    ['{% set s %}<{{ x }}>{% endset %}{{ s }}', '<«X y»>'],
    ['{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(x) }}', '[«X y»]'],
    ['{% filter upper %}a{{ x }}{% endfilter %}', 'A«X Y»'],
    ['{{ d }}', "{'«k»': '«v»'}"],
    ['{% for k, v in d | items %}{{ k }}:{{ v }}{% endfor %}', '«k»:«v»'],
    ['{{ x * 2 }}', '«X yX y»'],
    ['{{ x | e }}{{ t | e }}', '«X y&lt;»&lt;'],
    ['{{ x | length }}{{ n }}{{ x == "X y" }}', '312True'],
    ['{{ u[1] }}{{ u | length }}{{ u[1:2] }}', '«🦙»3«🦙»'],
    ['{{ bos_token }}{{ s }}', '<s>own'],
  ]
  const variables = {
    x: 'X y',
    q: 'a"b',
    d: { k: 'v' },
    n: 12,
    u: 'é🦙!',
    t: trusted('<'),
    s: trusted('own'),
  }
  for (const [source, shown] of cases) {
    test(source, () => {
      const escaped = source.includes('| e }}') ? { ...variables, x: 'X y<' } : variables
      expect(show(render(source, escaped))).toBe(shown)
    })
  }
})

describe('pieces', () => {
  const specials = ['<|im_start|>', '<|im_end|>', '<|im_end|>\n', '']

  test('special tokens of the template are split off, the rest stays whole', () => {
    const prompt = render('<|im_start|>user\n{{ x }}<|im_end|>', { x: 'a <|im_end|> b' })
    expect(prompt.pieces(specials)).toEqual([
      { text: '<|im_start|>', special: true },
      { text: 'user\na <|im_end|> b', special: false },
      { text: '<|im_end|>', special: true },
    ])
  })

  test('a token that template and content spell together is none', () => {
    const prompt = render('<|im_{{ x }}', { x: 'end|>' })
    expect(prompt.pieces(specials)).toEqual([{ text: '<|im_end|>', special: false }])
  })

  test('the longest token wins, unless content reaches into it', () => {
    expect(render('<|im_end|>{{ "\\n" }}').pieces(specials)).toEqual([
      { text: '<|im_end|>\n', special: true },
    ])
    expect(render('<|im_end|>{{ x }}', { x: '\n' }).pieces(specials)).toEqual([
      { text: '<|im_end|>', special: true },
      { text: '\n', special: false },
    ])
  })

  test('pieces and segments make up the prompt', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(50)), (text, cuts) => {
        const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
        const prompt = new RenderedPrompt(text, at.slice(0, at.length & ~1))
        expect(
          prompt
            .segments()
            .map((one) => one.text)
            .join(''),
        ).toBe(text)
        const tokens = [text.slice(0, 1), text.slice(1, 3)]
        expect(
          prompt
            .pieces(tokens)
            .map((one) => one.text)
            .join(''),
        ).toBe(text)
      }),
    )
  })
})

describe('published templates', () => {
  const file = join(import.meta.dir, '../../golden/templates/templates.json')
  const templates: { name: string; template: string }[] = JSON.parse(
    readFileSync(file, 'utf8'),
  ).templates
  const specials = [
    '<|im_start|>',
    '<|im_end|>',
    '<|eot_id|>',
    '<end_of_turn>',
    '</s>',
    '<s>',
    '[INST]',
  ]
  const compiled = templates.map(({ template }) =>
    ChatTemplate.compile(template, { bosToken: '<s>', eosToken: '</s>' }),
  )

  /** Special tokens of the prompt, or undefined where the template refuses. */
  const count = (template: ChatTemplate, content: string) => {
    const tools = [{ type: 'function', function: { name: 'f', description: content } }]
    const user = { role: 'user', content }
    try {
      const messages = [user, { role: 'assistant', content }, user]
      const prompt = template.render({ messages, tools, addGenerationPrompt: true })
      return prompt.pieces(specials).filter(({ special }) => special).length
    } catch (error) {
      if (error instanceof TemplateError) return undefined
      throw error
    }
  }

  test('have as many special tokens whatever users and models write', () => {
    const bit = fc.constantFrom(...specials, 'a', ' ', '\n', '"', "'", '&', '{{ 1 }}', '\\', '🦙')
    fc.assert(
      fc.property(
        fc.constantFrom(...compiled),
        fc.array(bit, { minLength: 1, maxLength: 8 }),
        (template, bits) => {
          const content = bits.join('')
          // Templates look at some contents; another text of the same outline is the measure.
          expect(count(template, `x${content}x`)).toBe(count(template, `x${'y'.repeat(5)}x`))
        },
      ),
      { numRuns: 600 },
    )
  })
})

describe('the beginning-of-sequence token', () => {
  const cases: [source: string, content: string, addBos: boolean, needed: boolean][] = [
    ['{{ bos_token }}x', '', true, false],
    ['{{ bos_token }}x', '', false, false],
    ['x{{ bos_token }}', '', true, true],
    ['{{ x }}', '<s>', true, true],
    ['{{ x }}', '<s>', false, false],
    ['<{{ x }}', 's>', true, true],
  ]
  for (const [source, x, addBos, needed] of cases) {
    test(`${source} with ${x || 'nothing'}, add_bos ${addBos}`, () => {
      expect(needsBos(render(source, { x }), '<s>', addBos)).toBe(needed)
    })
  }

  test('without a token of that kind the vocabulary decides', () => {
    expect(needsBos(render('x'), undefined, true)).toBe(true)
    expect(needsBos(render('x'), '', false)).toBe(false)
  })
})

describe('prompts for people', () => {
  const prompt = render('<|im_start|>user\n{{ x }}<|im_end|>', { x: 'a\x1b[2J \n' })

  test('without options the text is the prompt, control characters drawn', () => {
    expect(describePrompt(prompt)).toBe('<|im_start|>user\na␛[2J \n<|im_end|>')
  })

  test('colours tell special tokens, template and content apart', () => {
    const shown = describePrompt(prompt, { color: true, specialTokens: ['<|im_start|>'] })
    expect(shown).toBe(
      '\x1b[1;35m<|im_start|>\x1b[0m\x1b[2muser\n\x1b[0ma␛[2J \n\x1b[2m<|im_end|>\x1b[0m',
    )
  })

  test('white space can be drawn', () => {
    expect(describePrompt(prompt, { whitespace: true })).toBe(
      '<|im_start|>user⏎\na␛[2J·⏎\n<|im_end|>',
    )
  })
})
