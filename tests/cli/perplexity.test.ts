// leaven perplexity from outside: the numbers of the library, and texts that are too short.
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { load, measurePerplexity } from '../../src/index.ts'
import { model, root, runCli } from './run_cli.ts'

const text = 'Once upon a time there was a king who had three daughters. '.repeat(20)

test('prints what measurePerplexity finds, of a file and of stdin', async () => {
  await using loaded = await load(join(root, model))
  const found = await measurePerplexity(loaded, text, { runLength: 32, runsMax: 3 })
  const args = ['perplexity', model, '--runs', '3', '--run-length', '32']
  const { status, stdout, stderr } = await runCli([...args, '--json'], text)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const { runLength, model: info, ...numbers } = JSON.parse(stdout)
  expect(numbers).toEqual(found)
  expect(runLength).toBe(32)
  expect(info.architecture).toBe('llama')
  const shown = (await runCli(args, text)).stdout
  expect(shown).toContain(`perplexity     ${found.perplexity.toFixed(4)} ± `)
  expect(shown).toContain('scored         93 tokens in 3 runs')
})

test('a text that repeats is predicted better than one that does not', async () => {
  const measure = async (file: string) => {
    const args = ['perplexity', model, file, '--runs', '2', '--run-length', '100', '--json']
    return JSON.parse((await runCli(args)).stdout).perplexity
  }
  const code = await measure('src/index.ts')
  const story = JSON.parse(
    (await runCli(['perplexity', model, '--run-length', '100', '--json'], text)).stdout,
  ).perplexity
  expect(story).toBeLessThan(code / 4)
})

test.each([
  [['perplexity', model, 'no such file'], 1, 'no such file'],
  [['perplexity', model, 'LICENSE', '--run-length', '1'], 2, 'a whole number from 2 on'],
  [['perplexity', model, 'LICENSE', '--runs', '0'], 2, '--runs takes a whole number'],
  [['perplexity', model, 'tsconfig.json', '--run-length', '5000'], 1, 'less than one run'],
] as const)('%p is refused', async (args, status, message) => {
  const outcome = await runCli([...args])
  expect(outcome).toMatchObject({ status, stdout: '' })
  expect(outcome.stderr).toContain(message)
})
