// Valid program images for the fuzz tests: one of each kind of graph, small enough to run thousands
// of times, with an op of every kind.

import { type Device, devices } from '../../src/device/device.ts'
import type { ProgramLayout } from '../../src/device/program.ts'
import { compileLayout } from '../../src/graph/compile.ts'
import { Graph } from '../../src/graph/graph.ts'
import { type SegmentRow, writeImage } from '../../src/graph/image.ts'
import type { DType } from '../../src/native/dtype.ts'
import { ops } from '../../src/native/ops.gen.ts'

const device: Device = devices()[0]!
const memory = device.createBuffer({ size: 1 << 20 })

/** Takes places in `memory` one behind the other, from a multiple of 64 on. */
const placer = () => {
  let end = 0
  return (bytes: number): number => {
    const offset = Math.ceil(end / 64) * 64
    end = offset + bytes
    return offset
  }
}

const sizes = { vocabulary: 11, width: 32, heads: 2, headSize: 16, hidden: 64 }
const cells = { blockSize: 4, blocks: 6, sequences: 2 }

/** A decoder layer like Llama's over a paged cache, then the logits of some rows. */
const decoder = (weights: DType): Graph => {
  const g = new Graph()
  const place = placer()
  const rows = g.extent('rows', 3)
  const outputs = g.extent('outputs', 2)
  const index = (name: string, dims: Parameters<Graph['input']>[2]) => g.input(name, 'i32', dims)
  const matrix = (height: number, width: number) =>
    g.weight(memory, place(height * width * 4), weights, [height, width])
  const vector = (length: number) => g.weight(memory, place(length * 4), 'f32', [length])
  const state = (width: number, dtype: DType) =>
    g.state(memory, place(cellCount * width * 4), dtype, [cellCount, width])
  const cellCount = cells.blockSize * cells.blocks
  const { width, heads, headSize, hidden, vocabulary } = sizes
  const positions = index('positions', [rows])
  const numbers = index('cells', [rows])
  const rope = { style: 'pairs', rotated: headSize, base: 10_000 } as const
  const table = matrix(vocabulary, width)
  const x = table.getRows(index('tokens', [rows]))
  const n = x.rmsNorm(vector(width), 1e-5)
  const split = (height: number) =>
    n.linear(matrix(height * headSize, width)).reshape([rows, height, headSize])
  const queries = split(heads).rope(positions, rope)
  const keys = split(1).rope(positions, { ...rope, style: 'halves' }, vector(headSize / 2))
  const cellPositions = g.state(memory, place(cellCount * 4), 'i32', [cellCount])
  const attended = queries.attention(
    {
      keys: state(headSize, 'f16').setRows(keys.reshape([rows, headSize]), numbers),
      values: state(headSize, 'f32').setRows(split(1).reshape([rows, headSize]), numbers),
      cellPositions,
      rowPositions: positions,
      rowSequences: index('sequences', [rows]),
      lengths: index('lengths', [cells.sequences]),
      blockTable: index('block_table', [cells.sequences, cells.blocks]),
      sinks: vector(heads),
    },
    { scale: 0.25, blockSize: cells.blockSize },
  )
  const y = attended.reshape([rows, width]).linear(matrix(width, width)).add(x)
  const m = y.rmsNorm(vector(width), 1e-5)
  const gated = m.linear(matrix(hidden, width)).swiglu(m.linear(matrix(hidden, width)))
  const z = y.add(gated.linear(matrix(width, hidden), vector(width)))
  g.output('logits', z.getRows(index('output_rows', [outputs])).linear(table))
  return g
}

/** Views, broadcasts, casts, reuse in place, and outputs of every kind. */
const elementwise = (): Graph => {
  const g = new Graph()
  const place = placer()
  const x = g.input('x', 'f32', [2, 3, 4])
  const w = g.weight(memory, place(48), 'f32', [3, 4])
  const y = x.add(w).mul(x).rmsNorm(undefined, 1e-5)
  const turned = y.permute([2, 0, 1])
  g.output('turned', turned)
  g.output('half', turned.cast('f16').slice(0, 1, 3).cast('f32'))
  g.output('part', y.slice(1, 0, 2).mul(w.slice(0, 1, 2)))
  g.output('flat', y.reshape([6, 4]).swiglu(y.reshape([6, 4])))
  g.output('weight', w)
  const table = g.state(memory, place(4 * 12), 'i32', [4, 3])
  g.output('rows', table.setRows(g.input('v', 'i32', [2, 3]), g.input('r', 'i32', [2])))
  return g
}

/** Several segments: copies, fences, work in between. */
const segmented = (): Uint8Array => {
  const tensor = (slot: number, offset: number) => ({
    slot,
    dtype: 0,
    offset,
    ne: [8, 2, 1, 1],
    nb: [4, 32, 64, 64],
    extent: 0,
    extentDim: 0,
    extentMultiple: 0,
  })
  const slot = (lifetime: 'input' | 'arena', size: number) => {
    return { size, device: 0, bufferType: 0, access: lifetime === 'input' ? 1 : 3, lifetime }
  }
  const range = (slotNumber: number, begin: number, write: boolean) => {
    return { slot: slotNumber, begin, end: begin + 64, write }
  }
  const none = 0xffff_ffff
  const segment = (kind: SegmentRow['kind'], fields: Partial<SegmentRow> = {}): SegmentRow => {
    return { kind, device: 0, first: 0, count: 0, a: 0, b: 0, value: 0, ...fields }
  }
  const record = (source: number, output: number) => ({
    op: ops.mul.code,
    params: new Uint8Array(0),
    sources: [source, source],
    outputs: [output],
    scratch: none,
    ranges: [range(1, source === 1 ? 0 : 64, false), range(1, output === 2 ? 64 : 128, true)],
    name: 'mul',
  })
  return writeImage({
    slots: [slot('input', 64), slot('arena', 192)],
    tensors: [tensor(0, 0), tensor(1, 0), tensor(1, 64), tensor(1, 128)],
    segments: [
      segment('copy', { a: 0, b: 1 }),
      segment('signal', { a: 0, value: 3 }),
      segment('compute', { first: 0, count: 1 }),
      segment('wait', { a: 0, value: 2 }),
      segment('compute', { first: 1, count: 1 }),
    ],
    records: [record(1, 2), record(2, 3)],
    extents: [],
    ports: [{ tensor: 3, kind: 'output', name: 'y' }],
    fences: 1,
  })
}

/** The decoder's layout with weights of one type. */
export const decoderLayout = (weights: DType): ProgramLayout =>
  compileLayout(decoder(weights), device)

export const baseImages = (): Uint8Array[] => [
  ...(['f32', 'f16', 'q8_0', 'q4_0'] as const).map((dtype) => decoderLayout(dtype).image),
  compileLayout(elementwise(), device).image,
  segmented(),
]
