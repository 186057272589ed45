// Golden part "quant": rows of every format, read bit-exactly and written byte-exactly.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DType, isDType } from '../../src/native/dtype.ts'
import { dequantize, quantize } from '../../src/native/formats.ts'
import { type Report, type Run, selects } from './report.ts'

interface Variant {
  /** `ref` is without, `imatrix` with the importance matrix, `cpu` for activations. */
  variant: string
  identical_to?: string
  quantized?: string
  dequantized_f32?: string
}

interface Manifest {
  n_per_row: number
  n_rows: number
  rows: string[]
  input: { file: string }
  imatrix: { file: string }
  types: { type: string; row_bytes: number; variants: Variant[] }[]
}

interface Inputs {
  folder: string
  manifest: Manifest
  values: Float32Array
  importance: Float32Array
}

const readFloats = (folder: string, file: string): Float32Array => {
  const bytes = new Uint8Array(readFileSync(join(folder, file)))
  return new Float32Array(bytes.buffer, 0, bytes.length / 4)
}

/** Where two arrays of whole rows differ first, or undefined. Floats are compared as bits. */
const difference = (
  names: readonly string[],
  found: Uint8Array | Float32Array,
  expected: Uint8Array | Float32Array,
): string | undefined => {
  if (found.length !== expected.length) return `${found.length} of ${expected.length} elements`
  const bits = (a: Uint8Array | Float32Array) =>
    a instanceof Float32Array ? new Uint32Array(a.buffer, a.byteOffset, a.length) : a
  const [left, right] = [bits(found), bits(expected)]
  const at = left.findIndex((value, i) => value !== right[i])
  if (at < 0) return undefined
  const rowLength = found.length / names.length
  const row = Math.floor(at / rowLength)
  const unit = found instanceof Float32Array ? 'value' : 'byte'
  return `row ${names[row]}: ${unit} ${at % rowLength} is ${found[at]}, expected ${expected[at]}`
}

const tell = (report: Report, name: string, problem: string | undefined): void => {
  if (problem === undefined) report.pass(name)
  else report.fail(name, problem)
}

const checkVariant = (
  inputs: Inputs,
  dtype: DType,
  variant: Variant,
  recorded: Variant,
  report: Report,
): void => {
  const { folder, manifest } = inputs
  const name = `${dtype}/${variant.variant}`
  if (recorded.quantized === undefined) {
    report.fail(name, `no bytes of ${recorded.variant}`)
    return
  }
  const bytes = new Uint8Array(readFileSync(join(folder, recorded.quantized)))
  if (variant === recorded && recorded.dequantized_f32 !== undefined) {
    const expected = readFloats(folder, recorded.dequantized_f32)
    const found = dequantize(dtype, bytes, manifest.n_per_row)
    tell(report, `${name}/read`, difference(manifest.rows, found, expected))
  }
  // How a processor rounds activations is its own affair.
  if (variant.variant === 'cpu') return
  const importance = variant.variant === 'imatrix' ? inputs.importance : undefined
  const found = quantize(dtype, inputs.values, manifest.n_per_row, importance)
  tell(report, `${name}/write`, difference(manifest.rows, found, bytes))
}

export const run: Run = async (folder, report, options) => {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  const values = readFloats(folder, manifest.input.file)
  const importance = readFloats(folder, manifest.imatrix.file)
  const inputs = { folder, manifest, values, importance }
  for (const { type, variants } of manifest.types) {
    if (!selects(options.only, type)) continue
    if (!isDType(type)) {
      report.fail(type, 'there is no such dtype')
      continue
    }
    for (const variant of variants) {
      const source = variant.identical_to ?? variant.variant
      const recorded = variants.find((other) => other.variant === source) ?? variant
      try {
        checkVariant(inputs, type, variant, recorded, report)
      } catch (error) {
        report.fail(`${type}/${variant.variant}`, `${error}`)
      }
    }
  }
}
