// Tokenizers: time to build, MB/s to encode and decode, and a megabyte of one letter; side by side
// with two JavaScript tokenizers on the same text and the same vocabulary, in one run.
//
//   bun bench/tokenizer.ts [--vocab FOLDER] [--only NAME] [--text FILE]
//                          [--rivals FOLDER] [--runs N] [--json]
//
//   --vocab   a folder of vocabularies with a manifest (tests/golden/vocab; ../shared/golden/vocab)
//   --text    UTF-8 (default: the TypeScript and Markdown files of this repository)
//   --rivals  a folder whose node_modules has the others (default: here)
//
// The others are measured where they are installed:
//   npm install --no-save @huggingface/tokenizers@0.2.0 gpt-tokenizer@4.0.0
// MB are millions of UTF-8 bytes; every figure is a median, and the tokenizers take turns.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openGguf, readGguf } from '../src/files/index.ts'
import {
  createTokenizer,
  entryText,
  type Tokenizer,
  vocabularyFromMetadata,
} from '../src/text/tokenizer/index.ts'

interface Rival {
  name: string
  encode(text: string): ArrayLike<number>
}

interface Row {
  vocabulary: string
  tokens: number
  buildMs: number
  encodeMbs: number
  decodeMbs: number
  letterMs: number
  rivals: Record<string, { mbs: number; ratio: number; sameIds: boolean }>
}

/** What the models' own files say of the word pattern, for those whose pattern is public. */
const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const tail = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`
const cased = (upper: string, lower: string) =>
  String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]${upper}` +
  String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]${lower}${contractions}?`
const words = (digits: string) =>
  `${contractions}|${String.raw`[^\r\n\p{L}\p{N}]?\p{L}+|`}${digits}|` +
  String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*|${tail}`
const patterns: Record<string, string> = {
  'llama-bpe': words('\\p{N}{1,3}'),
  qwen2: words('\\p{N}'),
  'gpt-4o':
    `${cased('*', '+')}|${cased('+', '*')}|` +
    String.raw`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${tail}`,
}

const { values } = parseArgs({
  options: {
    vocab: { type: 'string', default: 'tests/golden/vocab' },
    only: { type: 'string' },
    text: { type: 'string' },
    runs: { type: 'string', default: '7' },
    rivals: { type: 'string', default: process.cwd() },
    json: { type: 'boolean' },
  },
})
const runs = Number(values.runs)

const median = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1]!

const milliseconds = (action: () => unknown): number => {
  const start = performance.now()
  action()
  return performance.now() - start
}

function readText(): string {
  if (values.text) return readFileSync(values.text, 'utf8')
  const files = [...new Bun.Glob('{src,scripts,tests,docs}/**/*.{ts,md}').scanSync()].sort()
  return files.map((file) => readFileSync(file, 'utf8')).join('\n')
}

async function readVocabulary(path: string) {
  if (!path.endsWith('.zst')) return openGguf(path).metadata
  const bytes = Bun.zstdDecompressSync(readFileSync(path))
  return (await readGguf(new Blob([Uint8Array.from(bytes)]))).metadata
}

/** The tokenizer.json of a byte-level vocabulary whose pattern is known here, or undefined. */
function tokenizerJson({ vocabulary }: Tokenizer): object | undefined {
  const { tokens, merges, size, preName } = vocabulary
  if (vocabulary.model !== 'gpt2' || !merges) return undefined
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true }
  const split = patterns[preName]
  if (preName !== 'gpt-2' && !split) return undefined
  return {
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: split
      ? {
          type: 'Sequence',
          pretokenizers: [
            { type: 'Split', pattern: { Regex: split }, behavior: 'Isolated', invert: false },
            { ...byteLevel, use_regex: false },
          ],
        }
      : { ...byteLevel, use_regex: true },
    post_processor: null,
    decoder: { ...byteLevel, use_regex: true },
    model: {
      type: 'BPE',
      ignore_merges: vocabulary.pre.ignoreMerges === true,
      vocab: Object.fromEntries(
        Array.from({ length: size }, (_, id) => [entryText(tokens, id), id]),
      ),
      merges: Array.from({ length: merges.count }, (_, i) => entryText(merges, i)),
    },
  }
}

/** A module that need not be there. */
async function optional(name: string): Promise<Record<string, never> | undefined> {
  try {
    return await import(Bun.resolveSync(name, values.rivals))
  } catch {
    return undefined
  }
}

async function rivalsOf(tokenizer: Tokenizer): Promise<Rival[]> {
  const rivals: Rival[] = []
  const json = tokenizerJson(tokenizer)
  const hf =
    json &&
    ((await optional('@huggingface/tokenizers')) as
      | {
          Tokenizer: new (
            json: object,
            config: object,
          ) => { encode(text: string, options: object): { ids: number[] } }
        }
      | undefined)
  if (hf) {
    const rival = new hf.Tokenizer(json, {})
    const encode = (text: string) => rival.encode(text, { add_special_tokens: false }).ids
    rivals.push({ name: '@huggingface/tokenizers', encode })
  }
  const encodings: Record<string, string> = { 'gpt-2': 'r50k_base', 'gpt-4o': 'o200k_base' }
  const encoding = encodings[tokenizer.vocabulary.preName]
  const gpt =
    encoding &&
    ((await optional(`gpt-tokenizer/encoding/${encoding}`)) as
      | {
          encode(text: string, options: object): number[]
        }
      | undefined)
  if (gpt) {
    const encode = (text: string) => gpt.encode(text, { disallowedSpecial: new Set() })
    rivals.push({ name: 'gpt-tokenizer', encode })
  }
  return rivals
}

async function measure(name: string, path: string, text: string): Promise<Row> {
  const metadata = await readVocabulary(path)
  const source = vocabularyFromMetadata((key) => metadata.get(key))
  const tokenizer = createTokenizer(source)
  const build = Array.from({ length: runs }, () => milliseconds(() => createTokenizer(source)))
  const own: Rival = {
    name: 'leaven',
    encode: (each) => tokenizer.encode(each, { addSpecial: false }),
  }
  const ids = own.encode(text)
  const all = [own, ...(await rivalsOf(tokenizer))]
  const times = all.map((): number[] => [])
  const same = all.map(({ encode }) => {
    const theirs = encode(text)
    return theirs.length === ids.length && Array.from(ids).every((id, i) => theirs[i] === id)
  })
  const decode: number[] = []
  for (let run = 0; run < runs; run++) {
    for (const [i, { encode }] of all.entries()) times[i]!.push(milliseconds(() => encode(text)))
    decode.push(milliseconds(() => tokenizer.decode(ids)))
  }
  const megabytes = Buffer.byteLength(text) / 1e6
  const speeds = times.map((each) => (megabytes * 1000) / median(each))
  const letter = 'a'.repeat(1 << 20)
  const rows = all.slice(1).map((rival, i): [string, Row['rivals'][string]] => {
    const mbs = speeds[i + 1]!
    return [rival.name, { mbs, ratio: speeds[0]! / mbs, sameIds: same[i + 1]! }]
  })
  return {
    vocabulary: name,
    tokens: tokenizer.vocabularySize,
    buildMs: median(build),
    encodeMbs: speeds[0]!,
    decodeMbs: (megabytes * 1000) / median(decode),
    letterMs: median([1, 2, 3].map(() => milliseconds(() => tokenizer.encode(letter)))),
    rivals: Object.fromEntries(rows),
  }
}

const show = (row: Row): string => {
  const rivals = Object.entries(row.rivals).map(
    ([name, { mbs, ratio, sameIds }]) =>
      `, ${ratio.toFixed(1)} x ${name} (${mbs.toFixed(1)} MB/s${sameIds ? '' : ', other ids'})`,
  )
  return (
    `${row.vocabulary.padEnd(15)} ${`${row.tokens}`.padStart(6)} tokens: ` +
    `built in ${row.buildMs.toFixed(0)} ms, ` +
    `a MiB of one letter in ${row.letterMs.toFixed(0)} ms, ` +
    `decodes ${row.decodeMbs.toFixed(0)} MB/s, encodes ${row.encodeMbs.toFixed(1)} MB/s` +
    rivals.join('')
  )
}

const folder = values.vocab
const manifest: { vocabs: Record<string, { vocab: string }> } = JSON.parse(
  readFileSync(join(folder, 'manifest.json'), 'utf8'),
)
const text = readText()
const rows: Row[] = []
for (const [name, { vocab }] of Object.entries(manifest.vocabs)) {
  const path = join(folder, vocab)
  if ((values.only && values.only !== name) || !existsSync(path)) continue
  const row = await measure(name, path, text)
  rows.push(row)
  if (!values.json) console.log(show(row))
}
if (values.json)
  console.log(JSON.stringify({ bytes: Buffer.byteLength(text), runs, rows }, null, 1))
