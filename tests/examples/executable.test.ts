// The example of a single-file executable, built and moved.
import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from '../../src/index.ts'
import { demoModel } from '../engine/altered_model.ts'

const source = join(import.meta.dir, '../../examples/executable/main.ts')

test('a compiled program that was moved to an empty folder writes the same story', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'leaven-'))
  try {
    const built = join(folder, 'story')
    const build = Bun.spawnSync([
      process.execPath,
      'build',
      '--compile',
      source,
      '--outfile',
      built,
    ])
    expect(build.stderr.toString()).not.toContain('error')
    expect(build.exitCode).toBe(0)
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    const moved = join(empty, 'story')
    renameSync(built, moved)
    const run = Bun.spawnSync([moved, demoModel], {
      cwd: empty,
      env: { HOME: join(folder, 'home'), LEAVEN_CACHE: join(folder, 'cache') },
    })
    expect(run.stderr.toString()).toBe('')
    expect(run.exitCode).toBe(0)
    await using model = await load(demoModel)
    const { text } = await model.generate('Once upon a time', { maxTokens: 60, temperature: 0 })
    expect(run.stdout.toString()).toBe(`Once upon a time${text}\n`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 60_000)
