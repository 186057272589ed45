// The samplers against the reference's candidates and draws.
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { run } from '../../../scripts/golden/extra_samplers.ts'

const folder = join(import.meta.dir, '../../golden/text/extra')

test('candidates and seeded draws are those of the reference', async () => {
  const failures: string[] = []
  let passed = 0
  const report = {
    pass: () => {
      passed++
    },
    fail: (name: string, problem: string) => {
      failures.push(`${name}: ${problem}`)
    },
  }
  await run(folder, report, {})
  expect(failures).toEqual([])
  expect(passed).toBe(180)
})
