// What outlives this process's JavaScript: Workers that are terminated, exits at any time, reloads.
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sample } from '../tier.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-process-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = async (args: string[]) => {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: import.meta.dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { out, err, status: await child.exited, signal: child.signalCode, ended: Date.now() }
}

test('Workers that are terminated at work take everything with them', async () => {
  const count = sample({ test: 120, ci: 120, full: 2_000 })
  const { out, err, status } = await run(['worker_child.ts', String(count)])
  expect({ err, status }).toEqual({ err: '', status: 0 })
  expect(JSON.parse(out)).toMatchObject({ same: true })
}, 120_000)

test.each([
  ['idle', 0],
  ['never used', 0],
  ['pending run', 0],
  ['exit during a run', 7],
  ['error during a run', 1],
])(
  'a process ends at once: %s',
  async (name, wanted) => {
    const { out, err, status, signal, ended } = await run(['exit_child.ts', name])
    expect({ status, signal, panic: err.includes('panic') }).toEqual({
      status: wanted,
      signal: null,
      panic: false,
    })
    const ready = Number(/^ready (\d+)$/m.exec(out)?.[1])
    // It lingers for 20 ms; the rest is for a machine that has other things to do.
    expect(ended - ready).toBeLessThan(1500)
  },
  60_000,
)

test('objects of the code before a reload go on working', async () => {
  const path = join(folder, 'reloaded.ts')
  const source = join(import.meta.dir, '../../src')
  writeFileSync(
    path,
    `import { devices } from ${JSON.stringify(join(source, 'device/device.ts'))}
import { compile, graph } from ${JSON.stringify(join(source, 'graph/compile.ts'))}
const make = () => compile(graph((b) => b.input('x', 'f32', [2]).add(b.input('y', 'f32', [2]))))
const old = globalThis.kept
globalThis.kept ??= { program: make(), buffer: devices()[0].createBuffer({ size: 64 }), loads: 0 }
globalThis.kept.loads++
if (old === undefined) {
  globalThis.kept.buffer.fill(3)
  setTimeout(() => require('node:fs').appendFileSync(import.meta.path, '\\n// again'), 100)
} else {
  for (let i = 0; i < 30; i++) { Bun.gc(true); await Bun.sleep(1) }
  const x = new Float32Array([1, 2])
  const { output } = await old.program.run({ x, y: x })
  const fresh = await make().run({ x, y: x })
  console.log(JSON.stringify([[...output], [...fresh.output], old.buffer.get()[63], old.loads]))
  process.exit(0)
}
`,
  )
  const { out, err, status } = await run(['--hot', path])
  expect({ err: err.replace(/^.*Reloaded.*\n/m, ''), status }).toEqual({ err: '', status: 0 })
  expect(JSON.parse(out.trim().split('\n').at(-1)!)).toEqual([[2, 4], [2, 4], 3, 2])
  expect(readFileSync(path, 'utf8')).toContain('// again')
}, 60_000)
