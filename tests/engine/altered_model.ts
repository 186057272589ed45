// Writes copies of the demo model with other metadata or tensors, for tests of loading.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type GgufTensorInput,
  type GgufValueInput,
  openGguf,
  writeGguf,
} from '../../src/files/index.ts'

/** The model that the project carries. */
export const demoModel = join(import.meta.dir, '../../models/stories-tiny-q8_0.gguf')

export interface Alteration {
  /** Values to set; undefined removes the key. */
  metadata?: Record<string, GgufValueInput | undefined>
  /** Changes or, with undefined, removes tensors. */
  tensor?(input: GgufTensorInput): GgufTensorInput | undefined
}

/** The path of an altered copy in a folder that `using` removes. */
export const alteredModel = async (alteration: Alteration) => {
  using gguf = openGguf(demoModel)
  const metadata = new Map(gguf.metadata.typedEntries())
  for (const [key, value] of Object.entries(alteration.metadata ?? {})) {
    if (value === undefined) metadata.delete(key)
    else metadata.set(key, value)
  }
  const tensors: GgufTensorInput[] = []
  for (const tensor of gguf.tensors) {
    const { name, type, shape } = tensor
    const input = { name, type, shape, data: await gguf.readData(tensor) }
    const altered = alteration.tensor ? alteration.tensor(input) : input
    if (altered !== undefined) tensors.push(altered)
  }
  const folder = mkdtempSync(join(tmpdir(), 'leaven-'))
  const path = join(folder, 'altered.gguf')
  await writeGguf(path, { metadata, tensors })
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}
