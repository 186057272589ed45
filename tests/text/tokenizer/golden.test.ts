// The reference's ids, bytes and special tokens for the vocabularies that a clone carries.
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { run } from '../../../scripts/golden/vocab.ts'

const folder = join(import.meta.dir, '../../golden/vocab')

for (const name of ['gpt2', 'deepseek-coder', 'llama-spm', 'bert-bge']) {
  test(`${name} gives the ids and bytes of the reference`, async () => {
    const problems: string[] = []
    let passed = 0
    const report = {
      pass: () => {
        passed++
      },
      fail: (label: string, problem: string) => problems.push(`${label}: ${problem}`),
    }
    await run(folder, report, { only: name })
    expect(problems).toEqual([])
    expect(passed).toBeGreaterThan(1000)
  })
}
