// Workers, exits and reloads in the middle of work: every process ends, in time and unhurt.
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sample } from '../tier.ts'

const root = join(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'leaven-processes-'))
afterAll(() => rmSync(folder, { recursive: true }))

const model = join(root, 'models/stories-tiny-q8_0.gguf')
const prelude = `
  import { load } from ${JSON.stringify(join(root, 'src/index.ts'))}
  import { compile, devices, Fence, graph } from ${JSON.stringify(join(root, 'src/tensor.ts'))}
  const model = ${JSON.stringify(model)}
`

let files = 0
const script = (body: string): string => {
  const path = join(folder, `script${files++}.ts`)
  writeFileSync(path, prelude + body)
  return path
}

/** Ends by itself within the limit, without a crash; resolves to its output. */
const run = async (body: string, expectedStatus = 0): Promise<string> => {
  const child = Bun.spawn([process.execPath, script(body)], {
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 30_000,
    killSignal: 'SIGKILL',
  })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  await child.exited
  expect({ stderr, signal: child.signalCode, status: child.exitCode }).toEqual({
    stderr: '',
    signal: null,
    status: expectedStatus,
  })
  return stdout.trim()
}

describe('in Workers', () => {
  const worker = script(`
    const loaded = await load(model, { contextSize: 64 })
    const { text } = await loaded.generate('Once', { maxTokens: 8, temperature: 0 })
    postMessage(text)
    if (process.env.KEEP_GOING) for (;;) await loaded.generate('Once', { maxTokens: 50 })
    loaded.dispose()`)

  test('several at once do the same as the main thread', async () => {
    const said = await run(`
      const own = await load(model, { contextSize: 64 })
      const { text } = await own.generate('Once', { maxTokens: 8, temperature: 0 })
      const texts = await Promise.all([1, 2, 3].map(() => new Promise((resolve) => {
        const worker = new Worker(${JSON.stringify(worker)})
        worker.onmessage = ({ data }) => { resolve(data); worker.terminate() }
      })))
      console.log(texts.every((each) => each === text))`)
    expect(said).toBe('true')
  })

  test('ended in the middle of a generation, again and again, they hurt nobody', async () => {
    const said = await run(`
      process.env.KEEP_GOING = '1'
      for (let i = 0; i < ${sample({ test: 4, ci: 12, full: 60 })}; i++) {
        const worker = new Worker(${JSON.stringify(worker)}, { env: { ...process.env } })
        await new Promise((resolve) => { worker.onmessage = resolve })
        await Bun.sleep(i)
        worker.terminate()
      }
      const own = await load(model, { contextSize: 64 })
      console.log((await own.generate('Once', { maxTokens: 8 })).tokens.length)
      process.exit(0)`)
    expect(said).toBe('8')
  })

  test('objects sent to another thread are refused or inert', async () => {
    const said = await run(`
      const [device] = devices()
      const buffer = device.createBuffer({ size: 8 })
      let outcome = 'inert'
      try {
        const copy = structuredClone(buffer)
        if (typeof copy.get === 'function') outcome = 'alive'
      } catch { outcome = 'refused' }
      console.log(outcome)`)
    expect(said).toMatch(/^(inert|refused)$/)
  })
})

describe('a process that ends in the middle of', () => {
  const middles: Record<string, string> = {
    'a load': 'void load(model)',
    'a generation': `
      const loaded = await load(model)
      void loaded.generate('Once', { maxTokens: 300 }).then(() => {})
      await Bun.sleep(15)`,
    'an evaluation': `
      const loaded = await load(model)
      void loaded.evaluate(new Int32Array(400).fill(7))
      await Bun.sleep(2)`,
    'many generations': `
      const loaded = await load(model)
      for (let i = 0; i < 8; i++) void loaded.generate('Once').then(() => {})
      await Bun.sleep(15)`,
    'a wait for a fence': `
      const queue = devices()[0].createQueue()
      void queue.wait(new Fence(), 1).catch(() => {})
      await Bun.sleep(5)`,
    'a run whose outputs are lent': `
      const g = graph((b) => { const x = b.input('x', 'f32', [1, 4]); return x.mul(x) })
      const lease = await compile(g).lease({ x: new Float32Array(4) })
      globalThis.view = lease.view('output')`,
    'nothing, with everything undisposed': `
      globalThis.all = [await load(model), devices()[0].createBuffer({ size: 1 << 20 })]`,
  }
  for (const [name, body] of Object.entries(middles)) {
    test(`${name} by process.exit`, async () => {
      await run(`${body}\nprocess.exit(0)`)
    })
    test(`${name} by an error that nobody catches`, async () => {
      const child = Bun.spawn([process.execPath, script(`${body}\nthrow new Error('uncaught')`)], {
        stdout: 'ignore',
        stderr: 'pipe',
        timeout: 30_000,
        killSignal: 'SIGKILL',
      })
      const stderr = await new Response(child.stderr).text()
      await child.exited
      expect({ signal: child.signalCode, status: child.exitCode }).toEqual({
        signal: null,
        status: 1,
      })
      expect(stderr).toContain('uncaught')
    })
  }

  test('work that is over, with models and queues undisposed, by itself', async () => {
    await run(`
      const loaded = await load(model)
      await loaded.generate('Once', { maxTokens: 3 })
      devices()[0].createQueue()`)
  })
})

test('under --hot, reloads while it generates neither crash nor hang it', async () => {
  const path = script('')
  const reloads = sample({ test: 4, ci: 10, full: 50 })
  const write = (n: number) =>
    writeFileSync(
      path,
      `${prelude}
      const loaded = await load(model, { contextSize: 64 })
      const { tokens } = await loaded.generate('Once', { maxTokens: 8 })
      console.log('round ${n}', tokens.length)
      globalThis.rounds = (globalThis.rounds ?? 0) + 1
      if (${n} === ${reloads}) process.exit(0)
      void loaded.generate('Once', { maxTokens: 60 }).then(() => {})`,
    )
  write(0)
  const child = Bun.spawn([process.execPath, '--hot', '--no-clear-screen', path], {
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  let said = ''
  let round = 0
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    said += decoder.decode(bytes, { stream: true })
    if (!said.includes(`round ${round} 8`) || round === reloads) continue
    round++
    write(round)
  }
  await child.exited
  expect({ signal: child.signalCode, status: child.exitCode }).toEqual({ signal: null, status: 0 })
  expect(said.match(/round \d+ 8/g)).toHaveLength(reloads + 1)
}, 90_000)
