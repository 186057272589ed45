// The conformance list on the CPU: a seeded sample, or all of it in the full tier.
import { describe, expect, test } from 'bun:test'
import { devices } from '../../src/device/device.ts'
import type { OpName } from '../../src/graph/params.ts'
import { ops } from '../../src/native/ops.gen.ts'
import { sample, tier } from '../tier.ts'
import { bounds } from './bounds.ts'
import { conformanceRows } from './cases.ts'
import { type ConformanceResult, runConformance } from './conformance.ts'
import { coverage } from './coverage.ts'
import { notYet } from './not_yet.ts'
import { references } from './reference/index.ts'

const cpu = devices()[0]!

const failures = ({ rows }: ConformanceResult): string[] =>
  rows.filter(({ status }) => status === 'failed').map(({ id, problem }) => `${id}: ${problem}`)

describe('the list', () => {
  const rows = conformanceRows()
  const tested = new Set(rows.map(({ op }) => op))

  test('has rows for every op, or a reason why not', () => {
    const missing = (Object.keys(ops) as OpName[]).filter((op) => !tested.has(op))
    expect(missing.filter((op) => notYet[op] === undefined)).toEqual([])
  })

  test('has a reference and a bound for each of its ops', () => {
    expect([...tested].filter((op) => !references[op] || !bounds[op])).toEqual([])
  })

  test('asks for every dtype that the reference computes', () => {
    const asked = new Set(
      rows.filter(({ support }) => support === 'required').map(({ op, dtype }) => `${op} ${dtype}`),
    )
    const missing = Object.entries(coverage).flatMap(([name, { op, dtypes }]) =>
      op === undefined
        ? []
        : dtypes.filter((d) => !asked.has(`${op} ${d}`)).map((d) => `${name} ${d}`),
    )
    expect(missing).toEqual([])
  })
})

describe('on the CPU', () => {
  // The same seed gives the same rows and values; the full tier leaves nothing out.
  const seed = 4
  const count = tier === 'full' ? undefined : sample({ test: 700, ci: 6_000, full: 0 })
  const isa = tier === 'test' ? undefined : 'all'

  test('every row is what its definition gives, on every instruction set', async () => {
    const result = await runConformance(cpu, { seed, sample: count, isa })
    expect(failures(result)).toEqual([])
    expect(result.passed).toBeGreaterThan(500)
  }, 36_000_000)
})
