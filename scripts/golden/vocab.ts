// Golden part "vocab": ids, detokenized bytes and pieces of the reference for whole vocabularies.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readGguf } from '../../src/files/index.ts'
import {
  createTokenizer,
  type Tokenizer,
  vocabularyFromMetadata,
} from '../../src/text/tokenizer/index.ts'
import { type Report, type RunOptions, selects } from './report.ts'

interface Manifest {
  vocabs: Record<string, { vocab: string; golden: string }>
}

type Mode = 'plain' | 'special' | 'parse' | 'add_only'

interface Case extends Partial<Record<Mode, number[]>> {
  /** The input bytes. */
  hex: string
  [other: string]: unknown
}

interface Meta {
  n_tokens: number
  eog: number[]
  [other: string]: unknown
}

interface Golden {
  meta: Meta
  cases: Case[]
  pieces: [id: number, hex: string, attributes: number, score: number][]
}

const MODES: Record<Mode, { addSpecial: boolean; parseSpecial: boolean }> = {
  plain: { addSpecial: false, parseSpecial: false },
  special: { addSpecial: true, parseSpecial: true },
  parse: { addSpecial: false, parseSpecial: true },
  add_only: { addSpecial: true, parseSpecial: false },
}

/** Golden names of special ids and ours. */
const ROLES = {
  bos: 'bos',
  eos: 'eos',
  eot: 'eot',
  sep: 'separator',
  pad: 'padding',
  mask: 'mask',
  fim_pre: 'fimPrefix',
  fim_suf: 'fimSuffix',
  fim_mid: 'fimMiddle',
} as const

/** `[UNK_BYTE_0x` */
const UNDECODED = '5b554e4b5f425954455f3078'

const FLAGS = { add_bos: 'addBos', add_eos: 'addEos', add_sep: 'addSeparator' } as const

export const run = async (folder: string, report: Report, options: RunOptions): Promise<void> => {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  for (const [name, files] of Object.entries(manifest.vocabs)) {
    if (!selects(options.only, name)) continue
    const golden: Golden = JSON.parse(readFileSync(join(folder, files.golden), 'utf8'))
    const tokenizer = await readTokenizer(join(folder, files.vocab))
    const check = new VocabularyCheck(name, tokenizer, report)
    check.meta(golden.meta)
    golden.cases.forEach((each, i) => {
      check.ids(each, i)
      check.text(each, i)
    })
    golden.pieces.forEach((piece) => {
      check.piece(piece)
    })
  }
}

/** A vocabulary-only GGUF file, plain or compressed. */
export async function readTokenizer(path: string): Promise<Tokenizer> {
  const file = readFileSync(path)
  const bytes = path.endsWith('.zst') ? Bun.zstdDecompressSync(file) : file
  const gguf = await readGguf(new Blob([Uint8Array.from(bytes)]))
  return createTokenizer(vocabularyFromMetadata((key) => gguf.metadata.get(key)))
}

class VocabularyCheck {
  private readonly name: string
  private readonly tokenizer: Tokenizer
  private readonly report: Report

  constructor(name: string, tokenizer: Tokenizer, report: Report) {
    this.name = name
    this.tokenizer = tokenizer
    this.report = report
  }

  meta(meta: Meta): void {
    const { tokenizer } = this
    const { vocabulary } = tokenizer
    this.equal('meta n_tokens', tokenizer.vocabularySize, meta.n_tokens)
    for (const [theirs, ours] of Object.entries(ROLES)) {
      this.equal(`meta ${theirs}`, tokenizer.ids[ours], meta[theirs])
    }
    for (const [theirs, ours] of Object.entries(FLAGS)) {
      this.equal(`meta ${theirs}`, vocabulary[ours], meta[theirs])
    }
    const ends = [...vocabulary.endOfGeneration].sort((a, b) => a - b)
    this.equal(
      'meta eog',
      ends,
      [...meta.eog].sort((a, b) => a - b),
    )
  }

  ids(each: Case, i: number): void {
    const bytes = Uint8Array.fromHex(each.hex)
    for (const [mode, options] of Object.entries(MODES) as [Mode, (typeof MODES)[Mode]][]) {
      const label = `case ${i} ${mode} ${JSON.stringify(each.text ?? each.hex)}`
      const ids = [...this.tokenizer.encodeBytes(bytes, { ...options, repeatBos: true })]
      const expected = each[mode]
      if (expected) this.equal(label, ids, expected)
      // The reference gives up on some bytes; here every input has ids.
      else if (each[`${mode}_throws`]) this.equal(label, ids.every(this.isId), true)
    }
  }

  text(each: Case, i: number): void {
    for (const mode of ['special', 'parse'] as const) {
      const ids = each[mode]
      if (!ids) continue
      for (const way of ['unparse', 'remove'] as const) {
        const expected = each[`detok_${mode}_${way}`]
        if (typeof expected !== 'string') continue
        const label = `case ${i} detok_${mode}_${way} ${JSON.stringify(each.text ?? each.hex)}`
        this.equal(label, this.detokenize(ids, way).toHex(), expected)
      }
    }
  }

  piece([id, hex, attributes, score]: Golden['pieces'][number]): void {
    const { vocabulary } = this.tokenizer
    const label = `piece ${id} ${vocabulary.text(id)}`
    // The reference reports pieces it cannot decode in their own text; ours are what the file
    // writes.
    const isReport = hex.startsWith(UNDECODED)
    const expected = isReport ? Buffer.from(vocabulary.text(id)).toHex() : hex
    this.equal(`${label} bytes`, this.tokenizer.pieceBytes(id, { special: true }).toHex(), expected)
    this.equal(`${label} attributes`, vocabulary.attributes[id], attributes)
    this.equal(`${label} score`, vocabulary.scores[id], Math.fround(score))
  }

  /** The reference drops the prefix space of the first token alone, and not after a removed BOS. */
  private detokenize(ids: number[], way: 'unparse' | 'remove'): Uint8Array {
    const { tokenizer } = this
    const { vocabulary } = tokenizer
    const special = way === 'unparse'
    const removesBos = !special && vocabulary.addBos && ids[0] === tokenizer.ids.bos
    const isHidden = ids[0] !== undefined && !special && tokenizer.isSpecial(ids[0])
    return tokenizer.decodeBytes(ids, {
      special,
      removeAdded: !special,
      stripPrefix: vocabulary.addSpacePrefix && !removesBos && !isHidden,
      cleanSpaces: vocabulary.cleanSpaces,
    })
  }

  private readonly isId = (id: number): boolean => id >= 0 && id < this.tokenizer.vocabularySize

  private equal(label: string, found: unknown, expected: unknown): void {
    const name = `${this.name}/${label}`
    const [left, right] = [JSON.stringify(found), JSON.stringify(expected)]
    if (left === right) this.report.pass(name)
    else this.report.fail(name, `expected ${right}, found ${left}`)
  }
}
