// Writes the demo model as a split one, for tests of loading.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type GgufTensorInput, openGguf, writeGguf } from '../../src/files/index.ts'
import { demoModel } from './altered_model.ts'

/**
 * The paths of `count` parts in a folder that `using` removes, as llama.cpp's gguf-split makes
 * them: all metadata in the first, and in each the keys that number it.
 */
export const splitModel = async (count: number) => {
  using gguf = openGguf(demoModel)
  const folder = mkdtempSync(join(tmpdir(), 'leaven-'))
  const paths: string[] = []
  const digits = (number: number) => String(number).padStart(5, '0')
  for (let part = 0; part < count; part++) {
    const metadata = new Map(part === 0 ? gguf.metadata.typedEntries() : [])
    metadata.set('split.no', { type: 'u16', value: part })
    metadata.set('split.count', { type: 'u16', value: count })
    metadata.set('split.tensors.count', { type: 'i32', value: gguf.tensors.length })
    const tensors: GgufTensorInput[] = []
    for (const tensor of gguf.tensors.filter((_, index) => index % count === part)) {
      const { name, type, shape } = tensor
      tensors.push({ name, type, shape, data: await gguf.readData(tensor) })
    }
    const path = join(folder, `part-${digits(part + 1)}-of-${digits(count)}.gguf`)
    await writeGguf(path, { metadata, tensors })
    paths.push(path)
  }
  return { paths, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}
