// The payload of bundles: what is appended is found again, and damage is told.
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BundleError } from '../../src/errors/index.ts'
import { appendBundle, readBundle } from '../../src/files/bundle.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-bundle-'))
afterAll(() => rmSync(folder, { recursive: true }))

const put = (name: string, bytes: Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}
const bytesOf = (count: number, seed: number) =>
  Uint8Array.from({ length: count }, (_, i) => (i * seed) & 255)

const executable = bytesOf(40_001, 7)
const contents = [bytesOf(50_000, 3), bytesOf(1, 5), bytesOf(0, 1), bytesOf(16_384, 9)]
const paths = contents.map((bytes, i) => put(`part${i}`, bytes))
const build = async (name: string): Promise<string> => {
  const path = put(name, executable)
  await appendBundle(path, [
    { name: 'whole.gguf', paths: [paths[0]!] },
    { name: 'split-00001-of-00003.gguf', paths: paths.slice(1) },
  ])
  return path
}

test('what is appended is found again, each file at a multiple of 16 KiB', async () => {
  const path = await build('app')
  const found = readBundle(path)!
  expect(found.map(({ name }) => name)).toEqual(['whole.gguf', 'split-00001-of-00003.gguf'])
  const all = readFileSync(path)
  expect(all.subarray(0, executable.length)).toEqual(Buffer.from(executable))
  const parts = found.flatMap((model) => model.parts)
  expect(parts.map((part) => all.subarray(part.offset, part.offset + part.size))).toEqual(
    contents.map((bytes) => Buffer.from(bytes)),
  )
  for (const part of parts) expect(part.offset % 16_384).toBe(0)
})

test('a bundle can be a file of its own', async () => {
  const path = join(folder, 'app.models')
  await appendBundle(path, [{ name: 'm', paths: [paths[0]!] }])
  expect(readBundle(path)![0]!.parts[0]).toMatchObject({ offset: 0, size: 50_000, name: 'm' })
})

test('a file without a bundle has none', () => {
  for (const size of [0, 63, 64, 40_001]) {
    expect(readBundle(put('plain', bytesOf(size, 11)))).toBeUndefined()
  }
})

test('every damaged byte of the directory and the footer is noticed', async () => {
  const bytes = readFileSync(await build('good'))
  const start = bytes.lastIndexOf('[{"name"')
  expect(bytes.length - start).toBeGreaterThan(200)
  const unnoticed: number[] = []
  for (let at = start; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes)
    damaged[at]! ^= 0x10
    const path = put('damaged', damaged)
    const isMagic = at >= bytes.length - 64 && at < bytes.length - 56
    try {
      // Without its magic it is a file like any other.
      if (readBundle(path) !== undefined || !isMagic) unnoticed.push(at - start)
    } catch (error) {
      if (!(error instanceof BundleError) || isMagic) throw error
    }
  }
  expect(unnoticed).toEqual([])
})

test('bytes in front of a bundle that went or came are noticed', async () => {
  const bytes = readFileSync(await build('moved'))
  for (const moved of [bytes.subarray(1), Buffer.concat([Buffer.from('x'), bytes])]) {
    expect(() => readBundle(put('moved', moved))).toThrow(/its bundle ends at/)
  }
})

test('a model that cannot be read is an error, as is one that is stopped', async () => {
  const path = put('failed', executable)
  const missing = [{ name: 'm', paths: [join(folder, 'nothing')] }]
  await expect(appendBundle(path, missing)).rejects.toThrow(/ENOENT/)
  const signal = AbortSignal.abort(new Error('stopped'))
  const input = [{ name: 'm', paths: [paths[0]!] }]
  await expect(appendBundle(path, input, { signal })).rejects.toThrow('stopped')
})
