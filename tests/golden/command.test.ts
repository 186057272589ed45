// The golden command fails when it should: on failures, on nothing checked, on unknown parts.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parts } from '../../scripts/golden.ts'

const root = join(import.meta.dir, '../..')
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leaven-golden-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const golden = (...args: string[]) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    [process.execPath, join(root, 'scripts/golden.ts'), ...args],
    { cwd: root },
  )
  return { exitCode, out: stdout.toString(), err: stderr.toString() }
}

test('the list of parts names every module, each once', () => {
  const modules = readdirSync(join(root, 'scripts/golden'))
    .map((name) => name.replace(/\.ts$/, ''))
    .filter((name) => name !== 'report' && name !== 'trim')
  const listed = Object.values(parts).flat()
  expect(new Set(listed).size).toBe(listed.length)
  for (const name of modules) expect(listed).toContain(name)
})

test('a part that is asked for and has no folder is a failure', () => {
  const { exitCode, out } = golden('extra', '--dir', folder)
  expect(exitCode).toBe(1)
  expect(out).toContain('there is no such folder')
  expect(out.trimEnd().split('\n').at(-1)).toBe('0 passed, 1 failed')
})

test('a run that checks nothing fails', () => {
  const { exitCode, out, err } = golden('--dir', folder)
  expect(exitCode).toBe(1)
  expect(out.trimEnd().split('\n').at(-1)).toBe('0 passed, 0 failed')
  expect(err).toContain('no case ran')
})

test('so does a name that nothing goes by', () => {
  expect(golden('extra', '--only', 'sourdough', '--dir', 'tests/golden').exitCode).toBe(1)
})

test('an unknown part is refused with the parts there are', () => {
  const { exitCode, err } = golden('bread')
  expect(exitCode).toBe(2)
  expect(err).toContain('quant ops archs vocab extra gguf models cases')
})

test('changed data is found, and --json tells which case', () => {
  mkdirSync(join(folder, 'extra'))
  cpSync(join(import.meta.dir, 'extra'), join(folder, 'extra'), { recursive: true })
  const file = join(folder, 'extra/samplers.json')
  const samplers = JSON.parse(readFileSync(file, 'utf8'))
  samplers.cases[0].ids[0] += 1
  writeFileSync(file, JSON.stringify(samplers))
  const { exitCode, out } = golden('extra', '--only', 'samplers', '--dir', folder, '--json')
  const { passed, failures } = JSON.parse(out)
  expect(exitCode).toBe(1)
  expect(passed).toBeGreaterThan(100)
  const found = failures.filter(({ name }: { name: string }) => name.startsWith('samplers/'))
  expect(found.length).toBe(1)
  expect(found[0]).toMatchObject({ part: 'extra', problem: expect.stringContaining('expected') })
})
