// Gated units: act(gate) * up (Shazeer 2020, arXiv:2002.05202).
import { gluKinds, type unaryKinds } from '../../../src/native/ops.gen.ts'
import type { TensorValue } from '../tensor_value.ts'
import { realFunctions } from './functions.ts'
import type { Expected, Reference } from './reference.ts'

const activations: Readonly<Record<keyof typeof gluKinds, keyof typeof unaryKinds>> = {
  swiglu: 'silu',
  reglu: 'relu',
  geglu: 'gelu',
  geglu_erf: 'gelu_erf',
  geglu_quick: 'gelu_quick',
}

/** A product whose first factor may be wrong by `error` roundings of numbers next to 1. */
const gated = (
  gate: TensorValue,
  up: TensorValue,
  part: (gate: number, up: number) => { act: number; error: number; up: number },
): Expected[] => {
  const { dtype, shape } = gate
  const data = new Float64Array(gate.data.length)
  const slack = new Float64Array(data.length)
  for (let i = 0; i < data.length; i++) {
    const { act, error, up: factor } = part(gate.data[i]!, up.data[i]!)
    data[i] = act * factor
    const own = Math.max(error, Math.abs(act), 2 ** -126)
    const size = (own * Math.abs(factor) + Math.abs(data[i]!)) * 2 ** -24
    slack[i] = Number.isFinite(size) ? size : 0
  }
  return [{ dtype, shape, data, slack }]
}

export const glu: Reference = ([gate, up], { kind }) => {
  const name = (Object.keys(gluKinds) as (keyof typeof gluKinds)[]).find(
    (one) => gluKinds[one] === kind,
  )
  const { of, error } = realFunctions[activations[name!]]
  return gated(gate!, up!, (x, factor) => ({ act: of(x), error: error(x, of(x)), up: factor }))
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

const within = (x: number, limit: number): number => Math.max(-limit, Math.min(x, limit))

/** g sigmoid(alpha g) (u + 1) with g <= limit and |u| <= limit, as in gpt-oss. */
export const swigluOai: Reference = ([gate, up], { alpha, limit }) =>
  gated(gate!, up!, (x, u) => {
    const g = Math.min(x, limit!)
    const share = sigmoid(alpha! * g)
    const act = g === Number.NEGATIVE_INFINITY ? -0 : g * share
    const least = 2 ** -126 * Math.max(1, Math.abs(g))
    const error = (8 + 2 * Math.abs(alpha! * g)) * Math.max(Math.abs(act), least)
    return { act, error, up: within(u, limit!) + 1 }
  })

/** silu(g) u with the same limits. */
export const swigluClamp: Reference = ([gate, up], { limit }) => {
  const { of, error } = realFunctions.silu
  return gated(gate!, up!, (x, u) => {
    const g = Math.min(x, limit!)
    return { act: of(g), error: error(g, of(g)), up: within(u, limit!) }
  })
}
