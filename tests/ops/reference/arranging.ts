// Elements put elsewhere, repeated, left out or replaced: bytes move, whatever they mean.
import { type DType, rowBytes } from '../../../src/native/dtype.ts'
import { dtypes } from '../../../src/native/ops.gen.ts'
import type { TensorValue } from '../tensor_value.ts'
import { decode } from './codec.ts'
import { countOf, type Expected, eachIndex, placeOf, type Reference } from './reference.ts'

type Index = readonly [number, number, number, number]

/** Where an element comes from: a tensor and a place in it, or nothing for zeros. */
type Source = { readonly x: TensorValue; readonly at: number } | undefined

/** A tensor of `shape` whose elements, or blocks, are those that `pick` finds. */
const arranged = (
  dtype: DType,
  shape: readonly number[],
  pick: (index: Index) => Source,
): Expected => {
  const { blockLength, blockBytes } = dtypes[dtype]
  const units = [...shape.slice(0, 3), shape[3]! / blockLength]
  const bytes = new Uint8Array(countOf(units) * blockBytes)
  eachIndex(units, (index, to) => {
    const source = pick(index)
    if (source === undefined) return
    const from = source.at * blockBytes
    bytes.set(source.x.bytes.subarray(from, from + blockBytes), to * blockBytes)
  })
  return { dtype, shape, bytes, data: decode(dtype, bytes, shape[3]!) }
}

/** The unit of x at an index, counted in blocks along the last dimension. */
const unitAt = (x: TensorValue, [i, j, k, l]: Index): Source => {
  const units = [...x.shape.slice(0, 3), x.shape[3] / dtypes[x.dtype].blockLength]
  return { x, at: placeOf(units, i, j, k, l) }
}

const each = (index: Index, f: (i: number, axis: number) => number): Index =>
  index.map(f) as unknown as Index

const sizesOf = ({ n0, n1, n2, n3 }: Readonly<Record<string, number>>): number[] => [
  n3!,
  n2!,
  n1!,
  n0!,
]

/** y[i] = x[i mod size] along every dimension. */
export const repeat: Reference = ([x], params) => [
  arranged(x!.dtype, sizesOf(params), (index) =>
    unitAt(
      x!,
      each(index, (i, axis) => i % x!.shape[axis]!),
    ),
  ),
]

/** The sum of what `repeat` would have made of each element. */
export const repeatBack: Reference = ([x], params) => {
  const shape = sizesOf(params)
  const data = new Float64Array(countOf(shape))
  const magnitude = new Float64Array(data.length)
  eachIndex(x!.shape, ([i, j, k, l], from) => {
    const [a, b, c, d] = shape as [number, number, number, number]
    const to = placeOf(shape, i % a, j % b, k % c, l % d)
    data[to]! += x!.data[from]!
    magnitude[to]! += Math.abs(x!.data[from]!)
  })
  return [{ dtype: x!.dtype, shape, data, magnitude }]
}

/** b behind a; `dim` counts from the last dimension. */
export const concat: Reference = ([a, b], { dim }) => {
  const axis = 3 - dim!
  const shape = a!.shape.map((n, d) => (d === axis ? n + b!.shape[d]! : n))
  const unit = axis === 3 ? dtypes[a!.dtype].blockLength : 1
  const border = a!.shape[axis]! / unit
  const pick = (index: Index): Source =>
    index[axis]! < border
      ? unitAt(a!, index)
      : unitAt(
          b!,
          each(index, (i, d) => (d === axis ? i - border : i)),
        )
  return [arranged(a!.dtype, shape, pick)]
}

/** Zeros, the other end, or the mirror image without its edge around x, by `PadKind`. */
export const pad: Reference = ([x], params) => {
  const p = params as Record<string, number>
  const before = [p.before3!, p.before2!, p.before1!, p.before0!]
  const after = [p.after3!, p.after2!, p.after1!, p.after0!]
  const shape = x!.shape.map((n, axis) => n + before[axis]! + after[axis]!)
  const insideOf = (i: number, n: number): number | undefined => {
    if (i >= 0 && i < n) return i
    if (p.kind === 0) return undefined
    if (p.kind === 1) return ((i % n) + n) % n
    return i < 0 ? -i : 2 * (n - 1) - i
  }
  const pick = (index: Index): Source => {
    const inside = index.map((i, axis) => insideOf(i - before[axis]!, x!.shape[axis]!))
    return inside.includes(undefined) ? undefined : unitAt(x!, inside as unknown as Index)
  }
  return [arranged(x!.dtype, shape, pick)]
}

/** y[i] = x[i - shift], around the ends. */
export const roll: Reference = ([x], params) => {
  const p = params as Record<string, number>
  const shifts = [p.shift3!, p.shift2!, p.shift1!, p.shift0!]
  const around = (i: number, axis: number): number => {
    const n = x!.shape[axis]!
    return (((i - shifts[axis]!) % n) + n) % n
  }
  return [arranged(x!.dtype, x!.shape, (index) => unitAt(x!, each(index, around)))]
}

/** A triangle of each matrix, by `TriKind`; the rest is 0. */
export const tri: Reference = ([x], { kind }) => {
  const isKept = [
    (row: number, column: number) => column >= row,
    (row: number, column: number) => column > row,
    (row: number, column: number) => column <= row,
    (row: number, column: number) => column < row,
  ][kind!]!
  const pick = (index: Index) => (isKept(index[2], index[3]) ? unitAt(x!, index) : undefined)
  return [arranged(x!.dtype, x!.shape, pick)]
}

/** Rows x [c, b, 1, n] on the diagonals of [c, b, n, n]. */
export const diag: Reference = ([x]) => {
  const [c, b, , n] = x!.shape
  const pick = ([i, j, k, l]: Index) => (k === l ? unitAt(x!, [i, j, 0, l]) : undefined)
  return [arranged(x!.dtype, [c, b, n, n], pick)]
}

/** What stands in row i behind column past + i becomes the value. */
export const diagMask: Reference = ([x], { past, value }) => {
  const { dtype, shape } = x!
  const data = x!.data.slice()
  eachIndex(shape, ([, , k, l], at) => {
    if (l > past! + k) data[at] = value!
  })
  return [{ dtype, shape, data }]
}

/** Visits the elements of b with their places in the bytes of a, seen as one line. */
const placed = (
  b: TensorValue,
  { nb1, nb2, nb3, offset }: Readonly<Record<string, number>>,
  visit: (from: number, toByte: number) => void,
) => {
  const size = rowBytes(b.dtype, 1)
  eachIndex(b.shape, ([i, j, k, l], from) =>
    visit(from, offset! + i * nb3! + j * nb2! + k * nb1! + l * size),
  )
}

/** a with b put where the params say. */
export const set: Reference = ([a, b], params) => {
  const { dtype, shape } = a!
  const bytes = a!.bytes.slice()
  const size = rowBytes(dtype, 1)
  placed(b!, params, (from, to) => {
    bytes.set(b!.bytes.subarray(from * size, (from + 1) * size), to)
  })
  return [{ dtype, shape, bytes, data: decode(dtype, bytes, shape[3]) }]
}

/** a with b added there. */
export const acc: Reference = ([a, b], params) => {
  const { dtype, shape } = a!
  const data = a!.data.slice()
  const size = rowBytes(dtype, 1)
  placed(b!, params, (from, to) => {
    data[to / size]! += b!.data[from]!
  })
  return [{ dtype, shape, data }]
}

/** y[:, u, t] = x[:, u, t] + table[:, ids[u, t]]; x [tokens, used, n]. */
export const addId: Reference = ([x, table, ids]) => {
  const { dtype, shape } = x!
  const n = shape[3]
  const data = x!.data.map((value, at) => {
    const row = Math.floor(at / n)
    return value + table!.data[ids!.data[row]! * n + (at % n)]!
  })
  return [{ dtype, shape, data }]
}
