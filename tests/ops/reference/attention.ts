// Attention over a paged cache (Kwon et al. 2023, arXiv:2309.06180), and with a given mask.
import type { Params } from '../../../src/graph/params.ts'
import type { TensorValue } from '../tensor_value.ts'
import { countOf, eachIndex, placeOf, type Reference } from './reference.ts'
import { alibiSlope, softmaxOf } from './softmax.ts'

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
      const weights = softmaxOf(scores, sink)
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

/**
 * Attention with a mask of the graph's own: queries [batches, heads, rows, head_dim], keys and
 * values [batches', heads', keys, dim] give [batches, rows, heads, value_dim].
 */
export const flashAttn: Reference = ([queries, keys, values, mask, sinks], params) => {
  const { scale, alibi_max, softcap } = params as Record<string, number>
  const [batches, heads, rows, headDim] = queries!.shape
  const [keyBatches, kvHeads, count] = keys!.shape
  const valueDim = values!.shape[3]
  const shape = [batches, rows, heads, valueDim]
  const data = new Float64Array(countOf(shape))
  const magnitude = new Float64Array(data.length)
  eachIndex([batches, rows, heads, 1], ([batch, row, head], at) => {
    const slope = alibi_max === 0 ? 1 : alibiSlope(head, heads, alibi_max!)
    const kv = Math.floor(head / (heads / kvHeads))
    const keyBatch = Math.floor(batch / (batches / keyBatches))
    const q = placeOf(queries!.shape, batch, head, row, 0)
    const maskRow = mask && placeOf(mask.shape, batch % mask.shape[0], head % mask.shape[1], row, 0)
    const scores = Array.from({ length: count }, (_, j) => {
      const k = placeOf(keys!.shape, keyBatch, kv, j, 0)
      let sum = 0
      let size = 0
      for (let d = 0; d < headDim; d++) {
        const product = queries!.data[q + d]! * keys!.data[k + d]!
        sum += product
        size += Math.abs(product)
      }
      const raw = sum * scale!
      const capped = softcap === 0 ? raw : softcap! * Math.tanh(raw / softcap!)
      const bias = maskRow === undefined ? 0 : mask!.data[maskRow + j]! * slope
      return { score: capped + bias, size: size * Math.abs(scale!) + Math.abs(bias) }
    })
    const sink = sinks === undefined ? Number.NEGATIVE_INFINITY : sinks.data[head]!
    for (const [j, { weight, error }] of softmaxOf(scores, sink).entries()) {
      const v = placeOf(values!.shape, keyBatch, kv, j, 0)
      for (let d = 0; d < valueDim; d++) {
        data[at * valueDim + d]! += weight * values!.data[v + d]!
        magnitude[at * valueDim + d]! += weight * Math.abs(values!.data[v + d]!) * error
      }
    }
  })
  return [{ dtype: 'f32', shape, data, magnitude }]
}
