// Tensors of unusual sizes find their places in programs.
import { describe, expect, test } from 'bun:test'
import { devices } from '../../src/device/device.ts'
import { sizeBytes } from '../../src/graph/allocate.ts'
import { compile, compute } from '../../src/graph/compile.ts'
import { Graph } from '../../src/graph/graph.ts'
import { dtypes } from '../../src/native/ops.gen.ts'

const device = devices()[0]!

describe('sizes', () => {
  test('a program whose tensors are all empty runs and gives nothing', async () => {
    const g = new Graph()
    const x = g.input('x', 'f32', [0, 3])
    g.output('y', x.add(x))
    const { y } = await compute(g, { x: new Float32Array(0) })
    expect(y).toEqual(new Float32Array(0))
  })

  test('an empty view may start anywhere in an empty tensor', async () => {
    using buffer = device.createBuffer({ size: 8 })
    const g = new Graph()
    const x = g.weight(buffer, 8, 'f32', [0, 6]).slice(1, 3, 5)
    g.output('y', x.add(x))
    const { y } = await compute(g, {})
    expect(y).toHaveLength(0)
  })

  test('what is updated keeps its dimensions, whatever the operands have', () => {
    using buffer = device.createBuffer({ size: 16 })
    const g = new Graph()
    const table = g.state(buffer, 0, 'f32', [2, 2])
    const values = g.input('values', 'f32', [1, 1, 1, 2])
    const rows = g.input('rows', 'i32', [1])
    expect(table.setRows(values, rows).shape).toEqual([2, 2])
    using program = compile(g)
    program.runSync({ values: new Float32Array([3, 4]), rows: new Int32Array([1]) })
    expect([...new Float32Array(buffer.get().buffer)]).toEqual([0, 0, 3, 4])
  })

  test('a result of one value has a dimension, also where nothing goes in', async () => {
    const g = new Graph()
    g.output('y', g.node('arange', [], { start: 3, stop: 4, step: 2 }))
    expect(g.outputs[0]!.tensor.shape).toEqual([1])
    const { y } = await compute(g, {})
    expect([...y!]).toEqual([3])
  })

  test('a row of blocks by itself takes as many bytes as in a matrix', () => {
    using buffer = device.createBuffer({ size: 34 })
    buffer.set(new Uint8Array(34).fill(1))
    const g = new Graph()
    const row = g.weight(buffer, 0, 'q8_0', [32])
    expect(sizeBytes(row)).toBe(34)
    expect(sizeBytes(g.weight(buffer, 0, 'q8_0', [1, 32]))).toBe(34)
    g.output('y', g.node('copy', [row], { dtype: dtypes.f32.code }))
    using program = compile(g)
    const { y } = program.runSync()
    expect(y).toHaveLength(32)
    expect(y![0]).toBe(y![31]!)
  })

  test('activations with gaps meet quantized weights', async () => {
    using buffer = device.createBuffer({ size: 34 })
    const scale = new Uint16Array([0x3c00])
    buffer.set(scale)
    buffer.set(new Int8Array(32).fill(1), 2)
    const g = new Graph()
    const weight = g.weight(buffer, 0, 'q8_0', [1, 32])
    const x = g.input('x', 'f32', [32, 2]).permute([1, 0])
    g.output('y', x.linear(weight))
    const values = Float32Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? 1 : 127))
    const { y } = await compute(g, { x: values })
    expect([...y!]).toEqual([32, 32 * 127])
  })
})
