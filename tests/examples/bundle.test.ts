// The example of a bundle, made and run as its comment says.
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { model, root, runCli } from '../cli/run_cli.ts'

test('the bundled example writes the same story as its source', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'leaven-'))
  try {
    const source = 'examples/bundle/main.ts'
    const story = join(folder, 'story')
    expect(await runCli(['bundle', source, model, '-o', story])).toMatchObject({ status: 0 })
    const started = { cwd: root, env: { LEAVEN_CACHE: join(folder, 'cache') } }
    const fromSource = Bun.spawnSync([process.execPath, source, 'The king'], started)
    const bundled = Bun.spawnSync([story, 'The king'], { ...started, cwd: folder })
    expect(bundled.stdout.toString()).toStartWith('The king')
    expect(bundled.stdout.toString()).toBe(fromSource.stdout.toString())
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 60_000)
