// Split files: the first part opens all, and parts that do not belong together are told apart.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GgufError } from '../../src/errors/index.ts'
import { type GgufValueInput, openGguf, readGguf, writeGguf } from '../../src/files/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-split-'))
afterAll(() => rmSync(folder, { recursive: true }))

const partName = (number: number, prefix = 'model'): string =>
  join(folder, `${prefix}-0000${number}-of-00003.gguf`)

// A Blob in memory: one made of a BunFile alone would be that file.
const toBlob = (path: string): Blob => new Blob([readFileSync(path)])

interface PartOptions {
  no?: number
  count?: number
  total?: number
  tensor?: string
}

const writePart = async (path: string, number: number, options: PartOptions = {}) => {
  const { no = number - 1, count = 3, total = 3, tensor = `t${number}` } = options
  const keys: Record<string, GgufValueInput> = {
    'split.no': { type: 'u16', value: no },
    'split.count': { type: 'u16', value: count },
    'split.tensors.count': { type: 'i32', value: total },
  }
  const metadata = number === 1 ? { 'general.name': 'split', ...keys } : keys
  const data = new Float32Array(8).fill(number)
  await writeGguf(path, { metadata, tensors: [{ name: tensor, type: 'f32', shape: [8], data }] })
}

/** A set of parts like model's, with one part replaced. */
const variant = async (prefix: string, number: number, options: PartOptions): Promise<string> => {
  for (const each of [1, 2, 3]) copyFileSync(partName(each), partName(each, prefix))
  await writePart(partName(number, prefix), number, options)
  return partName(1, prefix)
}

beforeAll(async () => {
  for (const number of [1, 2, 3]) await writePart(partName(number), number)
})

test('the first part opens all, and tensors say which file they are in', async () => {
  const first = partName(1)
  const opened = [openGguf(first), openGguf(Bun.file(first)), await readGguf(first)]
  const all = [1, 2, 3].map((number) => partName(number))
  opened.push(openGguf(all), await readGguf(all.map(toBlob)))
  for (const gguf of opened) {
    gguf.checkData()
    expect(gguf.files).toHaveLength(3)
    expect(gguf.tensors.map(({ name, fileIndex }) => [name, fileIndex])).toEqual([
      ['t1', 0],
      ['t2', 1],
      ['t3', 2],
    ])
    expect(gguf.metadata.get('general.name')).toBe('split')
  }
  expect(opened[0]!.files.map(({ source }) => source)).toEqual(all)
  for (const gguf of opened) {
    const bytes = await gguf.readData(gguf.tensorsByName.get('t3')!)
    expect(new Float32Array(bytes.buffer)[0]).toBe(3)
  }
})

test('with split: false only the named file is opened, whichever part it is', () => {
  expect(openGguf(partName(1), { split: false }).tensors.map(({ name }) => name)).toEqual(['t1'])
  expect(openGguf(partName(2), { split: false }).tensors.map(({ name }) => name)).toEqual(['t2'])
})

test('another part than the first is an error that names the first', () => {
  expect(() => openGguf(partName(2))).toThrow(/part 2 of 3: open the first, .*00001-of-00003/)
})

test('a missing part is an error that names it', async () => {
  const first = await variant('missing', 3, {})
  unlinkSync(partName(2, 'missing'))
  expect(() => openGguf(first)).toThrow(/missing-00002-of-00003.gguf.*part 2 of the split file/)
  await expect(readGguf(first)).rejects.toThrow(/missing-00002-of-00003.gguf.*part 2/)
})

test('a first part under another name, or in a Blob, asks for the others', async () => {
  const renamed = join(folder, 'renamed.gguf')
  copyFileSync(partName(1), renamed)
  expect(() => openGguf(renamed)).toThrow(/part 1 of 3: its name must end in -00001-of-00003.gguf/)
  await expect(readGguf(toBlob(renamed))).rejects.toThrow(/all parts as an array/)
})

test('parts that do not belong together are errors', async () => {
  const cases: [string, number, PartOptions, RegExp][] = [
    ['number', 2, { no: 2 }, /split.no.*not part 2 of 3/],
    ['count', 2, { count: 4 }, /split.count.*of 4 parts, not of 3/],
    ['whole', 2, { no: 0, count: 1 }, /split.count.*of 1 parts, not of 3/],
    ['total', 1, { total: 4 }, /split.tensors.count.*3 tensors instead of 4/],
    ['twice', 3, { tensor: 't1' }, /tensor 't1'.*as well/],
    ['outside', 1, { no: 3 }, /split.no.*3 is more than 2/],
  ]
  for (const [prefix, number, options, says] of cases) {
    const first = await variant(prefix, number, options)
    expect(() => openGguf(first)).toThrow(GgufError)
    expect(() => openGguf(first)).toThrow(says)
  }
  expect(() => openGguf([partName(1), partName(2)])).toThrow(/of 3 parts, not of 2/)
  expect(() => openGguf([1, 3, 2].map((n) => partName(n)))).toThrow(/not part 2 of 3/)
})

test('damage in a later part is reported in its own name', async () => {
  const first = await variant('damaged', 3, {})
  await Bun.write(partName(3, 'damaged'), 'GGUX and more')
  expect(() => openGguf(first)).toThrow(/damaged-00003-of-00003.gguf: magic/)
})
