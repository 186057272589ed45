// Golden part "cases", sections B and C of cases.md: tokenization, streaming, stop strings.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StopMatcher, TextStream } from '../../src/text/stream/index.ts'
import { createTokenizer, type Tokenizer, TokenType } from '../../src/text/tokenizer/index.ts'
import { type CaseRow, caseRows, idLists, quoted, unescaped } from '../case_rows.ts'
import { type Report, type RunOptions, selects } from './report.ts'
import { readTokenizer } from './vocab.ts'

/** Vocabularies by the start of a column's heading. */
const VOCABULARIES = { 'GPT-2': 'gpt2', 'Llama-2': 'llama-spm', 'Llama-3': 'llama3' } as const

export const run = async (folder: string, report: Report, options: RunOptions): Promise<void> => {
  const file = join(folder, 'cases.md')
  if (!existsSync(file)) return
  const markdown = readFileSync(file, 'utf8')
  const golden = join(folder, '..', 'golden', 'vocab')
  const vocabularies = new Map<string, Tokenizer>()
  for (const [heading, name] of Object.entries(VOCABULARIES)) {
    const path = join(golden, name, 'vocab.gguf.zst')
    if (existsSync(path)) vocabularies.set(heading, await readTokenizer(path))
  }
  const checks = new CaseChecks(vocabularies, report)
  const rows = [...caseRows(markdown, 'B'), ...caseRows(markdown, 'C')]
  for (const row of rows.filter(({ id }) => selects(options.only, id))) {
    try {
      checks.row(row)
    } catch (error) {
      report.fail(row.id, `${error}`)
    }
  }
  const special = /special parsing on, (B\d+) in ([\w-]+) is the one id (\d+)/.exec(markdown)
  const row = rows.find(({ id }) => id === special?.[1])
  if (special && row && selects(options.only, row.id)) {
    checks.parsed(row, special[2]!, Number(special[3]))
  }
}

class CaseChecks {
  private readonly vocabularies: Map<string, Tokenizer>
  private readonly report: Report

  constructor(vocabularies: Map<string, Tokenizer>, report: Report) {
    this.vocabularies = vocabularies
    this.report = report
  }

  /** Rows are known by what they say; those of other parts of the product are left to them. */
  row(row: CaseRow): void {
    const { id, title, cells } = row
    const [first = '', second = ''] = cells
    if (row.headings[1]?.startsWith('GPT-2')) this.texts(row)
    else if (title.startsWith('SPM')) this.merging(row)
    else if (title.startsWith('Unigram')) this.unigram(row)
    else if (title.startsWith('WordPiece')) this.wordPiece(row)
    else if (title.startsWith('byte fallback')) this.byteFallback(row)
    else if (first === '`""`') this.emptyText(id)
    else if (first.startsWith('ids [')) this.badIds(id, first)
    else if (first.startsWith('lone surrogate')) this.loneSurrogate(id, first)
    else if (/^(pieces|first bytes) /.test(first)) this.bytes(id, first, second)
    else if (first.startsWith('stop ')) this.stops(id, first, second)
  }

  parsed(row: CaseRow, heading: string, expected: number): void {
    const tokenizer = this.vocabularies.get(heading)
    const [text = ''] = quoted(row.cells[0]!)
    const options = { addSpecial: false, parseSpecial: true }
    const ids = tokenizer && [...tokenizer.encode(text, options)]
    if (ids) this.equal(`${row.id} parsed`, ids, [expected])
  }

  /** A text (or two) in the first cell, its ids by vocabulary in the others. */
  private texts({ id, cells, headings }: CaseRow): void {
    const note = cells[0]!.replace(/`[^`]*`/g, '')
    const texts = quoted(cells[0]!).map(unescaped)
    if (note.includes('U+0301')) texts[0] = texts[0]!.replace(/é$/, 'e\u0301')
    headings.slice(1).forEach((heading, column) => {
      const name = Object.keys(VOCABULARIES).find((start) => heading.startsWith(start))
      const tokenizer = name && this.vocabularies.get(name)
      const cell = cells[column + 1]
      if (!tokenizer || cell === undefined) return
      idLists(cell).forEach((expected, i) => {
        const ids = [...tokenizer.encode(texts[i]!, { addSpecial: heading.includes('BOS') })]
        this.equal(`${id} ${name} ${i}`, ids, expected)
      })
    })
  }

  /** `scores a -1, b -2` and ``` `ab` → `a`,`b`; `b` → `b` ```. */
  private merging({ id, cells }: CaseRow): void {
    const tokenizer = scored('llama', cells[0]!)
    for (const part of cells[1]!.split(';')) {
      const [text, ...expected] = quoted(part)
      if (text !== undefined) this.equal(`${id} ${text}`, piecesOf(tokenizer, text), expected)
    }
  }

  private unigram({ id, cells }: CaseRow): void {
    const [viterbi = '', merged = ''] = cells[1]!.split(';')
    const text = quoted(viterbi).join('')
    const unigram = scored('t5', cells[0]!)
    this.equal(`${id} unigram`, piecesOf(unigram, text), quoted(viterbi))
    this.equal(`${id} merging`, piecesOf(scored('llama', cells[0]!), text), quoted(merged))
  }

  private wordPiece({ id, cells }: CaseRow): void {
    const names = cells[0]!
      .replace(/\(.*\)/, '')
      .replaceAll('`', '')
      .trim()
      .split(' ')
    const position = (name: string): number => names.indexOf(name)
    const tokenizer = createTokenizer({
      model: 'bert',
      // Files write the start of a word as U+2581 instead of the other parts with ##.
      tokens: names.map((name) => {
        if (name.startsWith('##')) return name.slice(2)
        return name.startsWith('[') ? name : `▁${name}`
      }),
      ids: { unknown: position('[UNK]'), bos: position('[CLS]'), separator: position('[SEP]') },
    })
    for (const part of cells[1]!.split(';')) {
      const [text = ''] = quoted(part)
      const expected = part.split('→')[1]!.trim().split(' ').map(Number)
      const ids = [...tokenizer.encode(text, { addSpecial: false })]
      this.equal(`${id} ${text}`, ids, expected)
    }
  }

  private byteFallback({ id, cells }: CaseRow): void {
    const text = /without (\P{White_Space}+)/v.exec(cells[0]!)?.[1] ?? ''
    const [expected = ''] = quoted(cells[1]!)
    const pieces = expected.match(/<0x..>/g) ?? []
    const withBytes = scored('llama', '<unk> 0', pieces)
    this.equal(`${id} bytes`, piecesOf(withBytes, text), pieces)
    this.equal(`${id} unknown`, piecesOf(scored('llama', '<unk> 0'), text), ['<unk>'])
  }

  private emptyText(id: string): void {
    for (const [name, tokenizer] of this.vocabularies) {
      const { addBos } = tokenizer.vocabulary
      this.equal(`${id} ${name}`, [...tokenizer.encode('')], addBos ? [tokenizer.ids.bos] : [])
      this.equal(`${id} ${name} bare`, tokenizer.encode('', { addSpecial: false }).length, 0)
    }
  }

  private badIds(id: string, cell: string): void {
    for (const [name, tokenizer] of this.vocabularies) {
      for (const [list = ''] of cell.matchAll(/\[[^\]]*\]/g)) {
        const ids = JSON.parse(list.replace('n_vocab', `${tokenizer.vocabularySize}`))
        const caught = thrownBy(() => tokenizer.decode(ids))
        const isNamed = caught instanceof RangeError && caught.message.includes('token 0')
        this.equal(`${id} ${name} ${list}`, isNamed, true)
      }
    }
  }

  private loneSurrogate(id: string, cell: string): void {
    const text: string = JSON.parse(quoted(cell)[0]!)
    for (const [name, tokenizer] of this.vocabularies) {
      this.equal(`${id} ${name}`, tokenizer.decode(tokenizer.encode(text)), text.toWellFormed())
    }
  }

  /** Bytes in hexadecimal, pieces divided by dots; the chunks or the text that they give. */
  private bytes(id: string, cell: string, expected: string): void {
    const stream = new TextStream()
    const parts = cell
      .split('·')
      .map((part) => Uint8Array.fromHex((part.match(/\b[0-9A-F]{2}\b/g) ?? []).join('')))
    const chunks = parts.map((part) => stream.push(part))
    const wanted = quoted(expected.split(' — ')[0]!).map((text) =>
      unescaped(text.replace(/^""$/, '')),
    )
    const cut = expected.includes('U+FFFD (')
    if (wanted.length > 1) this.equal(id, chunks, wanted)
    else this.equal(id, chunks.join(''), wanted[0])
    this.equal(`${id} flush`, stream.flush(), cut ? '\ufffd' : '')
  }

  /** A list of stop strings, then tokens; the text that comes out, however the tokens are cut. */
  private stops(id: string, cell: string, expected: string): void {
    const [list = '[]', ...tokens] = quoted(cell).map(unescaped)
    const stops: string[] = JSON.parse(list.replaceAll('\n', '\\n'))
    if (stops.includes('')) {
      this.equal(id, thrownBy(() => new StopMatcher(stops)) instanceof RangeError, true)
      return
    }
    const wanted = quoted(expected)[0]!
    const joined = tokens.join('')
    this.equal(id, matched(stops, tokens), wanted)
    this.equal(`${id} whole`, matched(stops, [joined]), wanted)
    this.equal(`${id} single`, matched(stops, joined.split('')), wanted)
  }

  private equal(name: string, found: unknown, expected: unknown): void {
    const [left, right] = [JSON.stringify(found), JSON.stringify(expected)]
    if (left === right) this.report.pass(name)
    else this.report.fail(name, `expected ${right}, found ${left}`)
  }
}

/** A tokenizer from `a,b -2; ab -3`, where names without a score get the next one. */
function scored(model: string, list: string, byteNames: readonly string[] = []): Tokenizer {
  const pieces: string[] = []
  const scores: number[] = []
  for (const item of list.replace(/^scores/, '').split(/[,;]/)) {
    const [name, score] = item.trim().split(/\s+/)
    pieces.push(name!)
    if (score === undefined) continue
    while (scores.length < pieces.length) scores.push(Number(score))
  }
  const names = [...pieces, ...byteNames]
  const unknown = names.indexOf('<unk>')
  return createTokenizer({
    model,
    tokens: names,
    scores: Float32Array.from(names, (_, i) => scores[i] ?? 0),
    types: Int32Array.from(names, (_, i) => {
      if (i === unknown) return TokenType.unknown
      return i < pieces.length ? TokenType.normal : TokenType.byte
    }),
    ids: unknown < 0 ? {} : { unknown },
    addBos: false,
    addEos: false,
    addSpacePrefix: false,
  })
}

const piecesOf = (tokenizer: Tokenizer, text: string): string[] =>
  Array.from(tokenizer.encode(text), (id) => tokenizer.pieceText(id))

function matched(stops: string[], parts: readonly string[]): string {
  const matcher = new StopMatcher(stops)
  let text = ''
  for (const part of parts) text += matcher.push(part).text
  return text + matcher.flush()
}

function thrownBy(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}
