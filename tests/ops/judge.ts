// Compares what a device computed with what the definition gives.
import type { DType } from '../../src/native/dtype.ts'
import { bounds } from './bounds.ts'
import { decode } from './reference/codec.ts'
import { precisions, unitAt } from './reference/number_formats.ts'
import type { Expected } from './reference/reference.ts'
import type { Row } from './row.ts'

const f32 = precisions.f32!
const f32Epsilon = 2 ** -24
/** Below it roundings are as large as at it. */
const smallestNormal = 2 ** -126

/** What is wrong with `bytes`, the result's, or undefined. */
export const judge = (row: Row, expected: Expected, bytes: Uint8Array): string | undefined => {
  const { dtype, shape, bytes: exact } = expected
  if (exact !== undefined) {
    const difference = differenceOfBytes(exact, bytes)
    // NaN has many bit patterns.
    if (difference === undefined || !isFloat(dtype)) return difference
  }
  const got = decode(dtype, bytes, shape[3]!)
  const data = exact === undefined ? expected.data : decode(dtype, exact, shape[3]!)
  if (got.length !== data.length) return `${got.length} values, not ${data.length}`
  return judgeNumbers(got, { ...expected, data }, allowances(row, { ...expected, data }))
}

/** What an element may be wrong by. */
export interface Allowance {
  /** By the op's definition. */
  readonly slack: number
  /** By rounding. */
  readonly rounding: number
  /** The standard deviation of the first, where it is the sum of many errors. */
  readonly deviation: number
}

/** By the op's rule in `bounds.ts`, for each element of what is expected. */
export const allowances = (
  row: Pick<Row, 'op' | 'operands'>,
  expected: Expected,
): ((i: number) => Allowance) => {
  const rule = bounds[row.op]
  if (rule === undefined) throw new Error(`${row.op} has no bound`)
  const precision = precisions[expected.dtype] ?? f32
  const isNarrow = precision.bits < f32.bits && rule.ulps > 0
  const epsilons = rule.epsilons?.(row) ?? 0
  return (i) => {
    const wanted = expected.data[i]!
    const size = expected.magnitude?.[i] ?? Math.abs(wanted)
    const deviation = expected.deviation?.[i] ?? Number.POSITIVE_INFINITY
    const own = isNarrow ? 0.501 * unitAt(precision, wanted) : 0
    const sum = rule.ulps * unitAt(f32, wanted) + epsilons * f32Epsilon * (size + smallestNormal)
    const slack = Math.min(expected.slack?.[i] ?? 0, 6 * deviation)
    return { slack, rounding: own + sum, deviation }
  }
}

const isFloat = (dtype: DType): boolean => precisions[dtype] !== undefined

const differenceOfBytes = (expected: Uint8Array, got: Uint8Array): string | undefined => {
  if (Buffer.compare(expected, got) === 0) return undefined
  const at = expected.findIndex((byte, i) => byte !== got[i])
  return `byte ${at} of ${expected.length} is ${got[at]}, not ${expected[at]}`
}

const judgeNumbers = (
  got: Float64Array,
  expected: Expected,
  allowanceOf: (i: number) => Allowance,
): string | undefined => {
  const { max } = precisions[expected.dtype] ?? f32
  const total = new Total(got.length / expected.shape[3]!)
  for (let i = 0; i < got.length; i++) {
    const value = got[i]!
    const wanted = expected.data[i]!
    const { slack, rounding, deviation } = allowanceOf(i)
    // Sums that leave the range, or where something is not finite that is rounded first, may come
    // by any infinity or NaN.
    const mayOverflow = expected.magnitude !== undefined && !(expected.magnitude[i]! < max)
    const isOpen = mayOverflow || !(slack < Number.POSITIVE_INFINITY)
    if (isOpen && !Number.isFinite(value)) continue
    const allowed = slack + rounding
    if (!isNear(value, wanted, allowed, max)) {
      const place = placeText(expected.shape, i)
      return `${place} is ${value}, not ${wanted} within ${allowed.toPrecision(3)}`
    }
    if (Number.isFinite(value) && Number.isFinite(deviation)) {
      total.add(value - wanted, Math.hypot(deviation, rounding))
    }
  }
  return total.problem()
}

/** Errors of all elements together: some rows may be unlucky, many may not. */
class Total {
  private readonly rows: number
  private errors = 0
  private allowed = 0

  constructor(rows: number) {
    this.rows = rows
  }

  add(error: number, deviation: number): void {
    this.errors += error * error
    this.allowed += deviation * deviation
  }

  problem(): string | undefined {
    if (this.rows < 16 || this.errors <= 3 * this.allowed) return undefined
    const ratio = Math.sqrt(this.errors / this.allowed).toPrecision(3)
    return `errors are ${ratio} times what independent roundings give`
  }
}

const isNear = (got: number, wanted: number, allowed: number, max: number): boolean => {
  if (Number.isNaN(wanted)) return Number.isNaN(got)
  if (got === wanted) return allowed > 0 || Object.is(got, wanted)
  if (Number.isNaN(got)) return false
  if (!Number.isFinite(wanted)) return false
  // Where rounding may leave the range an infinity of the right sign is as good.
  if (!Number.isFinite(got)) {
    return Math.sign(got) === Math.sign(wanted) && Math.abs(wanted) + allowed >= max
  }
  return Math.abs(got - wanted) <= allowed
}

const placeText = (shape: readonly number[], at: number): string => {
  const index: number[] = []
  let rest = at
  for (const size of [...shape].reverse()) {
    index.unshift(rest % size)
    rest = Math.floor(rest / size)
  }
  return `[${index.join(', ')}]`
}
