// Random graphs for property tests: ops and views of every kind over few shapes, from a list of
// numbers that fast-check can shrink.
import type { DeviceBuffer } from '../../src/device/buffer.ts'
import { ShapeError } from '../../src/errors/index.ts'
import { type Dim, maxOf } from '../../src/graph/dims.ts'
import { Graph } from '../../src/graph/graph.ts'
import type { Tensor } from '../../src/graph/tensor.ts'

/** One decision: which op, and numbers that choose its operands. */
export type Step = readonly [op: number, a: number, b: number, c: number]

export const opKinds = 12

/** A graph with the data of its weights, states and inputs. */
export interface RandomGraph {
  graph: Graph
  homes: Map<Tensor, Float32Array>
  states: { tensor: Tensor; offset: number }[]
  inputs: Record<string, Float32Array | Int32Array>
  extents: Record<string, number>
}

/** Numbers in [0, 1) from a seed (mulberry32). */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `rows` makes the first size of the inputs an extent with this value, or plain `rows` rows. */
export interface Rows {
  max: number
  value: number
  extent: boolean
}

export class Builder implements RandomGraph {
  readonly graph = new Graph()
  readonly homes = new Map<Tensor, Float32Array>()
  readonly states: { tensor: Tensor; offset: number }[] = []
  readonly inputs: Record<string, Float32Array | Int32Array> = {}
  readonly extents: Record<string, number> = {}
  private readonly buffer: DeviceBuffer
  private readonly random: () => number
  private readonly rowCount: number
  private readonly pool: Tensor[] = []
  private end = 0

  /** `buffer` holds the weights and states. */
  constructor(buffer: DeviceBuffer, seed: number, rows: Rows) {
    this.buffer = buffer
    this.random = randomFrom(seed)
    this.rowCount = rows.value
    const { graph } = this
    const first = rows.extent ? graph.extent('rows', rows.max) : rows.value
    if (rows.extent) this.extents.rows = rows.value
    for (const [name, rest] of [
      ['x', [6]],
      ['y', [2, 6]],
      ['z', [4, 8]],
    ] as const) {
      this.pool.push(graph.input(name, 'f32', [first, ...rest]))
      this.inputs[name] = this.numbers(rows.value * rest.reduce((a, b) => a * b, 1))
    }
    this.pool.push(this.home('weight', [3, 6]), this.home('weight', [6]))
  }

  build(steps: readonly Step[], outputs: readonly number[]): RandomGraph {
    for (const step of steps) this.apply(step)
    for (const [i, choice] of outputs.entries()) {
      const tensor = this.pool[choice % this.pool.length]!
      if (tensor.dtype !== 'f32' || !canBeOutput(tensor)) continue
      this.graph.output(`o${i}`, tensor)
    }
    const last = this.pool.findLast((t) => t.dtype === 'f32' && canBeOutput(t))!
    this.graph.output('last', last)
    return this
  }

  private apply([op, a, b, c]: Step): void {
    const t = this.pool[a % this.pool.length]!
    try {
      const made = this.made(op % opKinds, t, b, c)
      if (made !== undefined) this.pool.push(made)
    } catch (error) {
      // Some ops do not take what a permutation has made of the sizes.
      if (!(error instanceof ShapeError)) throw error
    }
  }

  private made(op: number, t: Tensor, b: number, c: number): Tensor | undefined {
    switch (op) {
      case 0:
      case 1: {
        const fitting = this.pool.filter((other) => repeats(other, t))
        const other = fitting[b % fitting.length]!
        return op === 0 ? t.add(other) : t.mul(other)
      }
      case 2: {
        const inputs = maxOf(t.dims.at(-1)!)
        const bias = c % 3 === 0 ? this.home('weight', [(b % 9) + 1]) : undefined
        return packed(t).linear(this.home('weight', [(b % 9) + 1, inputs]), bias)
      }
      case 3: {
        const weight = b % 2 === 0 ? this.home('weight', [maxOf(t.dims.at(-1)!)]) : undefined
        return t.rmsNorm(weight, 1e-3)
      }
      case 4: {
        const alike = this.pool.filter((other) => sameSizes(other, t))
        return t.swiglu(alike[b % alike.length]!)
      }
      case 5:
        return b % 3 === 0 ? t.cast('f16').cast('f32') : t.cast('f32')
      case 6:
        return flattened(t, b)
      case 7: {
        const shift = (b % t.dims.length) + (t.dims.length > 1 ? 1 : 0)
        return t.permute(t.dims.map((_, i) => (i + shift) % t.dims.length))
      }
      case 8: {
        const axis = b % t.dims.length
        const size = t.dims[axis]
        if (typeof size !== 'number' || size === 0) return undefined
        const begin = c % size
        return t.slice(axis, begin, begin + 1 + ((c >> 3) % (size - begin)))
      }
      case 9:
        return this.rows(t, b, c)
      case 10:
        return this.updatedState(t, b)
      default:
        return this.updatedCopy(t, b)
    }
  }

  /** Some rows of a table that is a matrix. */
  private rows(t: Tensor, b: number, c: number): Tensor | undefined {
    const height = t.dims[0]
    if (t.dims.length !== 2 || typeof height !== 'number' || height === 0) return undefined
    return packed(t).getRows(this.indices((b % 4) + 1, height, c))
  }

  /** A state that takes rows of `t`, seen after the update. */
  private updatedState(t: Tensor, b: number): Tensor | undefined {
    const [count, width] = t.dims
    if (t.dims.length !== 2 || typeof width !== 'number') return undefined
    const height = maxOf(count!) + 2
    const state = this.home('state', [height, width])
    const length = typeof count === 'number' ? count : this.rowCount * count!.multiple
    const numbers = Int32Array.from({ length }, (_, i) => (i + b) % height)
    return state.setRows(t, this.input(numbers, count!))
  }

  /** A copy of `t` whose rows are written over in place. */
  private updatedCopy(t: Tensor, b: number): Tensor | undefined {
    const [height, width] = t.dims
    if (t.dims.length !== 2 || typeof height !== 'number' || height === 0) return undefined
    const values = this.home('weight', [1, maxOf(width!)])
    return t.cast('f32').setRows(values, this.input(Int32Array.of((b % (height + 1)) - 1)))
  }

  private indices(count: number, limit: number, seed: number): Tensor {
    return this.input(Int32Array.from({ length: count }, (_, i) => (seed + i * 7) % limit))
  }

  private input(data: Int32Array, size: Dim = data.length): Tensor {
    const name = `i${Object.keys(this.inputs).length}`
    this.inputs[name] = data
    return this.graph.input(name, 'i32', [size])
  }

  private home(lifetime: 'weight' | 'state', dims: number[]): Tensor {
    const data = this.numbers(dims.reduce((a, b) => a * b, 1))
    const offset = this.end
    this.end += data.byteLength
    this.buffer.set(data, offset)
    const tensor = this.graph[lifetime](this.buffer, offset, 'f32', dims)
    this.homes.set(tensor, data)
    if (lifetime === 'state') this.states.push({ tensor, offset })
    return tensor
  }

  private numbers(count: number): Float32Array {
    return Float32Array.from({ length: count }, () => this.random() * 2 - 1)
  }
}

const packed = (t: Tensor): Tensor => (t.strides.at(-1) === 4 ? t : t.contiguous())

const sameSizes = (a: Tensor, b: Tensor): boolean =>
  a.dims.length === b.dims.length && repeats(a, b) && repeats(b, a)

/** Whether every size of `small` divides that of `large`, for every value of an extent. */
const repeats = (small: Tensor, large: Tensor): boolean => {
  const skipped = large.dims.length - small.dims.length
  if (skipped < 0) return false
  return small.dims.every((size, d) => {
    const other = large.dims[d + skipped]!
    if (typeof size !== 'number' || typeof other !== 'number') {
      return typeof size === 'object' && typeof other === 'object'
        ? size.multiple === other.multiple
        : size === 1
    }
    return size === other || (size !== 0 && other % size === 0)
  })
}

/** The last two sizes as one, or the last one cut in two. */
const flattened = (t: Tensor, b: number): Tensor | undefined => {
  if (!t.isContiguous) return undefined
  const last = t.dims.at(-1)!
  const before = t.dims.at(-2)
  if (b % 2 === 0 && typeof before === 'number' && typeof last === 'number') {
    return t.reshape([...t.dims.slice(0, -2), before * last])
  }
  if (typeof last === 'number' && last % 2 === 0 && t.dims.length < 4) {
    return t.reshape([...t.dims.slice(0, -1), 2, last / 2])
  }
  return undefined
}

const canBeOutput = (t: Tensor): boolean => {
  const axis = t.dims.findIndex((dim) => typeof dim !== 'number')
  return t.dims.slice(0, Math.max(0, axis)).every((dim) => dim === 1)
}
