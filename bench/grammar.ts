// Constrained output: time to compile schemas and grammars, and time of a step's token mask.
//
//   bun bench/grammar.ts [--vocab FILE] [--runs N] [--json]
//
//   --vocab  a GGUF file, perhaps .zst, for its vocabulary (default: that of Llama 3 in
//            ../shared/golden/vocab where it lies there, else 131,072 random pieces)
//
// Each run compiles the grammar afresh and walks its documents token by token, so that every run
// has the first visits of all places. A step is `mask()`; figures are over all steps of all runs.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readGguf } from '../src/files/index.ts'
import {
  type CompiledGrammar,
  compileGrammar,
  compileJsonSchema,
  type GrammarVocabulary,
} from '../src/text/grammar/index.ts'
import {
  createTokenizer,
  type Tokenizer,
  vocabularyFromMetadata,
} from '../src/text/tokenizer/index.ts'
import { vocabularyKeys } from './random_vocabulary.ts'

interface Task {
  name: string
  compile(vocabulary: GrammarVocabulary): CompiledGrammar
  documents: readonly string[]
}

const text = (max?: number) => ({ type: 'string', ...(max && { maxLength: max }) })
const object = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
})

const person = object({
  name: text(80),
  age: { type: 'integer', minimum: 0, maximum: 150 },
  email: { type: 'string', format: 'email' },
  role: { enum: ['admin', 'editor', 'reader'] },
  tags: { type: 'array', items: text(), maxItems: 8 },
})
const invoice = object({
  id: { type: 'string', pattern: '^INV-[0-9]{6}$' },
  date: { type: 'string', format: 'date' },
  lines: {
    type: 'array',
    minItems: 1,
    items: object({
      item: text(),
      count: { type: 'integer', minimum: 1 },
      price: { type: 'number', minimum: 0 },
    }),
  },
  paid: { type: 'boolean' },
  note: { anyOf: [text(2000), { type: 'null' }] },
})
const toolCall = {
  anyOf: ['weather', 'search', 'calendar', 'mail'].map((name) =>
    object({
      name: { const: name },
      arguments: object({ query: text(), limit: { type: 'integer' } }, ['query']),
    }),
  ),
}
const tree = {
  $defs: {
    node: object({ label: text(), children: { type: 'array', items: { $ref: '#/$defs/node' } } }),
  },
  $ref: '#/$defs/node',
}

const words =
  'The quick brown fox jumps over the lazy dog, née "Zoë" — 日本語 and 😀; then it rests.\n'
const both = (value: unknown) => [JSON.stringify(value), JSON.stringify(value, null, 2)]

const tasks: Task[] = [
  schemaTask('person', person, {
    name: 'Ada Lovelace',
    age: 36,
    email: 'ada@example.org',
    role: 'editor',
    tags: ['mathematics', 'poetical science', 'engines'],
  }),
  schemaTask('invoice', invoice, {
    id: 'INV-004217',
    date: '2024-02-29',
    lines: [
      { item: 'Paper, A4', count: 12, price: 4.99 },
      { item: 'Ink "blue"', count: 1, price: 0.5 },
    ],
    paid: false,
    note: words.repeat(2),
  }),
  schemaTask('tool call', toolCall, { name: 'search', arguments: { query: words, limit: 10 } }),
  schemaTask('tree', tree, {
    label: 'root',
    children: [
      { label: 'left', children: [] },
      { label: 'right', children: [{ label: 'leaf', children: [] }] },
    ],
  }),
  schemaTask('any JSON', true, { a: [1, 2.5e3, true, null, { b: [[], {}], c: words }], d: -7 }),
  {
    name: 'GBNF list',
    compile: (vocabulary) => compileGrammar('root ::= ("- " [^\\n]+ "\\n")+', vocabulary),
    documents: [`- ${words}- a second item\n- a third one\n`],
  },
]

function schemaTask(name: string, schema: object | boolean, value: unknown): Task {
  return {
    name,
    compile: (vocabulary) => compileJsonSchema(schema as never, vocabulary),
    documents: both(value),
  }
}

async function readTokenizer(path: string | undefined): Promise<Tokenizer> {
  if (path === undefined) {
    const keys = vocabularyKeys(131_072)
    return createTokenizer(vocabularyFromMetadata((key) => untyped(keys[key])))
  }
  const bytes = await Bun.file(path).bytes()
  const file = path.endsWith('.zst') ? await Bun.zstdDecompress(bytes) : bytes
  const { metadata } = await readGguf(new Blob([Uint8Array.from(file)]))
  return createTokenizer(vocabularyFromMetadata((key) => metadata.get(key)))
}

/** A number without the type that a file would give it. */
function untyped(value: unknown): unknown {
  const isTyped = typeof value === 'object' && value !== null && 'value' in value
  return isTyped ? value.value : value
}

function percentile(sorted: readonly number[], fraction: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))]!
}

function measure(task: Task, tokenizer: Tokenizer, vocabulary: GrammarVocabulary, runs: number) {
  const compileTimes: number[] = []
  const stepTimes: number[] = []
  const documents = task.documents.map((document) =>
    tokenizer.encode(document, { addSpecial: false, parseSpecial: false }),
  )
  for (let run = 0; run < runs; run++) {
    const start = performance.now()
    const grammar = task.compile(vocabulary)
    compileTimes.push(performance.now() - start)
    for (const tokens of documents) {
      const state = grammar.start()
      for (const token of tokens) {
        const before = Bun.nanoseconds()
        state.mask()
        stepTimes.push((Bun.nanoseconds() - before) / 1e3)
        state.accept(token)
      }
      if (!state.isComplete) throw new Error(`${task.name}: the document is not complete`)
    }
  }
  compileTimes.sort((a, b) => a - b)
  stepTimes.sort((a, b) => a - b)
  return {
    name: task.name,
    steps: stepTimes.length / runs,
    compileMs: percentile(compileTimes, 0.5),
    medianUs: percentile(stepTimes, 0.5),
    p99Us: percentile(stepTimes, 0.99),
    maxUs: percentile(stepTimes, 1),
  }
}

const { values } = parseArgs({
  options: {
    vocab: { type: 'string' },
    runs: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
})
const llama3 = join(import.meta.dir, '../../shared/golden/vocab/llama3/vocab.gguf.zst')
const path = values.vocab ?? (existsSync(llama3) ? llama3 : undefined)
const tokenizer = await readTokenizer(path)
const makeVocabulary = (): GrammarVocabulary => ({
  size: tokenizer.vocabularySize,
  bytes: (token) => tokenizer.pieceBytes(token),
  isEndOfGeneration: (token) => tokenizer.isEndOfGeneration(token),
})
const vocabulary = makeVocabulary()
const first = performance.now()
compileGrammar('root ::= "a"', vocabulary)
const trieMs = performance.now() - first
const results = tasks.map((task) => measure(task, tokenizer, vocabulary, Number(values.runs)))
if (values.json) {
  console.log(JSON.stringify({ tokens: tokenizer.vocabularySize, trieMs, results }))
} else {
  console.log(`${tokenizer.vocabularySize} tokens, their trie once: ${trieMs.toFixed(0)} ms`)
  console.log('compile ms  step median us   p99 us   max us  steps  grammar')
  for (const row of results) {
    const numbers = [
      row.compileMs.toFixed(1).padStart(10),
      row.medianUs.toFixed(2).padStart(14),
      row.p99Us.toFixed(1).padStart(8),
      row.maxUs.toFixed(0).padStart(8),
      String(row.steps).padStart(6),
    ]
    console.log(`${numbers.join(' ')}  ${row.name}`)
  }
}
