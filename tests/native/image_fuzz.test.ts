// The program check trusts nothing: mutated images and bad ids end in an error or in a run that
// touches nothing but its own memory, with guard pages around every buffer. In CI the kernels check
// themselves as well.
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sample, tier } from '../tier.ts'
import { buildSafeLibrary } from './safe_library.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-fuzz-'))
const safe = tier === 'test' ? undefined : buildSafeLibrary()
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  if (safe !== undefined) rmSync(safe.folder, { recursive: true, force: true })
})

/** Counts of outcomes. Throws, naming the case, when the child does not come to its end. */
const fuzz = async (mode: 'images' | 'ids', count: number): Promise<Record<string, number>> => {
  const trace = join(folder, mode)
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, 'image_fuzz_child.ts'),
      mode,
      '0',
      String(count),
      trace,
    ],
    {
      env: { ...process.env, ...(safe && { LEAVEN_LIBRARY: safe.path }) },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 20_000 + count * 20,
      killSignal: 'SIGKILL',
    },
  )
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) {
    const last = readFileSync(trace, 'utf8').trim()
    throw new Error(
      `${mode} ${last} 1: ${child.signalCode ?? child.exitCode} ${err.slice(0, 2000)}`,
    )
  }
  return JSON.parse(out)
}

const total = (counts: Record<string, number>, stage: string): number =>
  Object.entries(counts)
    .filter(([key]) => key.startsWith(`${stage} `))
    .reduce((sum, [, count]) => sum + count, 0)

test('mutated images end in an error or in a harmless run', async () => {
  const count = sample({ test: 3_000, ci: 100_000, full: 1_000_000 })
  const counts = await fuzz('images', count)
  expect(total(counts, 'check')).toBe(count)
  // It is no test unless both come often.
  expect(counts['check ok']).toBeGreaterThan(count / 20)
  expect(counts['check invalidImage']).toBeGreaterThan(count / 4)
  expect(counts['run ok']).toBeGreaterThan(count / 50)
  expect(counts['run badIndex']).toBeGreaterThan(count / 500)
  // What is accepted is run.
  expect(total(counts, 'run')).toBeGreaterThan(0.9 * counts['check ok']!)
  // The tables of handles grow once; a leak would grow with the count.
  expect(counts.left).toBeLessThan(16)
}, 3_600_000)

test('bad tokens, rows, cells, sequences, lengths and blocks are index errors', async () => {
  const count = sample({ test: 20_000, ci: 200_000, full: 5_000_000 })
  const counts = await fuzz('ids', count)
  expect(Object.keys(counts).sort()).toEqual(['run badIndex', 'run ok'])
  expect(counts['run ok']! + counts['run badIndex']!).toBe(count)
  expect(counts['run badIndex']).toBeGreaterThan(count / 20)
  expect(counts['run ok']).toBeGreaterThan(count / 20)
}, 3_600_000)
