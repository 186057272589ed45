// A graph: tensors and the nodes that compute them, in the order they were made.
import { DeviceBuffer } from '../device/buffer.ts'
import { checkInstance, checkString, checkWhole, shown } from '../errors/arguments.ts'
import { ShapeError } from '../errors/index.ts'
import { type DType, dtypeOfCode, isDType } from '../native/dtype.ts'
import { dtypes, ops } from '../native/ops.gen.ts'
import { inferShapes, type NativeShape } from '../native/shapes.ts'
import {
  checkDims,
  complaintOf,
  type Dim,
  type Extent,
  maxOf,
  sizeAt,
  variesOutside,
} from './dims.ts'
import { type OpName, type Params, packParams } from './params.ts'
import { type Home, type Node, type Origin, sizeBytes, Tensor } from './tensor.ts'

/** A named result. */
export interface Output {
  readonly name: string
  readonly tensor: Tensor
}

/**
 * Collects what a program shall compute.
 *
 * ```ts
 * const g = new Graph()
 * const x = g.input('x', 'f32', [1, 4096])
 * g.output('y', x.mul(x))
 * ```
 */
export class Graph {
  readonly nodes: Node[] = []
  readonly inputs: Tensor[] = []
  readonly outputs: Output[] = []
  readonly extents: Extent[] = []
  private readonly labels: string[] = []

  /** A size that each run may choose, from 0 to `max`. */
  extent(name: string, max: number): Extent {
    checkString('name', name)
    checkWhole(`the maximum of extent '${name}'`, max, 1, 0xffff_ffff)
    if (this.extents.some((e) => e.name === name)) {
      throw new RangeError(`extent '${name}' exists already`)
    }
    const extent = { name, index: this.extents.length, max, multiple: 1 }
    this.extents.push(extent)
    return extent
  }

  /** Data that comes with every run. Names are unique; an extent may be the first size only. */
  input(name: string, dtype: DType, dims: readonly Dim[]): Tensor {
    checkString('name', name)
    checkDims(dims)
    expectOutside('input', dims)
    const taken = this.inputs.some((t) => t.origin.kind === 'input' && t.origin.name === name)
    if (taken) throw new RangeError(`input '${name}' exists already`)
    const tensor = this.tensor(dtype, dims, { kind: 'input', name })
    this.inputs.push(tensor)
    return tensor
  }

  /** Constant memory in `buffer`, read by every run. */
  weight(buffer: DeviceBuffer, offset: number, dtype: DType, dims: readonly number[]): Tensor {
    return this.home({ lifetime: 'weight', buffer, offset }, dtype, dims)
  }

  /** Memory in `buffer` that runs update in place. */
  state(buffer: DeviceBuffer, offset: number, dtype: DType, dims: readonly number[]): Tensor {
    return this.home({ lifetime: 'state', buffer, offset }, dtype, dims)
  }

  /** Names a result; an extent may be its first size only. */
  output(name: string, tensor: Tensor): void {
    checkString('name', name)
    checkInstance('tensor', tensor, Tensor, 'a Tensor')
    if (tensor.graph !== this) throw new TypeError(`output '${name}' belongs to another graph`)
    expectOutside('output', tensor.dims)
    if (this.outputs.some((o) => o.name === name))
      throw new RangeError(`output '${name}' exists already`)
    this.outputs.push({ name, tensor })
  }

  /** Nodes made inside `body` carry `label` in dumps and errors. */
  within<T>(label: string, body: () => T): T {
    checkString('label', label)
    if (typeof body !== 'function')
      throw new TypeError(`body must be a function, not ${shown(body)}`)
    this.labels.push(label)
    try {
      return body()
    } finally {
      this.labels.pop()
    }
  }

  /** Applies an op. Throws ShapeError with the op, the shapes and the reason. */
  node(op: OpName, sources: readonly (Tensor | undefined)[], params: Params = {}): Tensor {
    for (const source of sources) {
      if (source === undefined) continue
      if (!(source instanceof Tensor)) throw new TypeError(`${op}: ${shown(source)} is no Tensor`)
      if (source.graph !== this) {
        throw new TypeError(`${op}: a source belongs to another graph`)
      }
    }
    const packed = packParams(op, params)
    const shapes = this.infer(op, packed, sources)
    const node: Node = { op, sources, params: packed, outputs: [], label: this.labels.join('.') }
    const updated = ops[op].updates
    for (const [i, { dtype, dims }] of shapes.entries()) {
      const complaint = complaintOf(dims, dtypes[dtype].blockLength)
      if (complaint !== undefined) throw new ShapeError(op, [dims.map(maxOf)], complaint)
      const target = i === 0 && updated >= 0 ? sources[updated] : undefined
      const origin: Origin = { kind: 'node', node, output: i }
      const output = new Tensor(this, dtype, target?.dims ?? dims, origin, target?.strides)
      node.outputs.push(output)
    }
    this.nodes.push(node)
    return node.outputs[0]!
  }

  private home(home: Home, dtype: DType, dims: readonly number[]): Tensor {
    checkInstance('buffer', home.buffer, DeviceBuffer, 'a DeviceBuffer')
    const tensor = this.tensor(dtype, dims, { kind: 'home', home })
    home.buffer.checkRange(home.offset, sizeBytes(tensor))
    return tensor
  }

  private tensor(dtype: DType, dims: readonly Dim[], origin: Origin): Tensor {
    if (!isDType(dtype)) throw new RangeError(`there is no dtype ${shown(dtype)}`)
    checkDims(dims)
    const complaint = complaintOf(dims, dtypes[dtype].blockLength)
    if (complaint !== undefined) throw new ShapeError('tensor', [dims.map(maxOf)], complaint)
    const foreign = dims.find((dim) => typeof dim !== 'number' && !this.owns(dim))
    if (foreign !== undefined) throw new TypeError('an extent belongs to another graph')
    return new Tensor(this, dtype, dims, origin)
  }

  private owns({ index, name, max }: Extent): boolean {
    const own = this.extents[index]
    return own?.name === name && own.max === max
  }

  /** Native shape inference, asked once more per extent to learn which sizes follow it. */
  private infer(op: OpName, params: Uint8Array, sources: readonly (Tensor | undefined)[]) {
    const ask = (extent: number, value: number): NativeShape[] => {
      const shapes = sources.map((t) => t && nativeShape(t, extent, value))
      const answer = inferShapes(ops[op].code, params, shapes, ops[op].outputs)
      if (typeof answer !== 'string') return answer
      const given = sources.filter((t) => t !== undefined).map((t) => t.shape)
      throw new ShapeError(op, given, answer)
    }
    const rank = Math.max(1, ...sources.map((t) => t?.dims.length ?? 0))
    const atMax = ask(-1, 0)
    const dims: Dim[][] = atMax.map(({ ne }) => [...ne].reverse())
    for (const extent of extentsOf(sources)) {
      const less = ask(extent.index, extent.max - 1)
      for (const [o, { ne }] of less.entries()) {
        for (let i = 0; i < 4; i++) {
          const change = atMax[o]!.ne[3 - i]! - ne[3 - i]!
          if (change !== 0) dims[o]![i] = { ...extent, multiple: change }
        }
      }
    }
    return atMax.map(({ dtype }, o) => ({ dtype: dtypeOfCode(dtype), dims: trim(dims[o]!, rank) }))
  }
}

const expectOutside = (what: string, dims: readonly Dim[]) => {
  if (variesOutside(dims)) return
  throw new ShapeError(what, [dims.map(maxOf)], 'an extent must be the first size')
}

const extentsOf = (sources: readonly (Tensor | undefined)[]): Extent[] => {
  const found = new Map<number, Extent>()
  for (const source of sources) {
    for (const dim of source?.dims ?? []) if (typeof dim !== 'number') found.set(dim.index, dim)
  }
  return [...found.values()]
}

/** Drops leading ones, but keeps at least `rank` dimensions. */
const trim = (dims: Dim[], rank: number): Dim[] => {
  let first = 0
  while (dims.length - first > rank && dims[first] === 1) first++
  return dims.slice(first)
}

const nativeShape = (tensor: Tensor, extent: number, value: number): NativeShape => {
  const size = (d: number) => {
    const dim = tensor.dims[tensor.dims.length - 1 - d]
    return dim === undefined ? 1 : sizeAt(dim, extent, value)
  }
  return { dtype: dtypes[tensor.dtype].code, ne: [size(0), size(1), size(2), size(3)] }
}
