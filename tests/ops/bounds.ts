// How far a result may be from its reference: one rule per op, with its reason.
//
// |got - expected| <= ulps x the spacing of f32 at the expected value
//                   + half the spacing of a narrower dtype that the result is in
//                   + epsilons x 2^-24 x the magnitude that the reference reports
//                   + the slack that the op's definition allows
//
// Where that slack is the sum of many independent roundings, six of its standard deviations bound
// an element, and the mean square of all elements may be three times the expected one: this is the
// NMSE of the reference's own test, with a limit that follows the data.
import type { OpName } from '../../src/graph/params.ts'
import { type Row, shapeOf } from './row.ts'

type Operands = Pick<Row, 'operands'>

export interface Bound {
  readonly ulps: number
  /** In units of f32's rounding error, 2^-24. */
  readonly epsilons?: (row: Operands) => number
  readonly why: string
}

/**
 * Rounding errors of a sum of `terms` products in f32 grow like a random walk, whose six-fold
 * deviation 2 sqrt(terms) covers with room to spare; the fixed part is for short sums and for the
 * final rounding. (Higham and Mary 2019, "Probabilistic rounding error analysis".)
 */
const sumOf = (terms: number): number => 4 + 2 * Math.sqrt(terms)

const innerSize = (row: Operands): number => shapeOf(row.operands[0]!).at(-1)!

/** Of a kernel [out, …]: those that one result sums over. */
const weightsOf = (row: Operands): number =>
  shapeOf(row.operands[0]!)
    .slice(1)
    .reduce((a, b) => a * b, 1)

const countOf = (row: Operands): number => shapeOf(row.operands[0]!).reduce((a, b) => a * b, 1)

const rotation = { ulps: 1, epsilons: () => 4 }
const rotated = 'angles are f64; cosine, sine and two products round once each, a sum may cancel'

const recurrence = 'magnitudes follow the recurrence; each token rounds the state a few times'

/** Roundings of sums over a head, and of a state that passes through every token. */
const stepsOf = (row: Operands, source: number, axis: number): number => {
  const shape = shapeOf(row.operands[source]!)
  return sumOf(shape.at(-1)!) + 4 * shape.at(axis - 4)!
}

const exactMove = { ulps: 0 }
/** One rounding to the nearest, and that of the reference. */
const oneRounding = { ulps: 0.501 }

export const bounds: Partial<Record<OpName, Bound>> = {
  add: { ...oneRounding, why: 'one f32 operation' },
  sub: { ...oneRounding, why: 'one f32 operation' },
  mul: { ...oneRounding, why: 'one f32 operation' },
  div: { ...oneRounding, why: 'one f32 operation' },
  copy: { ...exactMove, why: 'bytes move as they are; other dtypes have one right rounding' },
  get_rows: { ...exactMove, why: 'every format is read exactly as the reference reads it' },
  set_rows: { ...exactMove, why: 'every format is written exactly as the reference writes it' },
  quantize_row: { ...exactMove, why: 'the rule is two roundings that have one right result' },
  linear: {
    ulps: 1,
    epsilons: (row) => sumOf(innerSize(row)),
    why: 'an f32 sum of products; slack is the rounding of activations to 8 bits',
  },
  rms_norm: { ulps: 2.5, why: 'the sum is f64; scale, x * scale and * weight round once each' },
  rope: { ...rotation, why: rotated },
  rope_back: { ...rotation, why: rotated },
  rope_multi: { ...rotation, why: rotated },
  timestep_embedding: { ulps: 1, epsilons: () => 1, why: 'angles are f64' },
  arange: { ulps: 0.5, epsilons: () => 1.01, why: 'a product and a sum' },
  ssm_conv: { ulps: 1, epsilons: () => sumOf(16), why: 'an f32 sum of few products' },
  ssm_scan: { ulps: 2, epsilons: (row) => stepsOf(row, 1, 1), why: recurrence },
  rwkv_wkv6: { ulps: 2, epsilons: (row) => stepsOf(row, 0, 1), why: recurrence },
  rwkv_wkv7: { ulps: 2, epsilons: (row) => stepsOf(row, 0, 1), why: recurrence },
  gated_linear_attn: { ulps: 2, epsilons: (row) => stepsOf(row, 0, 1), why: recurrence },
  gated_delta_net: { ulps: 2, epsilons: (row) => stepsOf(row, 2, 1), why: recurrence },
  solve_tri: { ulps: 1, epsilons: (row) => 4 + innerSize(row), why: 'errors add up row by row' },
  attention: {
    ulps: 2,
    epsilons: (row) => 4 * sumOf(innerSize(row)),
    why: 'f32 scores, whose error e^x turns into a relative one of the weights; f32 sums',
  },
  flash_attn: {
    ulps: 2,
    epsilons: (row) => 4 * sumOf(innerSize(row)),
    why: 'as attention',
  },
  pool_1d: { ulps: 1.5, epsilons: () => sumOf(16), why: 'an f32 sum and a quotient' },
  pool_2d: { ulps: 1.5, epsilons: () => sumOf(16), why: 'an f32 sum and a quotient' },
  upscale: { ulps: 1, epsilons: () => 8, why: 'f32 places, weights and products' },
  im2col: { ...oneRounding, why: 'values move, and are rounded once to a narrower dtype' },
  conv_2d: { ulps: 1, epsilons: (row) => sumOf(weightsOf(row)), why: 'an f32 sum of products' },
  conv_2d_dw: { ulps: 1, epsilons: (row) => sumOf(weightsOf(row)), why: 'an f32 sum of products' },
  conv_transpose_1d: {
    ulps: 1,
    epsilons: (row) => sumOf(countOf(row)),
    why: 'an f32 sum of products',
  },
  conv_transpose_2d: {
    ulps: 1,
    epsilons: (row) => sumOf(countOf(row)),
    why: 'an f32 sum of products',
  },
  glu: { ...oneRounding, why: 'the activation as in unary, and a product' },
  swiglu_oai: { ...oneRounding, why: 'the activation as in unary, a sum and a product' },
  swiglu_clamp: { ...oneRounding, why: 'the activation as in unary, and a product' },
  unary: { ...oneRounding, why: 'the slack of each function (reference/functions.ts)' },
  scale: { ...oneRounding, why: 'a product and a sum, fused or not' },
  clamp: { ...oneRounding, why: 'values are chosen, not computed' },
  leaky_relu: { ...oneRounding, why: 'one f32 operation' },
  xielu: { ...oneRounding, why: 'e^x - 1 within 2 ulp, and sums that may cancel' },
  fill: { ...oneRounding, why: 'one value' },
  layer_norm: {
    ulps: 1,
    epsilons: () => 4,
    why: 'mean and variance are f64; mean, difference, scale and weight round once each',
  },
  l2_norm: { ulps: 2.5, why: 'the sum is f64; 1 / length and the product round once each' },
  group_norm: { ulps: 1, epsilons: () => 4, why: 'as layer_norm' },
  soft_max: {
    ulps: 2,
    epsilons: () => 8,
    why: 'f32 scores, whose error e^x turns into a relative one; e^x within 2 ulp',
  },
  sum: { ulps: 1, epsilons: (row) => sumOf(countOf(row)), why: 'an f32 sum at worst' },
  sum_rows: { ulps: 1, epsilons: (row) => sumOf(innerSize(row)), why: 'an f32 sum at worst' },
  mean: { ulps: 1.5, epsilons: (row) => sumOf(innerSize(row)), why: 'an f32 sum at worst' },
  cumsum: { ulps: 1, epsilons: (row) => sumOf(innerSize(row)), why: 'an f32 sum at worst' },
  argmax: { ...exactMove, why: 'a position' },
  count_equal: { ...exactMove, why: 'a count' },
  argsort: { ...exactMove, why: 'positions; equal values keep their order' },
  top_k: { ...exactMove, why: 'positions; of equal values the first come first' },
  repeat: { ...exactMove, why: 'bytes move' },
  repeat_back: { ulps: 1, epsilons: (row) => sumOf(countOf(row)), why: 'an f32 sum at worst' },
  concat: { ...exactMove, why: 'bytes move' },
  pad: { ...exactMove, why: 'bytes move' },
  roll: { ...exactMove, why: 'bytes move' },
  tri: { ...exactMove, why: 'bytes move' },
  diag: { ...exactMove, why: 'bytes move' },
  diag_mask: { ...exactMove, why: 'bytes move, or one value' },
  set: { ...exactMove, why: 'bytes move' },
  acc: { ...oneRounding, why: 'one f32 operation' },
  add_id: { ...oneRounding, why: 'one f32 operation' },
}
