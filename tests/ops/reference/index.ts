// The reference of every op.
import type { OpName } from '../../../src/graph/params.ts'
import { attention } from './attention.ts'
import { add, copy, div, mul, sub } from './elementwise.ts'
import { clamp, fill, leakyRelu, scale, unary, xielu } from './functions.ts'
import { glu, swigluClamp, swigluOai } from './gates.ts'
import { linear } from './linear.ts'
import { rmsNorm } from './norm.ts'
import type { Reference } from './reference.ts'
import { rope } from './rope.ts'
import { getRows, quantizeRow, setRows } from './rows.ts'

export const references: Partial<Record<OpName, Reference>> = {
  add,
  mul,
  copy,
  get_rows: getRows,
  set_rows: setRows,
  quantize_row: quantizeRow,
  linear,
  rms_norm: rmsNorm,
  rope,
  attention,
  glu,
  sub,
  div,
  scale,
  unary,
  clamp,
  leaky_relu: leakyRelu,
  xielu,
  swiglu_oai: swigluOai,
  swiglu_clamp: swigluClamp,
  fill,
}
