// Writes tests/golden/vocab: the vocabularies of the golden data that a clone carries.
//
//   bun scripts/trim_vocab.ts [FROM [TO]]
//
// Reads FROM (../shared/golden/vocab) and writes TO (tests/golden/vocab) in the same layout, so
// that
// `bun run golden vocab --dir tests/golden` checks it. Every case of a vocabulary is kept; left out
// is what other tokenizers than the reference made of it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The smallest of each kind: byte-pair with one pass and with five, SentencePiece, WordPiece. */
const names = ['gpt2', 'deepseek-coder', 'llama-spm', 'bert-bge']

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

const [from = '../shared/golden/vocab', to = 'tests/golden/vocab'] = process.argv.slice(2)
const manifest = readJson(join(from, 'manifest.json'))
rmSync(to, { recursive: true, force: true })
const vocabs: Record<string, object> = {}
for (const name of names) {
  const { hf_compared: _, hf_cases_differing: __, ...entry } = manifest.vocabs[name]
  vocabs[name] = entry
  mkdirSync(dirname(join(to, entry.golden)), { recursive: true })
  writeFileSync(join(to, entry.vocab), readFileSync(join(from, entry.vocab)))
  const golden = readJson(join(from, entry.golden))
  for (const each of golden.cases) delete each.hf_differs
  const lines = (list: unknown[]) => list.map((each) => JSON.stringify(each)).join(',\n')
  writeFileSync(
    join(to, entry.golden),
    `{"meta":${JSON.stringify(golden.meta)},\n"cases":[\n${lines(golden.cases)}\n],\n` +
      `"pieces":[\n${lines(golden.pieces)}\n]}\n`,
  )
}
writeFileSync(join(to, 'manifest.json'), `${JSON.stringify({ vocabs }, null, 1)}\n`)
