// The counts that CI ends with are those of the runners, and a report cut short is a failure.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { junitCount, zigCount } from '../../scripts/check/counts.ts'

describe('of the JUnit report that bun writes', () => {
  let folder: string
  let xml: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'leaven-counts-'))
    writeFileSync(
      join(folder, 'a.test.ts'),
      `import { expect, test } from 'bun:test'
       test('a', () => {})
       test('failures="9"', () => {})
       test('b', () => expect(1).toBe(2))
       test('c', () => { throw new Error('<testsuites tests="50">') })
       test.skip('d', () => {})`,
    )
    const report = join(folder, 'report.xml')
    Bun.spawnSync(
      [process.execPath, 'test', '--reporter=junit', `--reporter-outfile=${report}`, './a.test.ts'],
      { cwd: folder },
    )
    xml = readFileSync(report, 'utf8')
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('passed and failed are told, skipped are neither', () => {
    expect(junitCount(xml)).toEqual({ passed: 2, failed: 2 })
  })

  test('a report that was cut is one more failure, an empty one too', () => {
    expect(junitCount(xml.slice(0, -20))).toEqual({ passed: 2, failed: 3 })
    expect(junitCount('')).toEqual({ passed: 0, failed: 1 })
  })
})

describe('of the summary that zig prints', () => {
  test('passed', () => {
    const line = 'Build Summary: 5/5 steps succeeded; 22/22 tests passed\n'
    expect(zigCount(`test\n${line}`)).toEqual({ passed: 22, failed: 0 })
  })

  test('failed and skipped', () => {
    const line =
      'Build Summary: 1/3 steps succeeded (1 failed); 4/7 tests passed (1 skipped, 2 failed)'
    expect(zigCount(line)).toEqual({ passed: 4, failed: 2 })
  })

  test('no tests', () => {
    expect(zigCount('Build Summary: 5/5 steps succeeded')).toEqual({ passed: 0, failed: 0 })
  })
})
