// Completions without a stream, as on Windows: polling gives the same, cancels, and ends.
import { expect, test } from 'bun:test'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')

const run = (code: string, channel: string) => {
  const child = Bun.spawnSync([process.execPath, '-e', code], {
    cwd: root,
    env: { ...process.env, LEAVEN_CHANNEL: channel },
    timeout: 60_000,
  })
  expect(child.stderr.toString()).toBe('')
  expect(child.exitCode).toBe(0)
  return child.stdout.toString()
}

test('generations side by side are the same, and the process ends by itself', () => {
  const code = `
    import { load } from './src/index.ts'
    const model = await load('models/stories-tiny-q8_0.gguf')
    const prompts = ['Once', 'The king', 'There was']
    const options = { maxTokens: 20, temperature: 0 }
    const all = await Promise.all(prompts.map((prompt) => model.generate(prompt, options)))
    console.log(JSON.stringify(all.map(({ text }) => text)))`
  expect(run(code, 'poll')).toBe(run(code, ''))
})

test('an abort takes effect while nothing else wakes the process', () => {
  const code = `
    import { load } from './src/index.ts'
    const model = await load('models/stories-tiny-q8_0.gguf')
    const abort = new AbortController()
    const generation = model.generate('Once', { signal: abort.signal, maxTokens: 400 })
    const ended = Promise.resolve(generation).catch((reason) => reason.message)
    setTimeout(() => abort.abort(new Error('enough')), 60)
    console.log(await ended)
    console.log((await model.generate('Once', { maxTokens: 3 })).tokens.length)`
  expect(run(code, 'poll')).toBe('enough\n3\n')
})
