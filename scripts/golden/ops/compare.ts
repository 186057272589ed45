// How far a result may be from what the reference recorded, and whether it is.
import { maxOf } from '../../../src/graph/dims.ts'
import { storageOf } from '../../../src/graph/schedule.ts'
import type { Node, Tensor } from '../../../src/graph/tensor.ts'
import type { DType } from '../../../src/native/dtype.ts'
import { dequantize } from '../../../src/native/formats.ts'
import { dtypes, ops } from '../../../src/native/ops.gen.ts'
import { allowances } from '../../../tests/ops/judge.ts'
import { decode } from '../../../tests/ops/reference/codec.ts'
import { references } from '../../../tests/ops/reference/index.ts'
import type { Expected } from '../../../tests/ops/reference/reference.ts'
import { fourSizes, type TensorValue } from '../../../tests/ops/tensor_value.ts'
import { peerErrorOf } from './peer_errors.ts'

export interface Comparison {
  readonly fn: string
  readonly result: Tensor
  /** The result's bytes. */
  readonly got: Uint8Array
  /** The leaves before the call, from the first one on. */
  readonly memory: Uint8Array
  readonly dst: {
    readonly type: DType
    readonly ne: readonly number[]
    readonly nb: readonly number[]
    readonly offset: number
    readonly nbytes: number
  }
  readonly wanted: Uint8Array
  /** The sums of the products in f64, for products. */
  readonly exact: Uint8Array | undefined
  readonly noise: Readonly<Record<string, { bit_identical?: boolean; max_abs?: number }>>
}

/** What is wrong, in one line, or undefined. */
export const compare = (c: Comparison): string | undefined => {
  const { dst, result } = c
  const length = dst.ne[0]!
  if (result.dtype !== dst.type) return `it is ${result.dtype}, not ${dst.type}`
  const wanted = withoutGaps(c.wanted, dst)
  if (wanted.length !== c.got.length) return `${c.got.length} bytes, not ${wanted.length}`
  const positions = comparePositions(c, wanted)
  if (positions !== 'no positions') return positions
  if (Buffer.compare(c.got, wanted) === 0) return undefined
  const got = read(dst.type, c.got, length)
  const theirs = read(dst.type, c.exact ?? wanted, length)
  const allowed = tolerance(c, theirs)
  for (let i = 0; i < got.length; i++) {
    if (isNear(got[i]!, theirs[i]!, allowed(i))) continue
    const most = allowed(i).toPrecision(3)
    return `element ${i} is ${got[i]}, not ${theirs[i]} within ${most}`
  }
  return undefined
}

const isNear = (got: number, wanted: number, allowed: number): boolean =>
  got === wanted || (Number.isNaN(got) && Number.isNaN(wanted)) || Math.abs(got - wanted) <= allowed

/** Values of any dtype; blocks that no layout is known of here are read natively. */
const read = (dtype: DType, bytes: Uint8Array, length: number): Float64Array => {
  try {
    return decode(dtype, bytes, length)
  } catch {
    return Float64Array.from(dequantize(dtype, bytes, length))
  }
}

/** The rows of a recorded result that may be a view. */
const withoutGaps = (bytes: Uint8Array, { type, ne, nb }: Comparison['dst']): Uint8Array =>
  gather(bytes, { dtype: type, ne, nb, offset: 0 })

const gather = (
  memory: Uint8Array,
  view: { dtype: DType; ne: readonly number[]; nb: readonly number[]; offset: number },
): Uint8Array => {
  const { blockLength, blockBytes } = dtypes[view.dtype]
  const [n0, n1, n2, n3] = view.ne as [number, number, number, number]
  const [b0, b1, b2, b3] = view.nb as [number, number, number, number]
  const units = n0 / blockLength
  const out = new Uint8Array(units * n1 * n2 * n3 * blockBytes)
  let to = 0
  for (let l = 0; l < n3; l++) {
    for (let k = 0; k < n2; k++) {
      for (let j = 0; j < n1; j++) {
        for (let i = 0; i < units; i++, to += blockBytes) {
          const from = view.offset + i * b0 + j * b1 + k * b2 + l * b3
          out.set(memory.subarray(from, from + blockBytes), to)
        }
      }
    }
  }
  return out
}

/** What leaven's own rounding permits on both sides, noise between builds, and known shortcuts. */
const tolerance = (c: Comparison, wanted: Float64Array): ((i: number) => number) => {
  const noise = Math.max(0, ...Object.values(c.noise).map(({ max_abs }) => max_abs ?? 0))
  const defined = definitionOf(c)
  // Of several ops in a row, by the size of all values.
  const size = Math.sqrt(wanted.reduce((sum, x) => sum + x * x, 0) / Math.max(1, wanted.length))
  const few = (i: number) => 2 ** -21 * (Math.abs(wanted[i]!) + size)
  const own = defined === undefined ? few : roundingOf(defined, wanted)
  const isShort = defined === undefined || c.exact !== undefined
  const peer = isShort ? () => 0 : peerErrorOf(c.fn, defined)
  return (i) => 2 * own(i) + 4 * noise + peer(i)
}

interface Defined {
  readonly node: Node
  readonly operands: readonly (TensorValue | undefined)[]
  readonly expected: Expected
}

/** What the conformance list's definition gives, where the call is one op on views of leaves. */
const definitionOf = (c: Comparison): Defined | undefined => {
  const node = nodeOf(c.result)
  const reference = node && references[node.op]
  const operands = node?.sources.map((source) => source && heldBy(source, c.memory))
  if (reference === undefined || operands === undefined || operands.includes(null)) return undefined
  const values = operands as (TensorValue | undefined)[]
  try {
    const [expected] = reference(values, paramsOf(node!))
    return expected && { node: node!, operands: values, expected }
  } catch {
    // Nothing tells what these values become, as where a format has no rule but its goldens.
    return undefined
  }
}

/** By the bounds of the conformance list. */
const roundingOf = ({ node, operands, expected }: Defined, wanted: Float64Array) => {
  const row = {
    op: node.op,
    operands: operands.map(
      (value) =>
        value && { dtype: value.dtype, base: value.shape, steps: [], values: 'zero' as const },
    ),
  }
  const allowanceOf = allowances(row, { ...expected, data: wanted })
  return (i: number): number => {
    const { slack, rounding } = allowanceOf(i)
    return slack + rounding
  }
}

const nodeOf = (tensor: Tensor): Node | undefined => {
  const { origin } = tensor
  if (origin.kind === 'node') return origin.node
  return origin.kind === 'view' ? nodeOf(origin.base) : undefined
}

/** What a view of a leaf holds; null for what is computed. */
const heldBy = (tensor: Tensor, memory: Uint8Array): TensorValue | null => {
  const { owner, offset } = storageOf(tensor)
  if (owner.origin.kind !== 'home') return null
  const { dtype, strides } = tensor
  const shape = fourSizes(tensor.dims.map(maxOf))
  const nb = [...new Array(4 - strides.length).fill(0), ...strides].reverse()
  const start = owner.origin.home.offset + offset
  const bytes = gather(memory, { dtype, ne: [...shape].reverse(), nb, offset: start })
  return { dtype, shape, bytes, data: read(dtype, bytes, shape[3]) }
}

const paramsOf = ({ op, params }: Node): Record<string, number> => {
  const view = new DataView(params.buffer, params.byteOffset, params.byteLength)
  const fields: Readonly<Record<string, readonly [string, number]>> = ops[op].params
  return Object.fromEntries(
    Object.entries(fields).map(([name, [type, offset]]) => {
      if (type === 'f32') return [name, view.getFloat32(offset, true)]
      return [name, type === 'i32' ? view.getInt32(offset, true) : view.getUint32(offset, true)]
    }),
  )
}

/**
 * Positions that sort or choose: the order of equal values is nobody's, so that the values they
 * point at are compared.
 */
const comparePositions = (c: Comparison, wanted: Uint8Array): string | undefined => {
  const node = nodeOf(c.result)
  if (node === undefined || (node.op !== 'argsort' && node.op !== 'top_k')) return 'no positions'
  const x = heldBy(node.sources[0]!, c.memory)
  if (x === null) return 'no positions'
  const k = c.dst.ne[0]!
  const ours = read('i32', c.got, k)
  const theirs = read('i32', wanted, k)
  const n = x.shape[3]
  for (let first = 0; first < ours.length; first += k) {
    const row = x.data.subarray((first / k) * n, (first / k + 1) * n)
    const valuesAt = (list: Float64Array) =>
      Array.from(list.subarray(first, first + k), (i) => row[i])
    const found = valuesAt(ours)
    const sorted = valuesAt(theirs)
    if (c.fn === 'ggml_top_k') for (const list of [found, sorted]) list.sort((a, b) => b! - a!)
    const isDifferent = new Set(ours.subarray(first, first + k)).size === k
    if (!isDifferent) return `row ${first / k} has a position twice`
    const at = found.findIndex((value, i) => !Object.is(value, sorted[i]))
    if (at >= 0) return `row ${first / k}: value ${at} is ${found[at]}, not ${sorted[at]}`
  }
  return undefined
}
