// Prefilled answers, prepared messages, built-in templates, the clock.
import { describe, expect, test } from 'bun:test'
import {
  builtinByName,
  builtinNames,
  builtinTemplate,
  ChatTemplate,
  chooseTemplate,
  prepareMessages,
  type TemplateCapabilities,
  type TemplateMessage,
  templateCapabilities,
  trusted,
} from '../../../src/text/template/index.ts'

const chatml = ChatTemplate.compile(
  "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}" +
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
)
const trimming = ChatTemplate.compile('{% for m in messages %}[{{ m.content | trim }}]{% endfor %}')
const user = { role: 'user', content: 'Hi' }

describe('continuing the last message', () => {
  const open = (template: ChatTemplate, content: unknown) =>
    template.render({
      messages: [user, { role: 'assistant', content }],
      continueFinalMessage: true,
    })

  test('ends the prompt inside of it', () => {
    const prompt = open(chatml, 'Sure, ')
    expect(prompt.text).toEndWith('<|im_start|>assistant\nSure, ')
    expect(prompt.segments().at(-1)).toEqual({ text: 'Sure, ', trusted: false })
  })

  test('drops white space at the end where the template trims contents', () => {
    expect(open(trimming, 'Sure, ').text).toBe('[Hi][Sure,')
  })

  test('takes the last of equal texts', () => {
    expect(open(chatml, 'Hi').text).toEndWith('assistant\nHi')
  })

  test('works for parts and trusted text', () => {
    const parts = ChatTemplate.compile(
      '{% for m in messages %}{% for p in m.content %}{{ p.text or p }}{% endfor %};{% endfor %}',
    )
    expect(open(parts, [{ type: 'text', text: 'So' }]).text).toBe('Hi;So')
    expect(open(chatml, trusted('<|x|>')).untrusted.at(-1)).toBeLessThan(
      open(chatml, trusted('<|x|>')).text.length,
    )
  })

  test('is refused with a generation prompt, without messages, without text', () => {
    const both = { messages: [user], addGenerationPrompt: true, continueFinalMessage: true }
    expect(() => chatml.render(both)).toThrow(TypeError)
    expect(() => chatml.render({ messages: [], continueFinalMessage: true })).toThrow(TypeError)
    expect(() => open(chatml, null)).toThrow(TypeError)
  })

  test('is an error where the template leaves the message out', () => {
    const silent = ChatTemplate.compile('{{ messages[0].content }}')
    expect(() => open(silent, 'x')).toThrow('cannot be continued')
  })
})

describe('prepared messages', () => {
  const can: TemplateCapabilities = {
    system: true,
    textContent: true,
    partContent: false,
    tools: true,
    toolCalls: true,
    parallelToolCalls: true,
    toolResults: true,
    argumentsAs: 'object',
    reasoningField: 'reasoning_content',
    thinkingSwitch: undefined,
    reasoningEffort: false,
  }
  const prepare = (messages: TemplateMessage[], changed: Partial<TemplateCapabilities> = {}) =>
    prepareMessages(messages, { ...can, ...changed })
  const calling = (args: unknown) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: args } }],
  })

  test('that fit stay the same objects', () => {
    const messages = [user, { role: 'assistant', content: 'Hello' }]
    expect(prepare(messages).map((one, i) => one === messages[i])).toEqual([true, true])
  })

  test('have arguments as the template wants them', () => {
    expect(prepare([calling('{"a": 1}')])).toEqual([calling({ a: 1 })])
    expect(prepare([calling({ a: 1 })], { argumentsAs: 'string' })).toEqual([calling('{"a":1}')])
    expect(prepare([calling('not JSON')])).toEqual([calling('not JSON')])
  })

  test('have contents as the template wants them', () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]
    expect(prepare([{ role: 'user', content: parts }])).toEqual([{ role: 'user', content: 'ab' }])
    const wants = { textContent: false, partContent: true }
    expect(prepare([user], wants)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ])
    expect(prepare([{ role: 'tool', content: { n: 1 } }])[0]!.content).toBe('{"n":1}')
  })

  test('keep parts that are no text', () => {
    const message = { role: 'user', content: [{ type: 'image' }] }
    expect(prepare([message])).toEqual([message])
  })

  test('have reasoning where the template reads it', () => {
    const message = { role: 'assistant', content: 'x', thinking: 'y' }
    expect(prepare([message])[0]).toMatchObject({ reasoning_content: 'y' })
    expect(prepare([message], { reasoningField: undefined })).toEqual([message])
  })

  test('have one system message where asked', () => {
    const messages = [
      { role: 'system', content: 'a' },
      user,
      { role: 'developer', content: [{ type: 'text', text: 'b' }] },
    ]
    expect(prepareMessages(messages, can, { system: 'merge' })).toEqual([
      { role: 'system', content: 'a\n\nb' },
      user,
    ])
    const without = { ...can, system: false }
    expect(prepareMessages(messages, without, { system: 'user' })).toEqual([
      { role: 'user', content: 'a\n\nb\n\nHi' },
    ])
    expect(prepareMessages([messages[0]!], without, { system: 'user' })).toEqual([
      { role: 'user', content: 'a' },
    ])
  })
})

describe('built-in templates', () => {
  const conversation = [
    { role: 'system', content: 'S-text' },
    { role: 'user', content: 'U-text' },
    { role: 'assistant', content: 'A-text' },
    { role: 'user', content: 'V-text' },
  ]
  for (const name of builtinNames) {
    test(`${name} renders every message in order`, () => {
      const { source } = builtinByName(name)!
      const template = ChatTemplate.compile(source, { bosToken: '<s>', eosToken: '</s>' })
      const { text } = template.render({ messages: conversation, addGenerationPrompt: true })
      const places = conversation.map(({ content }) => text.indexOf(content))
      expect(places.every((place, i) => place > (places[i - 1] ?? -1))).toBe(true)
      expect(templateCapabilities(template)).toMatchObject({ system: true, textContent: true })
      expect(text.match(/<s>/g)?.length ?? 0).toBeLessThan(3)
    })
  }

  test('chatml reads as its description says', () => {
    const template = ChatTemplate.compile(builtinByName('chatml')!.source)
    expect(template.render({ messages: [user], addGenerationPrompt: true }).text).toBe(
      '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
    )
  })

  test('are chosen by the tokens of the vocabulary, then by name, and named', () => {
    const choose = (tokens: string[], name = '') =>
      builtinTemplate({ name, hasToken: (text) => tokens.includes(text) })?.name
    expect(choose(['<|im_start|>', '<|im_end|>'])).toBe('chatml')
    expect(choose(['<|im_start|>', '<|im_end|>', '<|im_sep|>'])).toBe('phi-4')
    expect(choose(['<start_of_turn>', '<end_of_turn>'], 'zephyr')).toBe('gemma')
    expect(choose([], 'TinyLlama 1.1B Chat')).toBe('zephyr')
    expect(choose([], 'Llama-2-7b-chat')).toBe('llama-2')
  })

  test('are not guessed', () => {
    expect(builtinTemplate({ name: 'some base model', hasToken: () => false })).toBeUndefined()
    expect(builtinByName('nothing')).toBeUndefined()
  })
})

describe('the template of a file', () => {
  const file: Record<string, unknown> = {
    'tokenizer.chat_template': 'own',
    'tokenizer.chat_template.tool_use': 'with tools',
    'tokenizer.chat_template.rag': '',
  }
  const from = (key: string) => file[key]
  const chatmlOnly = {
    hasToken: (text: string) => text.startsWith('<|im_') && !text.includes('sep'),
  }

  test('is its own, for tools where there is one', () => {
    expect(chooseTemplate(from, chatmlOnly)).toEqual({
      name: 'default',
      source: 'own',
      origin: 'file',
    })
    expect(chooseTemplate(from, chatmlOnly, { tools: true })?.source).toBe('with tools')
  })

  test('is the one asked for, or none', () => {
    expect(chooseTemplate(from, chatmlOnly, { name: 'tool_use' })?.source).toBe('with tools')
    expect(chooseTemplate(from, chatmlOnly, { name: 'rag' })).toBeUndefined()
  })

  test('is built in, and says so, only where the file has none', () => {
    const nothing = () => undefined
    const choice = chooseTemplate(nothing, chatmlOnly, { tools: true })
    expect(choice).toMatchObject({ name: 'chatml', origin: 'builtin' })
    expect(chooseTemplate(nothing, { hasToken: () => false })).toBeUndefined()
  })
})

test('strftime_now tells the time of the given clock', () => {
  const template = ChatTemplate.compile("{{ strftime_now('%d %b %Y %-H:%M %j %A %p %%') }}", {
    clock: () => new Date(2024, 1, 29, 7, 5),
  })
  expect(template.render({ messages: [] }).text).toBe('29 Feb 2024 7:05 060 Thursday AM %')
})

test('values of JavaScript become values of Python', () => {
  const variables = {
    v: [1, 1.5, 2 ** 53, true, null, 'x', 10n ** 20n, new Map([['k', 1]]), { gone: undefined }],
  }
  expect(ChatTemplate.compile('{{ v }}').render({ messages: [], variables }).text).toBe(
    "[1, 1.5, 9007199254740992.0, True, None, 'x', 100000000000000000000, {'k': 1}, {}]",
  )
  const fn = { v: () => 1 }
  expect(() => ChatTemplate.compile('x').render({ messages: [], variables: fn })).toThrow(
    'function',
  )
})
