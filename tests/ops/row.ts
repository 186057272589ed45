// What a row of the conformance list says: an op, its params, and how its operands lie in memory.
import type { OpName, Params } from '../../src/graph/params.ts'
import type { DType } from '../../src/native/dtype.ts'

/** Turns a tensor in memory into the view that an op gets, as the methods of `Tensor` do. */
export type Step =
  | { readonly permute: readonly number[] }
  | { readonly slice: readonly [axis: number, begin: number, end: number] }

/** What values an operand has. Every kind is drawn from the row's seed. */
export type Values =
  | 'normal'
  /** From -1 to 1. */
  | 'uniform'
  /** From 0.5 to 2: divisors, roots and logarithms. */
  | 'positive'
  /** Normal, with NaN, infinities, both zeros, subnormals and the largest values between. */
  | 'special'
  /** Subnormal. */
  | 'tiny'
  /** Up to 1e30, or what the dtype holds. */
  | 'huge'
  | 'zero'
  /** Small whole numbers, so that sums are exact. */
  | 'whole'
  /** What the reference quantized for its goldens; plain dtypes get the values before that. */
  | 'golden'
  /** Normal, with every `every`-th row zero: a row of zeros, a masked row. */
  | { readonly everyRow: number; readonly is: number }
  /** Whole numbers from 0 to `below` - 1, all different within a row where `distinct`. */
  | { readonly below: number; readonly distinct?: boolean }
  /** From `low` to `high`. */
  | { readonly low: number; readonly high: number }
  /** These, over and over. */
  | { readonly list: readonly number[] }

export interface Operand {
  readonly dtype: DType
  /** Sizes in memory, outermost first, before the steps. */
  readonly base: readonly number[]
  readonly steps: readonly Step[]
  readonly values: Values
  /** The memory of an operand before this one; `base` and `values` are that one's. */
  readonly of?: number
}

/** What a device may do with a row: it must compute it, may refuse it, or must refuse it. */
export type Support = 'required' | 'optional' | 'refused'

export interface Row {
  /** Unique, and made of what the row tests: `add f16 [3, 7] + [1, 7] permuted`. */
  readonly id: string
  readonly op: OpName
  /** By which a row counts: that of the weights, of the table, or of what is copied to. */
  readonly dtype: DType
  readonly operands: readonly (Operand | undefined)[]
  readonly params: Params
  readonly support: Support
  /** The operand whose memory the result takes over. */
  readonly inPlace?: number
  /** Run-time indices lie outside what they may point at: the run fails, and says so. */
  readonly fault?: true
}

/** A row before it has defaults and an id. */
export interface RowDraft {
  readonly op: OpName
  readonly dtype?: DType
  readonly operands: readonly (Operand | undefined)[]
  readonly params?: Params
  readonly support?: Support
  readonly inPlace?: number
  readonly fault?: true
  /** Tells rows apart whose operands look the same. */
  readonly note?: string
}

/** Completes a row; its id tells op, operands, params and note. */
export const row = (draft: RowDraft): Row => {
  const { op, operands, params = {}, support = 'required', note, inPlace, fault } = draft
  const dtype = draft.dtype ?? operands.find((operand) => operand !== undefined)!.dtype
  const words = [op, ...operands.map(describe)]
  for (const [name, value] of Object.entries(params)) words.push(`${name}=${value}`)
  if (inPlace !== undefined) words.push(`in place of ${inPlace}`)
  if (note !== undefined) words.push(note)
  return {
    id: words.join(' '),
    op,
    dtype,
    operands,
    params,
    support,
    ...(inPlace !== undefined && { inPlace }),
    ...(fault && { fault }),
  }
}

const describe = (operand: Operand | undefined): string => {
  if (operand === undefined) return '-'
  const { dtype, base, steps, values, of } = operand
  const views = steps.map((step) =>
    'permute' in step ? `.permute(${step.permute})` : `.slice(${step.slice})`,
  )
  const root = of === undefined ? dtype : `${dtype}@${of}`
  const kind = typeof values === 'string' ? values : JSON.stringify(values).replaceAll('"', '')
  const shown = kind.length > 60 ? `${kind.slice(0, 57)}...` : kind
  return `${root}[${base}]${views.join('')}${shown === 'normal' ? '' : `:${shown}`}`
}

// ── operands ──────────────────────────────────────────────────────────────────────────────────

/** Without gaps. */
export const whole = (
  dtype: DType,
  shape: readonly number[],
  values: Values = 'normal',
): Operand => ({ dtype, base: shape, steps: [], values })

/** In the middle of a larger tensor: gaps between rows, and an offset. */
export const gaps = (
  dtype: DType,
  shape: readonly number[],
  values: Values = 'normal',
): Operand => {
  const last = shape.length - 1
  // Whole blocks of every format before and after a row; a row more of each outer dimension.
  const margin = (axis: number) => (axis === last ? 256 : 1)
  const base = shape.map((size, axis) => size + (axis === last ? 2 : 1) * margin(axis))
  const steps = shape.map(
    (size, axis): Step => ({
      slice: [axis, margin(axis), margin(axis) + size],
    }),
  )
  return { dtype, base, steps, values }
}

/** Like `gaps`, a few elements apart: rows of plain dtypes lose their alignment. */
export const narrowGaps = (
  dtype: DType,
  shape: readonly number[],
  values: Values = 'normal',
): Operand => {
  const last = shape.length - 1
  const base = shape.map((size, axis) => (axis === last ? size + 3 : size))
  return { dtype, base, steps: [{ slice: [last, 1, 1 + shape[last]!] }], values }
}

/** Memory in another order: `order[i]` is the dimension in memory that becomes dimension i. */
export const permuted = (
  dtype: DType,
  shape: readonly number[],
  order: readonly number[],
  values: Values = 'normal',
): Operand => {
  const base = new Array<number>(shape.length)
  for (const [axis, from] of order.entries()) base[from] = shape[axis]!
  return { dtype, base, steps: [{ permute: order }], values }
}

/** Another operand's memory, seen through `steps`. */
export const alias = (operand: Operand, of: number, steps: readonly Step[] = []): Operand => ({
  ...operand,
  steps,
  of,
})

/** The view that the steps make: sizes, and strides and offset in elements. */
export const viewOf = ({ base, steps }: Pick<Operand, 'base' | 'steps'>) => {
  let shape = [...base]
  let strides = shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1))
  let offset = 0
  for (const step of steps) {
    if ('permute' in step) {
      const { permute } = step
      shape = permute.map((axis) => shape[axis]!)
      strides = permute.map((axis) => strides[axis]!)
    } else {
      const [axis, begin, end] = step.slice
      offset += begin * strides[axis]!
      shape = shape.map((size, i) => (i === axis ? end - begin : size))
    }
  }
  return { shape, strides, offset }
}

/** Sizes of the view, outermost first. */
export const shapeOf = (operand: Operand): number[] => viewOf(operand).shape
