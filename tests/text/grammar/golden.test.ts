// GBNF against the reference: what parses, and how many tokens are allowed at each step.
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { run } from '../../../scripts/golden/extra_grammar.ts'

test('every grammar parses or not, and allows tokens, as the reference does', async () => {
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
  await run(join(import.meta.dir, '../../golden/text/extra'), report, {})
  expect(failures).toEqual([])
  expect(passed).toBe(25)
})
