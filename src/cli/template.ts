// leaven template: the prompt that a model's chat template makes of a conversation.
import { LeavenError } from '../errors/index.ts'
import { type Gguf, openGguf } from '../files/index.ts'
import {
  ChatTemplate,
  chooseTemplate,
  describePrompt,
  needsBos,
  prepareMessages,
  type RenderedPrompt,
  type TemplateCapabilities,
  type TemplateChoice,
  type TemplateMessage,
  templateCapabilities,
} from '../text/template/index.ts'
import {
  createTokenizerAsync,
  type Tokenizer,
  vocabularyFromMetadata,
} from '../text/tokenizer/index.ts'
import { type Arguments, type Command, UsageError } from './command.ts'
import { note, print, printJson } from './terminal.ts'

export const templateCommand: Command = {
  name: 'template',
  summary: "show the prompt that a model's chat template makes of a conversation",
  operands: ['MODEL', '[TEXT]'],
  details: [
    'TEXT is what the user says ("Hello"); --messages takes a whole conversation. Only the\n' +
      'header of the file is needed. A file without a template gets a built-in one, if its\n' +
      'vocabulary or its name tells which; stderr says what was taken.',
  ],
  options: {
    system: { value: 'TEXT', short: 's', help: 'the system message' },
    messages: { value: 'FILE', help: 'a JSON array of messages instead of TEXT' },
    tools: { value: 'FILE', help: 'a JSON array of tools, as functions with JSON schemas' },
    set: { value: 'NAME=JSON', repeatable: true, help: 'a variable, as enable_thinking=false' },
    name: { value: 'NAME', help: "one of the file's templates, as tool_use" },
    continue: { help: 'leave the last message open, for the model to go on with it' },
    ids: { help: 'print the ids of the prompt instead, separated by spaces' },
    source: { help: 'print the template itself instead' },
  },
  examples: [
    'leaven template model.gguf "How are you?"',
    'leaven template model.gguf --messages chat.json --tools tools.json --ids',
    'leaven template model.gguf --source',
  ],
  async run(args) {
    using gguf = openGguf(args.operands[0]!)
    const tokenizer = await createTokenizerAsync(
      vocabularyFromMetadata((key) => gguf.metadata.get(key)),
    )
    const tools = await readList(args, 'tools')
    const choice = choose(gguf, tokenizer, args, tools)
    if (!args.has('json')) note(originOf(choice))
    if (args.has('source') && !args.has('json')) {
      await print(`${choice.source}\n`)
      return undefined
    }
    const template = compile(choice, tokenizer)
    const can = templateCapabilities(template)
    const prompt = template.render({
      messages: prepareMessages(await readMessages(args), can),
      ...(tools && { tools }),
      addGenerationPrompt: !args.has('continue'),
      continueFinalMessage: args.has('continue'),
      variables: readVariables(args),
    })
    await show(prompt, { choice, can, tokenizer, args })
    return undefined
  },
}

function choose(
  gguf: Gguf,
  tokenizer: Tokenizer,
  args: Arguments,
  tools: readonly unknown[] | undefined,
): TemplateChoice {
  const text = (key: string) => gguf.metadata.string(key, { fallback: undefined })
  const name = args.text('name')
  const choice = chooseTemplate(
    (key) => gguf.metadata.get(key),
    {
      architecture: text('general.architecture'),
      name: text('general.name'),
      hasToken: (token) => tokenizer.idOf(token) !== undefined,
    },
    { tools: tools !== undefined, name },
  )
  if (choice !== undefined) return choice
  const which = name === undefined ? 'no chat template' : `no template named ${name}`
  const why = name === undefined ? ', and its vocabulary is of no known format' : ''
  throw new LeavenError('TEMPLATE_MISSING', `${args.operands[0]} has ${which}${why}`)
}

const originOf = ({ origin, name }: TemplateChoice): string =>
  origin === 'file'
    ? `template of the file: ${name}`
    : `built-in template: ${name}, since the file has none`

const compile = ({ source }: TemplateChoice, tokenizer: Tokenizer): ChatTemplate => {
  const token = (id: number) => (id < 0 ? undefined : tokenizer.pieceText(id))
  const { bos, eos } = tokenizer.ids
  return ChatTemplate.compile(source, { bosToken: token(bos), eosToken: token(eos) })
}

async function readMessages(args: Arguments): Promise<TemplateMessage[]> {
  const text = args.operands[1]
  const system = args.text('system')
  const given = (await readList(args, 'messages')) as TemplateMessage[] | undefined
  if (given !== undefined && text !== undefined) {
    throw new UsageError('TEXT and --messages exclude each other')
  }
  const rest = given ?? [{ role: 'user', content: text ?? 'Hello' }]
  return system === undefined ? rest : [{ role: 'system', content: system }, ...rest]
}

/** A JSON array of objects from the file that an option names. */
async function readList(args: Arguments, option: string): Promise<unknown[] | undefined> {
  const path = args.text(option)
  if (path === undefined) return undefined
  const list = parseJson(await Bun.file(path).text(), path)
  const isObject = (each: unknown) => typeof each === 'object' && each !== null
  if (Array.isArray(list) && list.every(isObject)) return list
  throw new UsageError(`--${option} takes a JSON array of objects, which ${path} is not`)
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${what} is no JSON: ${(error as Error).message}`)
  }
}

/** Values are JSON, or a text as it stands when they are not. */
function readVariables(args: Arguments): Record<string, unknown> {
  return Object.fromEntries(
    args.texts('set').map((text) => {
      const at = text.indexOf('=')
      if (at < 1) throw new UsageError(`--set takes NAME=JSON, not ${JSON.stringify(text)}`)
      const value = text.slice(at + 1)
      try {
        return [text.slice(0, at), JSON.parse(value)]
      } catch {
        return [text.slice(0, at), value]
      }
    }),
  )
}

interface Shown {
  readonly choice: TemplateChoice
  readonly can: TemplateCapabilities
  readonly tokenizer: Tokenizer
  readonly args: Arguments
}

async function show(prompt: RenderedPrompt, { choice, can, tokenizer, args }: Shown) {
  const { vocabulary, ids: special } = tokenizer
  const bos = special.bos < 0 ? undefined : tokenizer.pieceText(special.bos)
  const encoded = await tokenizer.encodeAsync(prompt.text, {
    addSpecial: false,
    parseSpecial: true,
    untrusted: prompt.untrusted,
  })
  const ids = needsBos(prompt, bos, vocabulary.addBos) ? [special.bos, ...encoded] : [...encoded]
  if (args.has('json')) {
    const { name, origin, source } = choice
    const template = { name, origin, source, capabilities: can }
    await printJson({ template, prompt: prompt.text, tokens: ids })
  } else if (args.has('ids')) {
    await print(`${ids.join(' ')}\n`)
  } else {
    const pieces = ids.filter((id) => tokenizer.isSpecial(id)).map((id) => tokenizer.pieceText(id))
    const color = process.stdout.isTTY === true && !process.env.NO_COLOR
    await print(`${describePrompt(prompt, { color, specialTokens: pieces })}\n`)
  }
}
