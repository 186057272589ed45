// leaven doctor from outside: it finds what there is, and says what stands against a model.
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { openGguf } from '../../src/files/index.ts'
import { devices } from '../../src/tensor.ts'
import { alteredModel } from '../engine/altered_model.ts'
import { command, model, root, runCli } from './run_cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-doctor-'))
afterAll(() => rmSync(folder, { recursive: true }))

const examine = (args: string[], environment: Record<string, string> = {}) => {
  const child = Bun.spawnSync(command('doctor', '--json', ...args), {
    cwd: root,
    env: { PATH: process.env.PATH!, HOME: folder, ...environment },
  })
  expect(child.stderr.toString()).toBe('')
  return { status: child.exitCode, ...JSON.parse(child.stdout.toString()) }
}

describe('leaven doctor', () => {
  test('finds the library, the kernels, the devices and the memory', () => {
    const report = examine([])
    const [cpu] = devices()
    expect(report).toMatchObject({
      status: 0,
      healthy: true,
      bun: { version: Bun.version },
      library: { from: 'build' },
      kernels: { chosen: cpu!.features[0] },
      threads: { chosen: availableParallelism() },
      gpu: { found: false },
      environment: {},
    })
    expect(report.kernels.available.at(-1)).toBe(report.kernels.chosen)
    expect(report.devices[0].memoryTotal).toBe(cpu!.memoryTotal)
    expect(report.devices[0].memoryFree).toBeGreaterThan(0)
  })

  test('says in words what it found', async () => {
    const { status, stdout, stderr } = await runCli(['doctor', model])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const part of ['kernels  ', 'gpu  ', 'all is well', 'architecture llama; q8_0 2.90 MB']) {
      expect(stdout).toContain(part)
    }
  })

  test('tells why a choice was made', () => {
    const [weakest] = examine([]).kernels.available
    const report = examine([], { LEAVEN_ISA: weakest, LEAVEN_CPU_DEVICES: '2' })
    expect(report.kernels.chosen).toBe(weakest)
    expect(report.environment).toEqual({ LEAVEN_ISA: weakest, LEAVEN_CPU_DEVICES: '2' })
    expect(report.devices.map(({ id }: { id: string }) => id)).toEqual(['cpu', 'cpu:1'])
  })

  test('reports a library that cannot be loaded, and goes on', () => {
    const wrong = join(folder, 'wrong.so')
    writeFileSync(wrong, 'no library')
    const report = examine([model], { LEAVEN_LIBRARY: wrong })
    expect(report).toMatchObject({ status: 1, healthy: false })
    expect(report.library.problem).toContain(wrong)
    expect(report.cacheFolders.length).toBeGreaterThan(0)
  })

  test.if(process.platform !== 'win32')('knows which cache folders are of use', () => {
    const open = join(folder, 'open')
    mkdirSync(open)
    Bun.spawnSync(['chmod', '777', open])
    const blocked = join(folder, 'file')
    writeFileSync(blocked, '')
    const environment = { LEAVEN_CACHE: open, TMPDIR: join(blocked, 'tmp') }
    const { cacheFolders } = examine([], environment)
    expect(cacheFolders[0]).toMatchObject({ path: open })
    expect(cacheFolders[0].problem).toContain('other users can write to it')
    expect(cacheFolders[1]).toEqual({ path: join(folder, '.cache/leaven') })
    expect(cacheFolders[2].problem).toBeDefined()
    // Looking does not create.
    expect(existsSync(join(folder, '.cache'))).toBe(false)
  })
})

describe('of a model', () => {
  test('it says what it needs', () => {
    const report = examine([model])
    expect(report.model).toMatchObject({ architecture: 'llama', contextSize: 512, fits: true })
    using gguf = openGguf(join(root, model))
    const number = (key: string) => gguf.metadata.integer(`llama.${key}`)
    const row = number('embedding_length') / number('attention.head_count')
    const cell = 2 * number('attention.head_count_kv') * row * 2
    expect(report.model.cache).toBe(512 * (number('block_count') * cell + 4))
    const bytes = gguf.tensors.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    expect(report.model.weights).toBe(bytes)
  })

  test('it says why one cannot run', async () => {
    expect(examine(['no.gguf'])).toMatchObject({
      status: 1,
      healthy: false,
      model: { path: 'no.gguf', problem: 'no.gguf: no such file' },
    })
    using unknown = await alteredModel({ metadata: { 'general.architecture': 'sourdough' } })
    const report = examine([unknown.path])
    expect(report.status).toBe(1)
    expect(report.model.problem).toContain('sourdough')
  })
})
