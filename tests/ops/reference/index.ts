// The reference of every op.
import type { OpName } from '../../../src/graph/params.ts'
import * as arranging from './arranging.ts'
import { attention, flashAttn } from './attention.ts'
import { add, copy, div, mul, sub } from './elementwise.ts'
import { clamp, fill, leakyRelu, scale, unary, xielu } from './functions.ts'
import { glu, swigluClamp, swigluOai } from './gates.ts'
import { linear } from './linear.ts'
import { groupNorm, l2Norm, layerNorm, rmsNorm, softMax } from './norm.ts'
import * as positional from './positional.ts'
import * as recurrent from './recurrent.ts'
import * as reductions from './reductions.ts'
import type { Reference } from './reference.ts'
import { getRows, quantizeRow, setRows } from './rows.ts'
import * as spatial from './spatial.ts'

export const references: Partial<Record<OpName, Reference>> = {
  add,
  mul,
  copy,
  get_rows: getRows,
  set_rows: setRows,
  quantize_row: quantizeRow,
  linear,
  rms_norm: rmsNorm,
  rope: positional.rope,
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
  layer_norm: layerNorm,
  l2_norm: l2Norm,
  group_norm: groupNorm,
  soft_max: softMax,
  sum: reductions.sum,
  sum_rows: reductions.sumRows,
  mean: reductions.mean,
  cumsum: reductions.cumsum,
  argmax: reductions.argmax,
  count_equal: reductions.countEqual,
  argsort: reductions.argsort,
  top_k: reductions.topK,
  repeat: arranging.repeat,
  repeat_back: arranging.repeatBack,
  concat: arranging.concat,
  pad: arranging.pad,
  roll: arranging.roll,
  tri: arranging.tri,
  diag: arranging.diag,
  diag_mask: arranging.diagMask,
  set: arranging.set,
  acc: arranging.acc,
  add_id: arranging.addId,
  flash_attn: flashAttn,
  pool_1d: spatial.pool1d,
  pool_2d: spatial.pool2d,
  upscale: spatial.upscale,
  im2col: spatial.im2col,
  conv_2d: spatial.conv2d,
  conv_2d_dw: spatial.conv2dDw,
  conv_transpose_1d: spatial.convTranspose1d,
  conv_transpose_2d: spatial.convTranspose2d,
  ssm_conv: recurrent.ssmConv,
  ssm_scan: recurrent.ssmScan,
  rwkv_wkv6: recurrent.wkv6,
  rwkv_wkv7: recurrent.wkv7,
  gated_linear_attn: recurrent.gatedLinearAttn,
  gated_delta_net: recurrent.gatedDeltaNet,
  solve_tri: recurrent.solveTri,
  rope_back: positional.ropeBack,
  rope_multi: positional.ropeMulti,
  timestep_embedding: positional.timestepEmbedding,
  arange: positional.arange,
}
