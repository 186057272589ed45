// Every hostile or odd GGUF file gets its verdict: accepted, rejected by name and place, or cut.
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GgufError } from '../../src/errors/index.ts'
import { type Gguf, openGguf, readGguf } from '../../src/files/index.ts'
import { type HostileFile, hostileFiles } from './hostile_files.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-gguf-'))
afterAll(() => rmSync(folder, { recursive: true }))

const failure = async (work: () => unknown): Promise<unknown> => {
  try {
    await work()
  } catch (error) {
    return error
  }
  return undefined
}

const expectError = (error: unknown, file: string, says: RegExp): void => {
  expect(error).toBeInstanceOf(GgufError)
  const { message, file: named, field, offset, value } = error as GgufError
  expect(message).toMatch(says)
  expect(named).toBe(file)
  expect(field).not.toBe('')
  expect(offset).toBeGreaterThanOrEqual(0)
  expect(value).toBeDefined()
}

const expectVerdict = async (
  { verdict, says = /./, holds = () => true }: HostileFile,
  name: string,
  open: () => Gguf | Promise<Gguf>,
): Promise<void> => {
  if (verdict === 'reject') return expectError(await failure(open), name, says)
  using gguf = await open()
  expect(holds(gguf)).toBe(true)
  const error = await failure(() => gguf.checkData())
  if (verdict === 'cut') expectError(error, name, says)
  else expect(error).toBeUndefined()
}

describe('from a path, at once', () => {
  for (const [index, file] of hostileFiles.entries()) {
    test(`${file.verdict}: ${file.id}`, async () => {
      const path = join(folder, `${index}.gguf`)
      writeFileSync(path, file.bytes())
      await expectVerdict(file, path, () => openGguf(path))
    })
  }
})

test('the same verdicts from a Blob, in slices', async () => {
  for (const file of hostileFiles) {
    const blob = new Blob([file.bytes()])
    await expectVerdict(file, 'blob 1', () => readGguf(blob))
  }
})

test('a header cut at any byte is rejected, never misread', () => {
  const { bytes } = hostileFiles.find(({ id }) => id === 'A24 alignment 64')!
  const whole = bytes()
  const path = join(folder, 'cut.gguf')
  // Counts, the key with its value, the tensor's info: padding follows.
  const infosEnd = 24 + 8 + 17 + 4 + 4 + 8 + 1 + 4 + 8 + 4 + 8
  for (let length = 0; length < infosEnd; length++) {
    writeFileSync(path, whole.subarray(0, length))
    expect(() => openGguf(path)).toThrow(GgufError)
  }
  writeFileSync(path, whole.subarray(0, infosEnd))
  expect(openGguf(path).tensors).toHaveLength(1)
})
