// Writes tests/golden: the small part of the reference's golden data that a clone carries.
//
//   bun scripts/golden/trim.ts [FROM [CASES [TO]]]
//
// Reads FROM (../shared/golden) and CASES (../shared/cases) and writes TO (tests/golden) in the
// same layout, so that `bun run golden --dir tests/golden` checks it. Folders that this script does
// not know, such as that of vocabularies, stay as they are.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Small models for each weight type and rope variant of the llama architecture. */
const modelNames = [
  'llama',
  'llama-tied-llama3rope',
  'llama-yarn',
  'llama-embd-none',
  'llama-f16',
  'llama-256-q4_0',
  'llama-256-q8_0',
]

/** Batches of several sequences, and removal and shift of positions. */
const extraNames = ['multi_seq_separate', 'multi_seq_unified', 'context_shift']

/** Rows of values that quantizers treat differently; the others repeat these at other scales. */
const quantRows = [
  'gaussian_1',
  'denormal_1e-40_gaussian',
  'ties_q4_grid',
  'zero_block_inside_gaussian',
]

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

const write = (path: string, content: string | Uint8Array): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

const copy = (from: string, to: string, file: string): void =>
  write(join(to, file), readFileSync(join(from, file)))

const copyAll = (from: string, to: string): void => {
  for (const file of readdirSync(from)) copy(from, to, file)
}

const writeJson = (path: string, value: unknown): void =>
  write(path, `${JSON.stringify(value, null, 1)}\n`)

const trimArchs = (from: string, to: string): void => {
  const { models: all } = readJson(join(from, 'manifest.json'))
  const models: Record<string, object> = {}
  for (const name of modelNames) {
    // `default_mode_file` holds the same logits again, with other attention code of the reference.
    const { default_mode_file: _, ...model } = all[name]
    models[name] = model
    copy(from, to, model.model)
    copy(from, to, model.data)
  }
  writeJson(join(to, 'manifest.json'), { models })
}

interface Step {
  op: string
  rows: number
  cols: number
  logits_offset: number
}

const trimExtra = (from: string, to: string): void => {
  const { data, cases } = readJson(join(from, 'manifest.json'))
  const logits = readFileSync(join(from, data))
  const kept: Uint8Array[] = []
  let offset = 0
  const chosen = cases.filter(({ id }: { id: string }) => extraNames.includes(id))
  for (const step of chosen.flatMap(({ steps }: { steps: Step[] }) => steps)) {
    if (step.op !== 'decode') continue
    const size = step.rows * step.cols * Float32Array.BYTES_PER_ELEMENT
    kept.push(logits.subarray(step.logits_offset, step.logits_offset + size))
    step.logits_offset = offset
    offset += size
  }
  write(join(to, data), Buffer.concat(kept))
  writeJson(join(to, 'manifest.json'), { data, cases: chosen })
  copy(from, to, 'samplers.json')
  copy(from, to, readJson(join(from, 'samplers.json')).logits)
}

const trimQuant = (from: string, to: string): void => {
  const manifest = readJson(join(from, 'manifest.json'))
  const rows = quantRows.map((name) => manifest.rows.indexOf(name))
  /** Files are `[rows][row_bytes]`. */
  const keepRows = (file: string | undefined, rowBytes: number): void => {
    if (file === undefined) return
    const bytes = readFileSync(join(from, file))
    const kept = rows.map((row) => bytes.subarray(row * rowBytes, (row + 1) * rowBytes))
    write(join(to, file), Buffer.concat(kept))
  }
  const valueBytes = manifest.n_per_row * Float32Array.BYTES_PER_ELEMENT
  keepRows(manifest.input.file, valueBytes)
  manifest.input.shape[0] = rows.length
  copy(from, to, manifest.imatrix.file)
  for (const type of manifest.types) {
    for (const variant of type.variants) {
      keepRows(variant.quantized, type.row_bytes)
      keepRows(variant.dequantized_f32, valueBytes)
      const differing = variant.rows_differing_from_ref
      if (differing === undefined) continue
      variant.rows_differing_from_ref = [...rows.keys()].filter((at) =>
        differing.includes(rows[at]),
      )
    }
  }
  writeJson(join(to, 'manifest.json'), { ...manifest, n_rows: rows.length, rows: quantRows })
}

/** Writes the compact golden set to `to`, from the full one and the written cases. */
export const trim = (from: string, cases: string, to: string): void => {
  for (const part of ['archs', 'extra', 'quant', 'gguf', 'cases']) {
    rmSync(join(to, part), { recursive: true, force: true })
  }
  trimArchs(join(from, 'archs'), join(to, 'archs'))
  trimExtra(join(from, 'extra'), join(to, 'extra'))
  trimQuant(join(from, 'quant'), join(to, 'quant'))
  copyAll(join(from, 'gguf'), join(to, 'gguf'))
  copyAll(join(cases, 'gguf'), join(to, 'cases', 'gguf'))
}

if (import.meta.main) {
  const root = join(import.meta.dir, '../..')
  const [
    from = join(root, '../shared/golden'),
    cases = join(root, '../shared/cases'),
    to = join(root, 'tests/golden'),
  ] = process.argv.slice(2)
  trim(from, cases, to)
}
