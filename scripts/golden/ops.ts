// Golden part `ops`: single calls of the reference's functions and what they gave.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Arena } from '../../src/device/arena.ts'
import { type Device, devices } from '../../src/device/device.ts'
import { compile } from '../../src/graph/compile.ts'
import { Graph } from '../../src/graph/graph.ts'
import { storageOf } from '../../src/graph/schedule.ts'
import { type Origin, Tensor } from '../../src/graph/tensor.ts'
import type { DType } from '../../src/native/dtype.ts'
import { ops } from '../../src/native/ops.gen.ts'
import { Call, type CallCase, calls } from './ops/calls.ts'
import { type Comparison, compare } from './ops/compare.ts'
import { type Report, type RunOptions, selects } from './report.ts'

interface Leaf {
  readonly type: DType
  readonly ne: readonly number[]
  readonly offset: number
  readonly nbytes: number
}

/** A view of a leaf; sizes and strides are innermost first. */
interface Argument {
  readonly leaf: number
  readonly type: DType
  readonly ne: readonly number[]
  readonly nb: readonly number[]
  readonly view_offs: number
}

interface GoldenCase extends CallCase {
  readonly id: string
  readonly leaves: readonly Leaf[]
  readonly args: readonly (Argument | null)[]
  readonly dst: Comparison['dst'] & { readonly type: DType }
  readonly exact_f64?: { readonly type: DType; readonly offset: number; readonly nbytes: number }
  readonly noise_vs_dst: Comparison['noise']
}

interface Manifest {
  readonly data: string
  readonly cases: readonly GoldenCase[]
}

export const run = async (folder: string, report: Report, { only }: RunOptions): Promise<void> => {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  const data = new Uint8Array(readFileSync(join(folder, manifest.data)))
  const device = devices()[0]!
  for (const one of manifest.cases) {
    if (!selects(only, one.id)) continue
    try {
      const problem = await check(device, one, data)
      if (problem === undefined) report.pass(one.id)
      else report.fail(one.id, problem)
    } catch (error) {
      report.fail(one.id, error instanceof Error ? error.message : String(error))
    }
  }
}

const check = async (device: Device, one: GoldenCase, data: Uint8Array) => {
  const build = calls[one.fn]
  if (build === undefined) throw new Error(`not yet: leaven has no ${one.fn}`)
  const total = one.leaves.reduce((end, leaf) => Math.max(end, leaf.offset + leaf.nbytes), 0)
  const start = one.leaves.reduce((least, leaf) => Math.min(least, leaf.offset), total)
  using buffer = device.createBuffer({ size: Math.max(1, total - start) })
  buffer.set(data.subarray(start, total))
  const g = new Graph()
  const leaves = one.leaves.map(({ type, ne, offset }) =>
    g.state(buffer, offset - start, type, outermostFirst(ne)),
  )
  const args = one.args.map((arg) => (arg === null ? undefined : viewOf(leaves[arg.leaf]!, arg)))
  const result = build(new Call(g, one, args))
  const { owner, offset } = storageOf(result)
  const isUpdate = owner.origin.kind === 'home' && isNodeResult(result.origin)
  if (!isUpdate) g.output('y', result)
  using arena = new Arena(device)
  using program = compile(g, { device, arena })
  const lease = await program.lease()
  const read = (): Uint8Array => {
    if (isUpdate) return buffer.get(homeOffset(owner) + offset, one.dst.nbytes)
    const port = program.layout.outputs[0]!
    return arena.buffer!.get(port.offset, port.bytes)
  }
  const got = read()
  lease.release()
  const exact = one.exact_f64
  return compare({
    fn: one.fn,
    result,
    got,
    memory: data.subarray(start, total),
    dst: one.dst,
    wanted: data.subarray(one.dst.offset, one.dst.offset + one.dst.nbytes),
    exact: exact && data.subarray(exact.offset, exact.offset + exact.nbytes),
    noise: one.noise_vs_dst,
  })
}

const outermostFirst = (ne: readonly number[]): number[] => [...ne].reverse()

/** An argument with the very strides that the reference had. */
const viewOf = (leaf: Tensor, { type, ne, nb, view_offs }: Argument): Tensor =>
  new Tensor(
    leaf.graph,
    type,
    outermostFirst(ne),
    { kind: 'view', base: leaf, offset: view_offs },
    outermostFirst(nb),
  )

const isNodeResult = (origin: Origin): boolean =>
  origin.kind === 'node' && ops[origin.node.op].updates >= 0

const homeOffset = ({ origin }: Tensor): number => (origin.kind === 'home' ? origin.home.offset : 0)
