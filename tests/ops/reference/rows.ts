// Ops that move whole rows of tables.
import { rowBytes } from '../../../src/native/dtype.ts'
import { encode } from './codec.ts'
import { placeOf, type Reference } from './reference.ts'

/** table [c, b, rows, n] and row numbers [c, b, count] give [c, b, count, n] as f32, or i32. */
export const getRows: Reference = ([table, rows]) => {
  const [c, b, , n] = table!.shape
  const count = rows!.shape[3]
  const shape = [c, b, count, n]
  const data = new Float64Array(c * b * count * n)
  for (let i = 0; i < c; i++) {
    for (let j = 0; j < b; j++) {
      for (let k = 0; k < count; k++) {
        const number = rows!.data[placeOf(rows!.shape, 0, i, j, k)]!
        const from = placeOf(table!.shape, i, j, number, 0)
        data.set(table!.data.subarray(from, from + n), placeOf(shape, i, j, k, 0))
      }
    }
  }
  return [{ dtype: table!.dtype === 'i32' ? 'i32' : 'f32', shape, data }]
}

/** Values [c, b, count, n] over the rows of table [c, b, rows, n]; negative numbers are skipped. */
export const setRows: Reference = ([table, values, rows]) => {
  const { dtype, shape } = table!
  const [c, b, count, n] = values!.shape
  const bytes = table!.bytes.slice()
  const data = table!.data.slice()
  const written = encode(dtype, values!.data, n)
  if (written === undefined) throw new Error(`no rule tells what ${dtype} becomes of these values`)
  const size = rowBytes(dtype, n)
  for (let i = 0; i < c; i++) {
    for (let j = 0; j < b; j++) {
      for (let k = 0; k < count; k++) {
        const [, ri, rj] = rows!.shape
        const number = rows!.data[placeOf(rows!.shape, 0, i % ri, j % rj, k)]!
        if (number < 0) continue
        const from = placeOf(values!.shape, i, j, k, 0)
        const to = placeOf(shape, i, j, number, 0)
        bytes.set(written.subarray((from / n) * size, (from / n + 1) * size), (to / n) * size)
        data.set(values!.data.subarray(from, from + n), to)
      }
    }
  }
  return [{ dtype, shape, data, bytes }]
}

/** Rows of f32 as 8-bit numbers with a scale for each 32 (zig/dtype.zig). */
export const quantizeRow: Reference = ([x]) => {
  const { shape, data } = x!
  return [{ dtype: 'q8_row', shape, data, bytes: encode('q8_row', data, shape[3])! }]
}
