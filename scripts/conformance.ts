// Runs the conformance list on a device: `bun run conformance [options]`.
//
//   --device ID   cpu (default), or any id that `leaven devices` lists
//   --op NAME     the rows of one op
//   --isa NAME    kernels of one instruction set, or `all` of those that this machine runs
//   --sample N    about N rows, of every op and dtype as many; all rows without it
//   --seed N      chooses the sample and draws the values
//   --json        {passed, failed, skipped, rows: [{id, op, dtype, status, problem?}]}
//
// Exits 1 on any failure and when no row ran.
import { parseArgs } from 'node:util'
import { type Device, devices } from '../src/device/device.ts'
import { type ConformanceResult, type RowResult, runConformance } from '../tests/ops/conformance.ts'

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      device: { type: 'string', default: 'cpu' },
      op: { type: 'string' },
      isa: { type: 'string' },
      sample: { type: 'string' },
      seed: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const number = (name: 'sample' | 'seed', least: number): number | undefined => {
    const text = values[name]
    if (text === undefined) return undefined
    if (!/^\d+$/.test(text) || Number(text) < least) throw new RangeError(`--${name} ${text}`)
    return Number(text)
  }
  return { ...values, sample: number('sample', 1), seed: number('seed', 0) }
}

const findDevice = (id: string): Device => {
  const all = devices()
  const found = all.find((device) => device.id === id)
  if (found !== undefined) return found
  throw new RangeError(`no device ${id}; there are ${all.map((device) => device.id).join(', ')}`)
}

const say = ({ status, id, problem }: RowResult): void => {
  if (status === 'failed') console.log(`failed: ${id}: ${problem}`)
  if (status === 'skipped') console.log(`skipped: ${id}: ${problem}`)
}

/** Rows by op, in columns. */
const table = ({ rows }: ConformanceResult): string => {
  const lines = [...Map.groupBy(rows, ({ op }) => op)].map(([op, list]) => {
    const passed = list.filter(({ status }) => status === 'passed').length
    return `${op.padEnd(24)} ${String(passed).padStart(6)} of ${list.length}`
  })
  return lines.join('\n')
}

const main = async (): Promise<number> => {
  const { device: id, json, ...options } = readOptions()
  const device = findDevice(id)
  const result = await runConformance(device, { ...options, ...(!json && { onRow: say }) })
  const { passed, failed, skipped } = result
  if (json) console.log(JSON.stringify(result))
  else console.log(`${table(result)}\n${passed} passed, ${failed} failed, ${skipped} skipped`)
  if (passed + failed === 0) console.error('conformance: no row ran')
  return failed === 0 && passed > 0 ? 0 : 1
}

process.exitCode = await main().catch((error: Error) => {
  console.error(`conformance: ${error.message}`)
  return 2
})
