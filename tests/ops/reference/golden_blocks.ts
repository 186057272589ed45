// Blocks that the reference implementation quantized, with the values it reads from them: for the
// formats whose layouts `block_formats.ts` does not repeat, and for what quantizing must give.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DType } from '../../../src/native/dtype.ts'
import { dtypes } from '../../../src/native/ops.gen.ts'

const folder = join(import.meta.dir, '../../golden/quant')

interface Variant {
  variant: string
  quantized?: string
  dequantized_f32?: string
}

interface Manifest {
  n_per_row: number
  n_rows: number
  input: { file: string }
  types: { type: string; variants: Variant[] }[]
}

const bytesOf = (file: string): Uint8Array => {
  const bytes = readFileSync(join(folder, file))
  return new Uint8Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
}

const floatsOf = (file: string): Float32Array => new Float32Array(bytesOf(file).buffer)

const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))

/** The values that were quantized, [rows, 1024]. */
export const goldenInput: Float32Array = floatsOf(manifest.input.file)

export interface GoldenBlocks {
  /** Different blocks, each `blockBytes` long. */
  blocks: { bytes: Uint8Array; values: Float32Array }[]
  /** By the bytes of a block: what the reference reads. */
  read: ReadonlyMap<string, Float32Array>
  /** By the bytes of a block's values as f32: what it writes without an importance matrix. */
  written: ReadonlyMap<string, Uint8Array>
}

export const keyOf = (view: ArrayBufferView): string =>
  Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('latin1')

const known = new Map<DType, GoldenBlocks>()

/** Throws for a dtype that the goldens do not have. */
export const goldenBlocks = (dtype: DType): GoldenBlocks => {
  let found = known.get(dtype)
  if (found === undefined) {
    found = load(dtype)
    known.set(dtype, found)
  }
  return found
}

const load = (dtype: DType): GoldenBlocks => {
  const entry = manifest.types.find(({ type }) => type === dtype)
  if (entry === undefined) throw new Error(`the goldens have no ${dtype}`)
  const { blockLength, blockBytes } = dtypes[dtype]
  const read = new Map<string, Float32Array>()
  const written = new Map<string, Uint8Array>()
  const blocks: GoldenBlocks['blocks'] = []
  for (const { variant, quantized, dequantized_f32 } of entry.variants) {
    if (quantized === undefined || dequantized_f32 === undefined) continue
    const bytes = bytesOf(quantized)
    const values = floatsOf(dequantized_f32)
    for (let b = 0; b < bytes.length / blockBytes; b++) {
      const block = bytes.subarray(b * blockBytes, (b + 1) * blockBytes)
      const from = b * blockLength
      const decoded = values.subarray(from, from + blockLength)
      if (!read.has(keyOf(block))) blocks.push({ bytes: block, values: decoded })
      read.set(keyOf(block), decoded)
      if (variant === 'ref') {
        written.set(keyOf(goldenInput.subarray(from, from + blockLength)), block)
      }
    }
  }
  return { blocks, read, written }
}
