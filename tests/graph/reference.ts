// What a graph means: every node from its definition, in f64, with a bound on the error that f32
// arithmetic may make. It knows nothing of images, places or order beyond that of the nodes.
import { type Dim, maxOf } from '../../src/graph/dims.ts'
import type { Graph } from '../../src/graph/graph.ts'
import type { Node, Tensor } from '../../src/graph/tensor.ts'
import { dtypes, ops } from '../../src/native/ops.gen.ts'

/** Values in order, outermost dimension first, each with its error. */
export interface Values {
  shape: number[]
  values: Float64Array
  errors: Float64Array
}

/** Data of inputs by name; of weights and states by tensor, in the order of their memory. */
export interface Given {
  inputs: Readonly<Record<string, ArrayLike<number>>>
  homes: ReadonlyMap<Tensor, ArrayLike<number>>
  extents?: Readonly<Record<string, number>>
}

/** Rounding of one f32 operation. */
const unit = 2 ** -23

/** Memory of a tensor that has some, laid out for the largest sizes. */
interface Memory {
  values: Float64Array
  errors: Float64Array
}

export class Reference {
  private readonly given: Given
  private readonly memories = new Map<Tensor, Memory>()

  constructor(graph: Graph, given: Given) {
    this.given = given
    for (const node of graph.nodes) this.run(node)
  }

  /** The values of any tensor of the graph, after all nodes have run. */
  read(tensor: Tensor): Values {
    const memory = this.memoryOf(owner(tensor))
    const shape = tensor.dims.map((dim) => this.size(dim))
    const count = shape.reduce((a, b) => a * b, 1)
    const result = { shape, values: new Float64Array(count), errors: new Float64Array(count) }
    let i = 0
    for (const index of indices(shape)) {
      const at = place(tensor, index)
      result.values[i] = memory.values[at]!
      result.errors[i++] = memory.errors[at]!
    }
    return result
  }

  private size(dim: Dim): number {
    if (typeof dim === 'number') return dim
    return (this.given.extents?.[dim.name] ?? dim.max) * dim.multiple
  }

  private write(tensor: Tensor, values: ArrayLike<number>, errors?: ArrayLike<number>): void {
    const memory = this.memoryOf(owner(tensor))
    let i = 0
    for (const index of indices(tensor.dims.map((dim) => this.size(dim)))) {
      const at = place(tensor, index)
      memory.values[at] = values[i]!
      memory.errors[at] = errors?.[i] ?? 0
      i++
    }
  }

  private memoryOf(tensor: Tensor): Memory {
    const known = this.memories.get(tensor)
    if (known !== undefined) return known
    const count = tensor.dims.map(maxOf).reduce((a, b) => a * b, 1)
    const memory = {
      values: new Float64Array(count).fill(Number.NaN),
      errors: new Float64Array(count),
    }
    this.memories.set(tensor, memory)
    const { origin } = tensor
    if (origin.kind === 'input') this.write(tensor, this.given.inputs[origin.name]!)
    if (origin.kind === 'home') memory.values.set(this.given.homes.get(tensor)!)
    return memory
  }

  private run(node: Node): void {
    const sources = node.sources.map((source) => source && this.read(source))
    const output = node.outputs[0]!
    if (node.op === 'set_rows') {
      setRows(sources[0]!, sources[1]!, sources[2]!)
      this.write(output, sources[0]!.values, sources[0]!.errors)
      return
    }
    const shape = output.dims.map((dim) => this.size(dim))
    const result = compute(node, output, shape, sources)
    this.write(output, result.values, result.errors)
  }
}

const compute = (
  node: Node,
  output: Tensor,
  shape: number[],
  sources: (Values | undefined)[],
): Pick<Values, 'values' | 'errors'> => {
  const a = sources[0]!
  const b = sources[1]
  const params = new DataView(node.params.buffer, node.params.byteOffset)
  switch (node.op) {
    case 'add':
      return pairwise(
        shape,
        a,
        b!,
        (x, y) => x + y,
        (_x, _y, dx, dy) => dx + dy,
      )
    case 'mul':
      return pairwise(
        shape,
        a,
        b!,
        (x, y) => x * y,
        (x, y, dx, dy) => Math.abs(x) * dy + Math.abs(y) * dx + dx * dy,
      )
    case 'glu':
      return pairwise(
        shape,
        a,
        b!,
        (x, y) => (x / (1 + Math.exp(-x))) * y,
        // The slope of x sigmoid(x) is below 1.1; its own approximation costs a few units.
        (x, y, dx, dy) =>
          1.1 * dx * (Math.abs(y) + dy) + Math.abs(x) * dy + 8 * unit * Math.abs(x * y),
      )
    case 'rms_norm':
      return rmsNorm(a, b, params.getFloat32(0, true))
    case 'linear':
      return linear(shape, a, b!, sources[2])
    case 'copy':
      return output.dtype === 'f16' ? rounded(a, Math.f16round, 2 ** -11) : a
    case 'get_rows':
      return getRows(a, b!)
    default:
      throw new RangeError(`no reference for ${node.op}`)
  }
}

/** The tensor that a tensor's memory belongs to. */
const owner = (tensor: Tensor): Tensor => {
  const { origin } = tensor
  if (origin.kind === 'view') return owner(origin.base)
  if (origin.kind === 'node' && ops[origin.node.op].updates >= 0) {
    return owner(origin.node.sources[ops[origin.node.op].updates]!)
  }
  return tensor
}

/** Position of an element in its owner's memory, counted in elements. */
const place = (tensor: Tensor, index: readonly number[]): number => {
  let bytes = startOf(tensor)
  for (const [d, i] of index.entries()) bytes += i * tensor.strides[d]!
  return bytes / dtypes[tensor.dtype].blockBytes
}

const startOf = (tensor: Tensor): number => {
  const { origin } = tensor
  if (origin.kind === 'view') return startOf(origin.base) + origin.offset
  if (origin.kind === 'node' && ops[origin.node.op].updates >= 0) {
    return startOf(origin.node.sources[ops[origin.node.op].updates]!)
  }
  return 0
}

/** Every index of a shape, the last dimension fastest. */
function* indices(shape: readonly number[]): Generator<number[]> {
  const index = shape.map(() => 0)
  if (shape.includes(0)) return
  for (;;) {
    yield index
    let d = shape.length - 1
    while (d >= 0 && ++index[d]! === shape[d]) index[d--] = 0
    if (d < 0) return
  }
}

/** Position of `index` in a tensor whose sizes each divide those of the index's shape. */
const repeated = (index: readonly number[], shape: readonly number[]): number => {
  let at = 0
  const skipped = index.length - shape.length
  for (const [d, size] of shape.entries()) at = at * size + (index[d + skipped]! % size)
  return at
}

const pairwise = (
  shape: readonly number[],
  a: Values,
  b: Values,
  f: (x: number, y: number) => number,
  error: (x: number, y: number, dx: number, dy: number) => number,
) => {
  const values = new Float64Array(a.values.length)
  const errors = new Float64Array(a.values.length)
  let i = 0
  for (const index of indices(shape)) {
    const k = repeated(index, b.shape)
    const [x, y] = [a.values[i]!, b.values[k]!]
    values[i] = f(x, y)
    errors[i] = error(x, y, a.errors[i]!, b.errors[k]!) + unit * Math.abs(values[i]!)
    i++
  }
  return { values, errors }
}

/** x / sqrt(mean(x^2) + epsilon) * weight, row by row. */
const rmsNorm = (x: Values, weight: Values | undefined, epsilon: number) => {
  const n = x.shape.at(-1)!
  const values = new Float64Array(x.values.length)
  const errors = new Float64Array(x.values.length)
  for (let row = 0; row < values.length; row += n) {
    let mean = epsilon
    let change = 0
    for (let i = row; i < row + n; i++) {
      mean += x.values[i]! ** 2 / n
      change += (Math.abs(x.values[i]!) * x.errors[i]! + x.errors[i]! ** 2) / n
    }
    const scale = 1 / Math.sqrt(mean)
    for (let i = row; i < row + n; i++) {
      const w = weight?.values[i - row] ?? 1
      const y = x.values[i]! * scale
      values[i] = y * w
      errors[i] = Math.abs(w) * (x.errors[i]! * scale + Math.abs(y) * (change / mean + 4 * unit))
    }
  }
  return { values, errors }
}

/** Rows of x times rows of the weight, plus bias. */
const linear = (shape: number[], w: Values, x: Values, bias: Values | undefined) => {
  const k = x.shape.at(-1)!
  const n = shape.at(-1)!
  const rows = shape.slice(0, -1).reduce((a, b) => a * b, 1)
  const values = new Float64Array(rows * n)
  const errors = new Float64Array(rows * n)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < n; column++) {
      let sum = bias?.values[column] ?? 0
      let magnitude = Math.abs(sum)
      let error = 0
      for (let i = 0; i < k; i++) {
        const weight = w.values[column * k + i]!
        sum += weight * x.values[row * k + i]!
        magnitude += Math.abs(weight * x.values[row * k + i]!)
        error += Math.abs(weight) * x.errors[row * k + i]!
      }
      values[row * n + column] = sum
      errors[row * n + column] = error + (k + 2) * unit * (magnitude + error)
    }
  }
  return { values, errors }
}

const rounded = (x: Values, round: (value: number) => number, step: number) => ({
  values: x.values.map(round),
  // A value near the middle of two may go either way.
  errors: x.errors.map((error, i) => error * 2 + (error > 0 ? step * Math.abs(x.values[i]!) : 0)),
})

/** table [rows, n], rows [count]. */
const getRows = (table: Values, rows: Values) => {
  const n = table.shape.at(-1)!
  const values = new Float64Array(rows.values.length * n)
  const errors = new Float64Array(values.length)
  for (const [i, row] of rows.values.entries()) {
    values.set(table.values.subarray(row * n, (row + 1) * n), i * n)
    errors.set(table.errors.subarray(row * n, (row + 1) * n), i * n)
  }
  return { values, errors }
}

/** Writes values [count, n] over rows of the table [rows, n]; negative ones are left out. */
const setRows = (table: Values, from: Values, rows: Values): void => {
  const n = table.shape.at(-1)!
  for (const [i, row] of rows.values.entries()) {
    if (row < 0) continue
    table.values.set(from.values.subarray(i * n, (i + 1) * n), row * n)
    table.errors.set(from.errors.subarray(i * n, (i + 1) * n), row * n)
  }
}

/**
 * The first element that is further from its reference than its error allows; undefined if none.
 */
export const firstDifference = (got: ArrayLike<number>, wanted: Values): string | undefined => {
  if (got.length !== wanted.values.length)
    return `${got.length} values, not ${wanted.values.length}`
  for (let i = 0; i < got.length; i++) {
    const allowed = 4 * wanted.errors[i]! + 1e-30
    if (!(Math.abs(got[i]! - wanted.values[i]!) <= allowed)) {
      return `[${i}] is ${got[i]}, not ${wanted.values[i]} +- ${allowed}`
    }
  }
  return undefined
}
