// The layers that architectures share: functions from weights to functions of tensors.
import type { Tensor } from '../graph/tensor.ts'
import type { Weights } from './weights.ts'

export type Layer = (x: Tensor) => Tensor

/** x W^T + b: [rows, inputs] to [rows, outputs]; bias and adapters are there or not. */
export const linear = (weights: Weights, inputs: number, outputs: number): Layer => {
  const weight = weights.get('weight', [outputs, inputs])
  const bias = weights.find('bias', [outputs])
  const adapters = weights.adapters('weight')
  return (x) =>
    adapters.reduce(
      (y, { a, b, scale }) => y.add(x.linear(a).linear(b).mul(scale)),
      x.linear(weight, bias),
    )
}

/** Root mean square normalisation, Zhang and Sennrich 2019 (arXiv:1910.07467). */
export const rmsNorm = (weights: Weights, size: number, epsilon: number): Layer => {
  const weight = weights.get('weight', [size])
  return (x) => x.rmsNorm(weight, epsilon)
}

/** Token ids [rows] to vectors [rows, size]. */
export const embedding = (weights: Weights, vocabulary: number, size: number): Layer => {
  const table = weights.get('weight', [vocabulary, size])
  return (tokens) => table.getRows(tokens)
}

/** down(silu(gate(x)) * up(x)), Shazeer 2020 (arXiv:2002.05202). */
export const swiGlu = (weights: Weights, size: number, hidden: number): Layer => {
  const gate = linear(weights.at('ffn_gate'), size, hidden)
  const up = linear(weights.at('ffn_up'), size, hidden)
  const down = linear(weights.at('ffn_down'), hidden, size)
  return (x) => down(gate(x).swiglu(up(x)))
}
