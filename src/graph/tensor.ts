// Tensors of a graph: descriptions of values, not values. Methods add nodes to the graph.
import type { DeviceBuffer } from '../device/buffer.ts'
import { checkArray, checkWhole, shown } from '../errors/arguments.ts'
import { ShapeError } from '../errors/index.ts'
import { type DType, isDType, rowBytes } from '../native/dtype.ts'
import { dtypes, gluKinds } from '../native/ops.gen.ts'
import {
  checkDims,
  complaintOf,
  countOf,
  type Dim,
  extentAxis,
  maxOf,
  sameDim,
  times,
} from './dims.ts'
import type { Graph } from './graph.ts'
import type { OpName } from './params.ts'

/** Memory outside the program: part of a buffer, read (weights) or updated in place (state). */
export interface Home {
  readonly lifetime: 'weight' | 'state'
  readonly buffer: DeviceBuffer
  /** Bytes from the buffer's start. */
  readonly offset: number
}

/** Where a tensor's value comes from. */
export type Origin =
  | { readonly kind: 'input'; readonly name: string }
  | { readonly kind: 'home'; readonly home: Home }
  | { readonly kind: 'node'; readonly node: Node; readonly output: number }
  | { readonly kind: 'view'; readonly base: Tensor; readonly offset: number }

/** One op applied to its sources. */
export interface Node {
  readonly op: OpName
  readonly sources: readonly (Tensor | undefined)[]
  readonly params: Uint8Array
  readonly outputs: Tensor[]
  readonly label: string
}

export interface RopeOptions {
  /** `pairs` rotates neighbours (as Llama's files hold them), `halves` the two halves (NeoX). */
  style: 'pairs' | 'halves'
  /** How many leading values of a head are rotated. */
  rotated: number
  base: number
  /** Factor on positions, 1 / factor of linear scaling and of YaRN. */
  scale?: number
  extrapolation?: number
  magnitude?: number
  betaFast?: number
  betaSlow?: number
  originalContext?: number
}

export interface AttentionOperands {
  keys: Tensor // [cells, kv_heads * head_dim]
  values: Tensor // [cells, kv_heads * value_dim]
  cellPositions: Tensor // [cells]
  rowPositions: Tensor // [rows]
  rowSequences: Tensor // [rows]
  lengths: Tensor // [sequences]
  blockTable: Tensor // [sequences, blocks]
  sinks?: Tensor | undefined // [heads]
}

export interface AttentionOptions {
  scale: number
  blockSize: number
  causal?: boolean
  window?: number
  softcap?: number
  alibiMax?: number
}

/**
 * A node's result, an input, a weight, or a view of one of them. Shapes read outermost first, as
 * in NumPy; there are one to four dimensions.
 */
export class Tensor {
  readonly graph: Graph
  readonly dtype: DType
  readonly dims: readonly Dim[]
  /** Bytes between neighbours of each dimension; the last is that between blocks. */
  readonly strides: readonly number[]
  readonly origin: Origin

  constructor(
    graph: Graph,
    dtype: DType,
    dims: readonly Dim[],
    origin: Origin,
    strides: readonly number[] = contiguousStrides(dtype, dims),
  ) {
    this.graph = graph
    this.dtype = dtype
    this.dims = dims
    this.strides = strides
    this.origin = origin
  }

  /** Sizes with every extent at its maximum. */
  get shape(): number[] {
    return this.dims.map(maxOf)
  }

  /** The tensor whose memory this one lies in. */
  get root(): Tensor {
    return this.origin.kind === 'view' ? this.origin.base.root : this
  }

  /** Bytes from the root's first to this tensor's first. */
  get rootOffset(): number {
    return this.origin.kind === 'view' ? this.origin.base.rootOffset + this.origin.offset : 0
  }

  get isContiguous(): boolean {
    const wanted = contiguousStrides(this.dtype, this.dims)
    return this.strides.every((stride, i) => stride === wanted[i] || maxOf(this.dims[i]!) === 1)
  }

  // ── views: the same memory, seen otherwise ──────────────────────────────────────────────────

  /**
   * The same values in other dimensions, of the same count; needs contiguous memory. What lies
   * outside of an extent keeps its count, since the extent's own memory may be filled in part.
   */
  reshape(dims: readonly Dim[]): Tensor {
    checkDims(dims)
    const complaint =
      complaintOf(dims, dtypes[this.dtype].blockLength) ?? reshapeComplaint(this.dims, dims)
    if (complaint !== undefined) {
      throw new ShapeError('reshape', [this.shape, dims.map(maxOf)], complaint)
    }
    if (!this.isContiguous) {
      throw new ShapeError('reshape', [this.shape], 'the tensor is not contiguous; copy it first')
    }
    return new Tensor(this.graph, this.dtype, dims, { kind: 'view', base: this, offset: 0 })
  }

  /** Dimensions in another order: `permute([1, 0])` transposes a matrix. */
  permute(order: readonly number[]): Tensor {
    checkArray('order', order)
    for (const axis of order) checkWhole('an axis', axis)
    const isPermutation = [...order].sort((a, b) => a - b).every((axis, i) => axis === i)
    if (order.length !== this.dims.length || !isPermutation) {
      throw new ShapeError('permute', [this.shape, [...order]], 'not an order of the dimensions')
    }
    if (dtypes[this.dtype].blockLength > 1 && order.at(-1) !== order.length - 1) {
      throw new ShapeError('permute', [this.shape], `rows of ${this.dtype} cannot be cut`)
    }
    return new Tensor(
      this.graph,
      this.dtype,
      order.map((axis) => this.dims[axis]!),
      { kind: 'view', base: this, offset: 0 },
      order.map((axis) => this.strides[axis]!),
    )
  }

  /** Elements [begin, end) of one dimension. */
  slice(axis: number, begin: number, end: number): Tensor {
    checkWhole('axis', axis)
    checkWhole('begin', begin)
    checkWhole('end', end)
    const dim = this.dims[axis]
    const whole = Number.isInteger(begin) && Number.isInteger(end)
    if (typeof dim !== 'number' || !whole || begin < 0 || begin > end || end > dim) {
      throw new ShapeError('slice', [this.shape, [axis, begin, end]], 'out of range')
    }
    const { blockLength } = dtypes[this.dtype]
    const step = axis === this.dims.length - 1 ? blockLength : 1
    if (begin % step !== 0 || (end - begin) % step !== 0) {
      throw new ShapeError('slice', [this.shape, [axis, begin, end]], 'cuts a block')
    }
    const dims = this.dims.map((size, i) => (i === axis ? end - begin : size))
    // What has no values lies nowhere: their place may be behind the end.
    const offset = countOf(dims) === 0 ? 0 : (begin / step) * this.strides[axis]!
    return new Tensor(
      this.graph,
      this.dtype,
      dims,
      { kind: 'view', base: this, offset },
      this.strides,
    )
  }

  // ── ops ─────────────────────────────────────────────────────────────────────────────────────

  /** this + other, whose sizes each divide this tensor's. */
  add(other: Tensor): Tensor {
    return this.graph.node('add', [this, other])
  }

  /** this * other, element by element, broadcast like `add`. */
  mul(other: Tensor): Tensor {
    return this.graph.node('mul', [this, other])
  }

  /** A contiguous copy in another dtype. */
  cast(dtype: DType): Tensor {
    if (!isDType(dtype)) throw new RangeError(`there is no dtype ${shown(dtype)}`)
    if (!isDType(dtype)) throw new RangeError(`there is no dtype '${dtype}'`)
    return this.graph.node('copy', [this], { dtype: dtypes[dtype].code })
  }

  contiguous(): Tensor {
    return this.isContiguous ? this : this.cast(this.dtype)
  }

  /** The rows of this table [rows, n] that i32 `rows` [count] names: [count, n]. */
  getRows(rows: Tensor): Tensor {
    return this.graph.node('get_rows', [this, rows])
  }

  /**
   * This table with `values` [count, n] written over its `rows` [count]; negative rows are not.
   * It is the same memory: whoever reads this tensor in a later node sees the change as well.
   */
  setRows(values: Tensor, rows: Tensor): Tensor {
    return this.graph.node('set_rows', [this, values, rows])
  }

  /** x W^T + bias: x [..., rows, inputs] and weight [outputs, inputs] give [..., rows, outputs]. */
  linear(weight: Tensor, bias?: Tensor): Tensor {
    return this.graph.node('linear', [weight, this, bias])
  }

  /** x / sqrt(mean(x^2) + epsilon) * weight over the last dimension (arXiv:1910.07467). */
  rmsNorm(weight: Tensor | undefined, epsilon: number): Tensor {
    return this.graph.node('rms_norm', [this, weight], { epsilon })
  }

  /** Rotary positions on [rows, heads, head_dim]; see `RopeParams` in zig/ops.zig. */
  rope(positions: Tensor, options: RopeOptions, frequencyFactors?: Tensor): Tensor {
    return this.graph.node('rope', [this, positions, frequencyFactors], {
      style: options.style === 'pairs' ? 0 : 1,
      rotated: options.rotated,
      base: options.base,
      scale: options.scale ?? 1,
      extrapolation: options.extrapolation ?? 0,
      magnitude: options.magnitude ?? 1,
      beta_fast: options.betaFast ?? 32,
      beta_slow: options.betaSlow ?? 1,
      original_context: options.originalContext ?? 0,
    })
  }

  /** Attention of queries [rows, heads, head_dim] over a paged cache: [rows, heads, value_dim]. */
  attention(o: AttentionOperands, options: AttentionOptions): Tensor {
    return this.graph.node(
      'attention',
      [
        this,
        o.keys,
        o.values,
        o.cellPositions,
        o.rowPositions,
        o.rowSequences,
        o.lengths,
        o.blockTable,
        o.sinks,
      ],
      {
        scale: options.scale,
        block_size: options.blockSize,
        causal: options.causal === false ? 0 : 1,
        window: options.window ?? 0,
        softcap: options.softcap ?? 0,
        alibi_max: options.alibiMax ?? 0,
      },
    )
  }

  /** silu(this) * up (arXiv:2002.05202). */
  swiglu(up: Tensor): Tensor {
    return this.graph.node('glu', [this, up], { kind: gluKinds.swiglu })
  }
}

/** Strides of a tensor without gaps. */
export const contiguousStrides = (dtype: DType, dims: readonly Dim[]): number[] => {
  const strides = new Array<number>(dims.length)
  let stride: number = dtypes[dtype].blockBytes
  for (let i = dims.length - 1; i >= 0; i--) {
    strides[i] = stride
    stride = i === dims.length - 1 ? rowBytes(dtype, maxOf(dims[i]!)) : stride * maxOf(dims[i]!)
  }
  return strides
}

/** Bytes of the tensor's values without gaps, with every extent at its maximum. */
export const sizeBytes = ({ dtype, dims }: Tensor): number =>
  rowBytes(dtype, maxOf(dims.at(-1)!)) * countOf(dims.slice(0, -1))

/** Why values in dimensions `from` cannot be seen in dimensions `to`. */
const reshapeComplaint = (from: readonly Dim[], to: readonly Dim[]): string | undefined => {
  const product = (dims: readonly Dim[]): Dim => {
    const extent = dims[extentAxis(dims)]
    const numbers = dims.filter((dim) => typeof dim === 'number').reduce((x, y) => x * y, 1)
    return typeof extent === 'object' ? times(extent, numbers) : numbers
  }
  if (!sameDim(product(from), product(to))) return 'sizes differ'
  const outside = (dims: readonly Dim[]) => countOf(dims.slice(0, Math.max(0, extentAxis(dims))))
  return outside(from) === outside(to) ? undefined : 'an extent keeps what lies outside of it'
}
