// What the reference's results are known to be wrong by, beside rounding, each with its reason. Its
// CPU backend takes these shortcuts; leaven does not, so that the two differ by what they cost.
import type { DType } from '../../../src/native/dtype.ts'
import type { Expected } from '../../../tests/ops/reference/reference.ts'
import type { TensorValue } from '../../../tests/ops/tensor_value.ts'

/** Of an element. */
export type PeerError = (i: number) => number

interface Values {
  readonly operands: readonly (TensorValue | undefined)[]
  /** By the definition, for the same operands. */
  readonly expected: Expected
}

const half = 2 ** -11
const single = 2 ** -24

/** The factor that a gated unit multiplies its activation by; 1 for the activation alone. */
const factorOf = ({ operands: [, up] }: Values, i: number): number =>
  up === undefined ? 1 : Math.abs(up.data[i]!)

/** gelu and gelu_quick come from a table of halves: argument and result are rounded to f16. */
const table = (v: Values): PeerError => {
  const x = v.operands[0]!.data
  return (i) => {
    const y = Math.abs(v.expected.data[i]!)
    // The derivative is at most 1.13.
    return 1.1 * half * (y + 1.13 * Math.abs(x[i]!) * factorOf(v, i)) + 2 ** -24 * factorOf(v, i)
  }
}

/** 1 + erf and e^x - 1 are computed as they stand, and cancel. */
const cancelling = (v: Values): PeerError => {
  const x = v.operands[0]!.data
  return (i) => 2 * single * (1 + Math.abs(x[i]!)) * factorOf(v, i)
}

/**
 * Angles are products of as many factors as there are pairs before them, in f32: relative errors
 * add up, while the frequency falls. Their sum stays below four roundings of the position.
 */
const turned = ({ operands: [x, positions], expected }: Values): PeerError => {
  const rowLength = x!.shape[2] * x!.shape[3]
  return (i) => {
    const row = Math.floor(i / rowLength) % positions!.data.length
    const size = expected.magnitude![i]!
    return 4 * single * Math.abs(positions!.data[row]!) * size
  }
}

/** Frequencies are powers in f32: angles are wrong by a few roundings of the time. */
const timed =
  ({ operands: [times], expected }: Values): PeerError =>
  (i) =>
    8 * single * Math.abs(times!.data[Math.floor(i / expected.shape[3]!)]!)

/**
 * Queries are rounded to the type that multiplies the keys (f16, bf16, or 8-bit numbers), and sums
 * over f16 values are f16. `magnitude` tells how much a relative error of scores and values costs.
 */
const roundedQueries = ({ operands: [, keys], expected }: Values): PeerError => {
  const costs: Partial<Record<DType, number>> = { f32: 2 * single, f16: 2 * half, bf16: 2 ** -8 }
  const cost = costs[keys!.dtype] ?? 1 / 127
  return (i) => cost * expected.magnitude![i]!
}

/** Convolutions by im2col round what is under the kernel to f16, and the kernel too. */
const roundedColumns =
  ({ expected }: Values): PeerError =>
  (i) =>
    2 * half * expected.magnitude![i]!

/** Where the kernel is f16 the other side is rounded to it. */
const roundedKernels = (values: Values): PeerError =>
  values.operands[0]!.dtype === 'f16' ? roundedColumns(values) : () => 0

const none = (): PeerError => () => 0

const errors: readonly (readonly [fn: RegExp, of: (values: Values) => PeerError])[] = [
  [/^ggml_gelu(_quick)?$|^ggml_geglu(_quick)?(_split|_swapped)?$/, table],
  [/^ggml_(gelu_erf|expm1|softplus|elu|xielu)$|^ggml_geglu_erf(_split|_swapped)?$/, cancelling],
  [/^ggml_rope_/, turned],
  [/^ggml_timestep_embedding$/, timed],
  [/^ggml_flash_attn_ext$/, roundedQueries],
  [/^ggml_conv_(1d|2d)(_ph|_dw)?$/, roundedColumns],
  [/^ggml_conv_transpose_/, roundedKernels],
]

export const peerErrorOf = (fn: string, values: Values): PeerError =>
  (errors.find(([pattern]) => pattern.test(fn))?.[1] ?? none)(values)
