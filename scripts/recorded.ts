// Opens the models of golden folders, and compares what leaven computes with what was recorded.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LoadedModel, loadModel } from '../src/engine/load.ts'

/** A model of `archs`: a GGUF file compressed with zstd. */
export const loadCompressed = async (path: string): Promise<LoadedModel> => {
  const bytes = Bun.zstdDecompressSync(readFileSync(path))
  return await loadModel(new Blob([new Uint8Array(bytes)]), {})
}

export const unload = (model: LoadedModel): void => {
  for (const buffer of model.buffers) buffer.dispose()
}

/** Rows of f32 values from a recorded file. */
export class Recorded {
  private readonly bytes: Buffer

  constructor(folder: string, file: string) {
    this.bytes = readFileSync(join(folder, file))
  }

  at(offset: number, count: number): Float32Array {
    const { bytes } = this
    return new Float32Array(
      bytes.buffer.slice(bytes.byteOffset + offset, bytes.byteOffset + offset + count * 4),
    )
  }
}

/** Normalised mean squared error, the measure that the recorded noise is given in. */
export const nmse = (found: ArrayLike<number>, wanted: ArrayLike<number>): number => {
  if (found.length !== wanted.length) return Number.POSITIVE_INFINITY
  let error = 0
  let size = 0
  for (let i = 0; i < wanted.length; i++) {
    error += (found[i]! - wanted[i]!) ** 2
    size += wanted[i]! ** 2
  }
  // NaN must not pass a comparison by being neither above nor below.
  return Number.isNaN(error) ? Number.POSITIVE_INFINITY : error / Math.max(size, Number.MIN_VALUE)
}

/** Index of the largest value, the first of equals. */
export const argmax = (values: Float32Array): number => {
  let best = 0
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i
  return best
}
