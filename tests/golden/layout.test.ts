// The committed golden data is complete, whole, small, and what the trimming script makes.
import { describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { trim } from '../../scripts/golden/trim.ts'

const folder = import.meta.dir
const readJson = (...path: string[]) => JSON.parse(readFileSync(join(folder, ...path), 'utf8'))
const sizeOf = (...path: string[]): number => statSync(join(folder, ...path)).size

const filesIn = (root: string, part: string): string[] =>
  readdirSync(join(root, part), { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(root, part, name)).isFile())
    .map((name) => name.replaceAll('\\', '/'))
    .sort()

/** `named` are the files that the manifest of `part` tells of. */
const expectFiles = (part: string, named: string[]): void =>
  expect(filesIn(folder, part)).toEqual([...new Set(['manifest.json', ...named])].sort())

describe('every file is named by a manifest and every named file is there', () => {
  test('archs', () => {
    const models: { model: string; data: string }[] = Object.values(
      readJson('archs', 'manifest.json').models,
    )
    expectFiles(
      'archs',
      models.flatMap(({ model, data }) => [model, data]),
    )
  })

  test('extra', () => {
    const { data } = readJson('extra', 'manifest.json')
    const { logits } = readJson('extra', 'samplers.json')
    expectFiles('extra', [data, 'samplers.json', logits])
  })

  test('quant', () => {
    const { input, imatrix, types } = readJson('quant', 'manifest.json')
    const variants = types.flatMap((type: { variants: object[] }) => type.variants)
    const files = variants.flatMap((variant: Record<string, string | undefined>) =>
      [variant.quantized, variant.dequantized_f32].filter((name) => name !== undefined),
    )
    expectFiles('quant', [input.file, imatrix.file, ...files])
  })

  test('gguf', () => {
    const files: { file: string }[] = readJson('gguf', 'manifest.json').files
    expectFiles(
      'gguf',
      files.map(({ file }) => file),
    )
  })

  test('cases', () => {
    const cases: { id: string }[] = readJson('cases', 'gguf', 'manifest.json')
    expectFiles(
      'cases/gguf',
      cases.map(({ id }) => `${id}.gguf`),
    )
  })
})

interface ModelFacts {
  model: string
  data: string
  bytes: number
  prompts: {
    rows: number
    cols: number
    logits_offset?: number
    embd_offset?: number
    final_logits_offset?: number
  }[]
}

describe('offsets lie within the data', () => {
  test('archs: models unpack to their size and logits end where the file does', () => {
    const entries = Object.entries<ModelFacts>(readJson('archs', 'manifest.json').models)
    for (const [name, model] of entries) {
      const packed = readFileSync(join(folder, 'archs', model.model))
      expect(Bun.zstdDecompressSync(packed).length, name).toBe(model.bytes)
      const size = sizeOf('archs', model.data)
      for (const prompt of model.prompts) {
        const offset = prompt.logits_offset ?? prompt.embd_offset ?? Number.NaN
        expect(offset + prompt.rows * prompt.cols * 4, name).toBeLessThanOrEqual(size)
        const last = prompt.final_logits_offset
        if (last !== undefined) expect(last + prompt.cols * 4, name).toBeLessThanOrEqual(size)
      }
    }
  })

  test('extra: the decode steps cover the data without gaps, on models that are here', () => {
    const { data, cases } = readJson('extra', 'manifest.json')
    let end = 0
    for (const { model, steps } of cases) {
      expect(existsSync(join(folder, model))).toBe(true)
      for (const step of steps) {
        if (step.op !== 'decode') continue
        expect(step.logits_offset).toBe(end)
        expect(step.tokens.length).toBe(step.pos.length)
        end += step.rows * step.cols * 4
      }
    }
    expect(end).toBe(sizeOf('extra', data))
  })

  test('quant: files have their rows', () => {
    const { input, n_rows, n_per_row, rows, types } = readJson('quant', 'manifest.json')
    expect(rows.length).toBe(n_rows)
    expect(sizeOf('quant', input.file)).toBe(n_rows * n_per_row * 4)
    for (const { type, row_bytes, variants } of types) {
      for (const { quantized, dequantized_f32 } of variants) {
        if (quantized === undefined) continue
        expect(sizeOf('quant', quantized), type).toBe(n_rows * row_bytes)
        expect(sizeOf('quant', dequantized_f32), type).toBe(n_rows * n_per_row * 4)
      }
    }
  })
})

test('all golden data together stays below 12 MB', () => {
  const bytes = filesIn(folder, '.').reduce((sum, name) => sum + sizeOf(name), 0)
  expect(bytes).toBeLessThan(12e6)
})

const shared = join(folder, '../../../shared')
test.if(existsSync(join(shared, 'golden')))('the set is what the script makes of the full', () => {
  const made = mkdtempSync(join(tmpdir(), 'leaven-golden-'))
  try {
    trim(join(shared, 'golden'), join(shared, 'cases'), made)
    for (const part of readdirSync(made)) {
      expect(filesIn(folder, part)).toEqual(filesIn(made, part))
      for (const file of filesIn(made, part)) {
        const here = readFileSync(join(folder, part, file))
        expect(here.equals(readFileSync(join(made, part, file))), file).toBe(true)
      }
    }
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
})
