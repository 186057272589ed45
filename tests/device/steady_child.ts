// What one run of a program costs once everything is warm: native allocations, checks, and bytes of
// JavaScript, which are exact because the parent turns garbage collection off.
import { heapStats } from 'bun:jsc'
import { devices } from '../../src/device/device.ts'
import { compile } from '../../src/graph/compile.ts'
import { Graph } from '../../src/graph/graph.ts'
import { nativeCounters } from '../../src/native/devices.ts'

const device = devices()[0]!
const weights = device.createBuffer({ size: 64 * 64 * 4 })
const g = new Graph()
const rows = g.extent('rows', 8)
const table = g.weight(weights, 0, 'f32', [64, 64])
const x = table.getRows(g.input('tokens', 'i32', [rows]))
g.output('y', x.linear(table).rmsNorm(undefined, 1e-5).add(x))
const program = compile(g)
const { signal } = new AbortController()
const tokens = program.input('tokens')
const given = new Int32Array(3)
const inputs = { tokens: given }

const ways: Record<string, (i: number) => unknown> = {
  async lease(i) {
    tokens[0] = i % 64
    const lease = await program.lease({}, { extents: { rows: 3 }, signal })
    lease.view('y')
    lease.release()
  },
  async run(i) {
    given[0] = i % 64
    await program.run(inputs)
  },
  runSync(i) {
    given[0] = i % 64
    program.runSync(inputs)
  },
}

const count = 2000
const costs: Record<string, unknown> = {}
await program.run({ tokens: given }, { extents: { rows: 3 } })
for (const [name, way] of Object.entries(ways)) {
  for (let i = 0; i < count; i++) await way(i)
  const early = nativeCounters()
  const before = heapStats()
  for (let i = 0; i < count; i++) await way(i)
  const after = heapStats()
  const late = nativeCounters()
  const bytes =
    after.heapCapacity + after.extraMemorySize - before.heapCapacity - before.extraMemorySize
  costs[name] = {
    bytes: Math.round(bytes / count),
    allocations: late.allocations - early.allocations,
    checks: late.checks - early.checks,
    threads: late.liveThreads - early.liveThreads,
    runs: late.runs - early.runs,
  }
}
console.log(JSON.stringify(costs))
