// Golden check of GBNF: what parses, and which tokens are allowed step by step.
import { join } from 'node:path'
import { GrammarError } from '../../src/errors/index.ts'
import { readGguf } from '../../src/files/index.ts'
import {
  type CompiledGrammar,
  compileGrammar,
  type GrammarVocabulary,
} from '../../src/text/grammar/index.ts'
import { type Report, type RunOptions, selects } from './report.ts'

interface Step {
  allowed: number
  eog_allowed: boolean
  next_allowed?: boolean
}
interface Case {
  grammar: string
  parses?: boolean
  /** The reference never returns from this grammar; it has to be refused. */
  hangs?: boolean
  texts?: { hex: string; tokens: number[]; steps: Step[] }[]
}
interface Grammars {
  /** Names the model whose vocabulary was used, as `archs/NAME`. */
  vocab: string
  cases: Case[]
}

/** Checks `grammar.json` of a folder of the layout of `extra`. */
export async function run(folder: string, report: Report, { only }: RunOptions): Promise<void> {
  const file = Bun.file(join(folder, 'grammar.json'))
  // A folder may hold the other cases of `extra` alone.
  if (!(await file.exists())) return
  const data: Grammars = await file.json()
  const vocabulary = await readVocabulary(folder, data.vocab)
  for (const [index, item] of data.cases.entries()) {
    const name = `grammar/${index}`
    if (!selects(only, name)) continue
    const problem = check(item, vocabulary)
    const shown = `${name} ${JSON.stringify(item.grammar).slice(0, 60)}`
    if (problem === undefined) report.pass(shown)
    else report.fail(shown, problem)
  }
}

function check(item: Case, vocabulary: GrammarVocabulary): string | undefined {
  const shouldParse = item.parses === true && item.hangs !== true
  let grammar: CompiledGrammar
  try {
    grammar = compileGrammar(item.grammar, vocabulary)
  } catch (error) {
    if (!(error instanceof GrammarError)) return `threw ${error}`
    return shouldParse ? `should parse: ${error.message}` : undefined
  }
  if (!shouldParse) return 'should not parse'
  for (const { hex, tokens, steps } of item.texts ?? []) {
    const state = grammar.start()
    for (const [i, step] of steps.entries()) {
      const mask = state.mask()
      const allows = (token: number) => ((mask[token >>> 5]! >>> (token & 31)) & 1) === 1
      const ids = [...Array(vocabulary.size).keys()]
      const allowed = ids.filter(allows).length
      const ends = ids.some((id) => vocabulary.isEndOfGeneration(id) && allows(id))
      const found = { allowed, ends, next: step.next_allowed && allows(tokens[i]!) }
      const wanted = { allowed: step.allowed, ends: step.eog_allowed, next: step.next_allowed }
      if (JSON.stringify(found) !== JSON.stringify(wanted)) {
        return `${hex}, step ${i}: ${JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`
      }
      if (step.next_allowed) state.accept(tokens[i]!)
    }
  }
  return undefined
}

/** The vocabulary as the reference's grammars see it: control tokens stand for their own text. */
async function readVocabulary(folder: string, description: string): Promise<GrammarVocabulary> {
  const name = /archs\/[\w.-]+/.exec(description)?.[0]
  if (name === undefined) throw new Error(`grammar.json: no archs/NAME in ${description}`)
  const packed = await Bun.file(join(folder, '..', name, 'model.gguf.zst')).bytes()
  const gguf = await readGguf(new Blob([Uint8Array.from(await Bun.zstdDecompress(packed))]))
  const { metadata } = gguf
  const tokens = [...(metadata.get('tokenizer.ggml.tokens') as Iterable<string>)]
  const types = [...(metadata.get('tokenizer.ggml.token_type') as Iterable<number>)]
  const end = Number(metadata.get('tokenizer.ggml.eos_token_id'))
  const normalType = 1
  const bytes = tokens.map((token, id) =>
    types[id] === normalType ? byteLevel(token) : new TextEncoder().encode(token),
  )
  return {
    size: tokens.length,
    bytes: (id) => bytes[id]!,
    isEndOfGeneration: (id) => id === end,
  }
}

/**
 * The bytes behind GPT-2's printable stand-ins: bytes that are printable in Latin-1 stand for
 * themselves, the others for the characters from U+0100 on, in order.
 */
function byteLevel(token: string): Uint8Array {
  return Uint8Array.from([...token], (char) => byteOfCharacter.get(char.codePointAt(0)!)!)
}

const byteOfCharacter = new Map<number, number>()
for (let byte = 0, next = 0x100; byte < 256; byte++) {
  const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
  byteOfCharacter.set(printable ? byte : next++, byte)
}
