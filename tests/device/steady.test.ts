// A run that is one of many costs nothing that grows: no native allocation, no check, and a stated
// number of bytes of JavaScript.
import { expect, test } from 'bun:test'
import { join } from 'node:path'

/** Bytes of JavaScript per run, of which a lease's view and its window are about half. */
const bytesMax = { lease: 8192, run: 8192, runSync: 8192 }

test.each(Object.keys(bytesMax))(
  '2,000 runs by %s allocate nothing natively',
  async (name) => {
    const cost = (await costs())[name]!
    expect(cost).toMatchObject({ allocations: 0, checks: 0, threads: 0, runs: 2000 })
    expect(cost.bytes).toBeLessThanOrEqual(bytesMax[name as keyof typeof bytesMax])
  },
  60_000,
)

interface Cost {
  bytes: number
  allocations: number
  checks: number
  threads: number
  runs: number
}

let measured: Promise<Record<string, Cost>> | undefined

const costs = (): Promise<Record<string, Cost>> => {
  measured ??= measure()
  return measured
}

const measure = async () => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'steady_child.ts')], {
    env: { ...process.env, BUN_JSC_useGC: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const out = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  return JSON.parse(out) as Record<string, Cost>
}
