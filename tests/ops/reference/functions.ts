// Functions of one value, in f64, with how errors of their arguments grow.
import { unaryKinds } from '../../../src/native/ops.gen.ts'
import type { Reference } from './reference.ts'

/** A function, and how far a good kernel may miss it beside the rounding of its result. */
export interface RealFunction {
  readonly of: (x: number) => number
  /** In units of 2^-24, the rounding error of numbers next to 1. */
  readonly error: (x: number, y: number) => number
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

/** x times a share that goes to 0 faster than any x grows. */
const shareOf = (x: number, share: number): number =>
  x === Number.NEGATIVE_INFINITY ? -0 : x * share

/** sqrt(2 / pi) (x + 0.044715 x^3), twice: 1 + tanh(u) is 2 sigmoid(2 u). */
const geluArgument = (x: number): number => 2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)

/** 1 - erf(x), by its continued fraction (Abramowitz and Stegun 7.1.14) or series (7.1.6). */
const erfc = (x: number): number => {
  if (x < 0) return 2 - erfc(-x)
  if (x > 27) return 0
  const gauss = Math.exp(-x * x) / Math.sqrt(Math.PI)
  if (x > 2) {
    let fraction = 0
    for (let n = 120; n > 0; n--) fraction = n / 2 / (x + fraction)
    return gauss / (x + fraction)
  }
  let term = x
  let sum = x
  for (let n = 1; n < 60; n++) {
    term *= (2 * x * x) / (2 * n + 1)
    sum += term
  }
  return 1 - 2 * sum * gauss
}

const exact = (of: (x: number) => number): RealFunction => ({ of, error: () => 0 })

/**
 * Errors of so many roundings of the result, or of factors of it: where those are subnormal their
 * roundings are as large as those of the smallest normal number, and x multiplies them.
 */
const near = (of: (x: number) => number, roundings: number | ((x: number) => number)) => {
  const count = typeof roundings === 'number' ? () => roundings : roundings
  const least = (x: number) => smallestNormal * Math.max(1, Math.abs(x))
  return { of, error: (x: number, y: number) => count(x) * Math.max(Math.abs(y), least(x)) }
}

const smallestNormal = 2 ** -126

const clampUnit = (x: number): number => Math.min(1, Math.max(0, x))
const hardsigmoid = (x: number): number => clampUnit((x + 3) / 6)

/**
 * By kind. `round` takes halves away from zero; `gelu` is the tanh approximation and `gelu_quick`
 * x sigmoid(1.702 x) (Hendrycks and Gimpel 2016, arXiv:1606.08415). Where e^u has a rounded u its
 * error is that of u, which is |u| times as large as a rounding.
 */
export const realFunctions: Readonly<Record<keyof typeof unaryKinds, RealFunction>> = {
  abs: exact(Math.abs),
  sgn: exact((x) => (x > 0 ? 1 : x < 0 ? -1 : 0)),
  neg: exact((x) => -x),
  step: exact((x) => (x > 0 ? 1 : 0)),
  tanh: near(Math.tanh, 4),
  elu: near((x) => (x > 0 ? x : Math.expm1(x)), 4),
  relu: exact((x) => Math.max(x, 0)),
  sigmoid: near(sigmoid, 6),
  gelu: near(
    (x) => shareOf(x, sigmoid(geluArgument(x))),
    (x) => 6 + 4 * Math.abs(geluArgument(x)),
  ),
  gelu_quick: near(
    (x) => shareOf(x, sigmoid(1.702 * x)),
    (x) => 6 + 2 * Math.abs(x),
  ),
  gelu_erf: near(
    (x) => shareOf(x, erfc(-x * Math.SQRT1_2) / 2),
    (x) => 8 + 4 * x * x,
  ),
  silu: near((x) => shareOf(x, sigmoid(x)), 8),
  hardswish: {
    of: (x) => shareOf(x, hardsigmoid(x)),
    error: (x, y) => 2 * Math.abs(x) + Math.abs(y),
  },
  // x + 3 cancels next to -3.
  hardsigmoid: { of: hardsigmoid, error: () => 2 },
  exp: near(Math.exp, 4),
  expm1: near(Math.expm1, 6),
  softplus: near((x) => (x > 40 ? x : Math.log1p(Math.exp(x))), 6),
  floor: exact(Math.floor),
  ceil: exact(Math.ceil),
  round: exact((x) => Math.sign(x) * Math.floor(Math.abs(x) + 0.5)),
  trunc: exact(Math.trunc),
  sqr: near((x) => x * x, 0),
  sqrt: near(Math.sqrt, 0),
  log: near(Math.log, 4),
  sin: near(Math.sin, 4),
  cos: near(Math.cos, 4),
}

const names = Object.fromEntries(
  Object.entries(unaryKinds).map(([name, kind]) => [kind, name as keyof typeof unaryKinds]),
)

/** The function of each element. */
const mapped =
  (functionOf: (params: Readonly<Record<string, number>>) => RealFunction): Reference =>
  ([x], params) => {
    const { of, error } = functionOf(params)
    const { dtype, shape } = x!
    const data = x!.data.map(of)
    const slack = data.map((y, i) => {
      const size = error(x!.data[i]!, y) * 2 ** -24
      return Number.isFinite(size) ? size : 0
    })
    return [{ dtype, shape, data, slack }]
  }

export const unary = mapped(({ kind }) => realFunctions[names[kind!]!])

/** x factor + offset: two roundings, or one where they are fused. */
export const scale = mapped(({ factor, offset }) => ({
  of: (x) => x * factor! + offset!,
  error: (x) => Math.max(Math.abs(x * factor!), smallestNormal),
}))

export const clamp = mapped(({ low, high }) =>
  exact((x) => (Number.isNaN(x) ? x : Math.min(high!, Math.max(low!, x)))),
)

export const leakyRelu = mapped(({ slope }) => exact((x) => (x > 0 ? x : x * slope!)))

export const fill = mapped(({ value }) => exact(() => value!))

/** xIELU (Huang and Schlag 2024, arXiv:2411.13010), its alphas after their softplus. */
export const xielu = mapped((params) => {
  const { alpha_negative, alpha_positive, beta, epsilon } = params as Record<string, number>
  const parts = (x: number): readonly number[] => {
    if (x > 0) return [alpha_positive! * x * x, beta! * x]
    const power = Math.expm1(Math.min(x, epsilon!))
    return [power * alpha_negative!, -x * alpha_negative!, beta! * x]
  }
  return {
    of: (x) => parts(x).reduce((a, b) => a + b, 0),
    error: (x) => 4 * parts(x).reduce((a, b) => a + Math.abs(b), smallestNormal),
  }
})
