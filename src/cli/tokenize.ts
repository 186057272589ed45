// leaven tokenize: the tokens of a text by a model's vocabulary, and back.
import { openGguf } from '../files/index.ts'
import {
  colorTokens,
  createTokenizerAsync,
  showTokens,
  type Tokenizer,
  vocabularyFromMetadata,
} from '../text/tokenizer/index.ts'
import { type Command, UsageError } from './command.ts'
import { readStdin } from './stdin.ts'
import { print, printJson, table } from './terminal.ts'

export const tokenizeCommand: Command = {
  name: 'tokenize',
  summary: "show a text's tokens by a model's vocabulary, or the text of tokens",
  operands: ['MODEL', '[TEXT]'],
  details: ['Without TEXT it is read from stdin. Only the header of the file is needed.'],
  options: {
    color: { help: 'print the text with each token on coloured ground' },
    ids: { help: 'print the ids alone, separated by spaces' },
    decode: { help: 'TEXT is ids, separated by spaces or commas: print their text' },
    'no-special': { help: 'do not add tokens such as the beginning of a sequence' },
    'parse-special': { help: 'read control tokens such as <|im_end|> in the text as tokens' },
  },
  examples: [
    'leaven tokenize model.gguf "Once upon a time"',
    'leaven tokenize model.gguf "Once upon a time" --ids',
    'leaven tokenize model.gguf --decode "1 829 1099"',
  ],
  async run(args) {
    const [path, given] = args.operands
    const text = given ?? (await readStdin('TEXT'))
    const tokenizer = await openTokenizer(path!)
    if (args.has('decode')) {
      const decoded = tokenizer.decode(readIds(text))
      if (args.has('json')) await printJson({ text: decoded })
      else await print(`${decoded}\n`)
      return undefined
    }
    const ids = await tokenizer.encodeAsync(text, {
      addSpecial: !args.has('no-special'),
      parseSpecial: args.has('parse-special'),
    })
    if (args.has('json')) {
      const tokens = showTokens(tokenizer, ids).map(({ id, text, special }) => ({
        ...{ id, text, special },
      }))
      await printJson({ count: ids.length, tokens })
    } else if (args.has('color')) {
      await print(`${colorTokens(showTokens(tokenizer, ids))}\n`)
    } else if (args.has('ids')) {
      await print(`${ids.join(' ')}\n`)
    } else {
      await print(`${asTable(tokenizer, ids)}\n`)
    }
    return undefined
  },
}

async function openTokenizer(path: string): Promise<Tokenizer> {
  using gguf = openGguf(path)
  return await createTokenizerAsync(vocabularyFromMetadata((key) => gguf.metadata.get(key)))
}

function readIds(text: string): number[] {
  return text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map((part) => {
      if (/^\d+$/.test(part)) return Number(part)
      throw new UsageError(`--decode takes ids, not ${JSON.stringify(part)}`)
    })
}

const asTable = (tokenizer: Tokenizer, ids: Int32Array): string =>
  table(
    [
      ['id', 'token'],
      ...showTokens(tokenizer, ids).map(({ id, text, special }) => [
        String(id),
        special ? text : JSON.stringify(text).replaceAll('\\\\', '\\'),
      ]),
      ['', `${ids.length} tokens`],
    ],
    [0],
  )
