// Attention over a paged cache (Kwon et al. 2023, arXiv:2309.06180).
import type { Params } from '../../../src/graph/params.ts'
import type { TensorValue } from '../tensor_value.ts'
import type { Reference } from './reference.ts'

interface Cell {
  cell: number
  position: number
}

/** The cells of a row's sequence that the row may see. */
const visibleCells = (
  row: number,
  operands: readonly (TensorValue | undefined)[],
  { block_size, causal, window }: Params,
): Cell[] => {
  const [, , , cellPositions, rowPositions, rowSequences, lengths, blockTable] = operands
  const own = rowPositions!.data[row]!
  const sequence = rowSequences!.data[row]!
  const blocks = blockTable!.shape[3]
  const cells: Cell[] = []
  for (let i = 0; i < lengths!.data[sequence]!; i++) {
    const block = blockTable!.data[sequence * blocks + Math.floor(i / block_size!)]!
    const cell = block * block_size! + (i % block_size!)
    const position = cellPositions!.data[cell]!
    if (position < 0 || (causal === 1 && position > own)) continue
    if (window !== 0 && own - position >= window!) continue
    cells.push({ cell, position })
  }
  return cells
}

/** ALiBi's slope of a head (Press et al. 2021, arXiv:2108.12409), for any number of heads. */
export const alibiSlope = (head: number, heads: number, max: number): number => {
  const n = 2 ** Math.floor(Math.log2(heads))
  return head < n ? 2 ** ((-max * (head + 1)) / n) : 2 ** ((-max * (2 * (head - n) + 1)) / (2 * n))
}

/** queries [rows, heads, head_dim] give [rows, heads, value_dim]; a row that sees nothing is 0. */
export const attention: Reference = (operands, params) => {
  const [queries, keys, values, , rowPositions, , , , sinks] = operands
  const { scale, softcap, alibi_max } = params as Record<string, number>
  const [, rows, heads, headDim] = queries!.shape
  const keyWidth = keys!.shape[3]
  const valueWidth = values!.shape[3]
  const kvHeads = keyWidth / headDim
  const valueDim = valueWidth / kvHeads
  const data = new Float64Array(rows * heads * valueDim)
  const magnitude = new Float64Array(data.length)
  for (let row = 0; row < rows; row++) {
    const cells = visibleCells(row, operands, params)
    for (let head = 0; head < heads; head++) {
      const kv = Math.floor(head / (heads / kvHeads))
      const slope = alibi_max === 0 ? 0 : alibiSlope(head, heads, alibi_max!)
      const q = (row * heads + head) * headDim
      const scores = cells.map(({ cell, position }) => {
        let sum = 0
        let size = 0
        for (let d = 0; d < headDim; d++) {
          const product = queries!.data[q + d]! * keys!.data[cell * keyWidth + kv * headDim + d]!
          sum += product
          size += Math.abs(product)
        }
        const raw = sum * scale!
        const capped = softcap === 0 ? raw : softcap! * Math.tanh(raw / softcap!)
        const bias = slope * Math.abs(rowPositions!.data[row]! - position)
        return { score: capped - bias, size: size * Math.abs(scale!) + bias }
      })
      const sink = sinks === undefined ? Number.NEGATIVE_INFINITY : sinks.data[head]!
      const out = (row * heads + head) * valueDim
      const weights = softmax(scores, sink)
      for (const [i, { cell }] of cells.entries()) {
        const { weight, error } = weights[i]!
        for (let d = 0; d < valueDim; d++) {
          const value = values!.data[cell * valueWidth + kv * valueDim + d]!
          data[out + d]! += weight * value
          magnitude[out + d]! += weight * Math.abs(value) * error
        }
      }
    }
  }
  return [{ dtype: 'f32', shape: [1, rows, heads, valueDim], data, magnitude }]
}

/** e^(score - largest) over their sum with the sink's; errors of scores are relative ones here. */
const softmax = (scores: readonly { score: number; size: number }[], sink: number) => {
  const largest = scores.reduce((a, { score }) => Math.max(a, score), sink)
  const powers = scores.map(({ score }) =>
    // Scores that are all minus infinity weigh nothing.
    largest === Number.NEGATIVE_INFINITY ? 0 : Math.exp(score - largest),
  )
  const total = powers.reduce((a, b) => a + b, Math.exp(sink - largest) || 0)
  const worst = scores.reduce((a, { size }) => Math.max(a, size), 0)
  return powers.map((power) => ({ weight: total === 0 ? 0 : power / total, error: 1 + worst }))
}
