// What the CPU backend of the reference computes, by its own backend test (ggml 0.25.1,
// tests/test-backend-ops.cpp): the op, leaven's name for it, and the dtypes that rows must have.
import type { OpName } from '../../src/graph/params.ts'
import type { DType } from '../../src/native/dtype.ts'
import { unaryKinds } from '../../src/native/ops.gen.ts'
import { goldenOnly, needImportance, ruled } from './cases/sizes.ts'

export interface Covered {
  /** Undefined while leaven has no such op; `notYet` then says why. */
  readonly op: OpName | undefined
  /** By which rows count: of weights, tables, or what is copied to. */
  readonly dtypes: readonly DType[]
}

const halves: readonly DType[] = ['f32', 'f16']
const floats: readonly DType[] = ['f32', 'f16', 'bf16']
const f32: readonly DType[] = ['f32']
/** The reference tests none of these two as weights. */
const activationsOnly: readonly DType[] = ['q8_1', 'q8_K', 'tq1_0', 'iq2_s', 'iq1_m']
const written: readonly DType[] = [...ruled, ...goldenOnly].filter(
  (dtype) => !activationsOnly.includes(dtype),
)
const weights: readonly DType[] = [...floats, ...written, ...needImportance, 'iq2_s', 'iq1_m']

const joined: readonly DType[] = [
  ...floats,
  'i8',
  'i16',
  'i32',
  'i64',
  'q4_0',
  'q4_1',
  'q5_0',
  'q5_1',
  'q8_0',
]

const unary = Object.keys(unaryKinds).map((name): [string, Covered] => [
  name.toUpperCase(),
  { op: 'unary', dtypes: halves },
])

export const coverage: Readonly<Record<string, Covered>> = {
  ...Object.fromEntries(unary),
  ADD: { op: 'add', dtypes: halves },
  SUB: { op: 'sub', dtypes: halves },
  MUL: { op: 'mul', dtypes: halves },
  DIV: { op: 'div', dtypes: halves },
  SCALE: { op: 'scale', dtypes: f32 },
  CLAMP: { op: 'clamp', dtypes: halves },
  LEAKY_RELU: { op: 'leaky_relu', dtypes: halves },
  XIELU: { op: 'xielu', dtypes: halves },
  FILL: { op: 'fill', dtypes: f32 },
  REGLU: { op: 'glu', dtypes: halves },
  GEGLU: { op: 'glu', dtypes: halves },
  SWIGLU: { op: 'glu', dtypes: halves },
  GEGLU_ERF: { op: 'glu', dtypes: halves },
  GEGLU_QUICK: { op: 'glu', dtypes: halves },
  SWIGLU_OAI: { op: 'swiglu_oai', dtypes: f32 },
  SWIGLU_CLAMP: { op: 'swiglu_clamp', dtypes: halves },
  GET_ROWS: { op: 'get_rows', dtypes: [...weights, 'i32'] },
  SET_ROWS: { op: 'set_rows', dtypes: [...floats, ...written] },
  CPY: { op: 'copy', dtypes: [...floats, ...written, 'i32'] },
  CONT: { op: 'copy', dtypes: [...floats, 'i32'] },
  DUP: { op: 'copy', dtypes: [...halves, 'i32', 'i16'] },
  MUL_MAT: { op: 'linear', dtypes: weights },
  RMS_NORM: { op: 'rms_norm', dtypes: f32 },
  ROPE: { op: 'rope', dtypes: halves },
  ROPE_BACK: { op: 'rope_back', dtypes: halves },
  SSM_CONV: { op: 'ssm_conv', dtypes: f32 },
  SSM_SCAN: { op: 'ssm_scan', dtypes: f32 },
  RWKV_WKV6: { op: 'rwkv_wkv6', dtypes: f32 },
  RWKV_WKV7: { op: 'rwkv_wkv7', dtypes: f32 },
  GATED_LINEAR_ATTN: { op: 'gated_linear_attn', dtypes: f32 },
  GATED_DELTA_NET: { op: 'gated_delta_net', dtypes: f32 },
  SOLVE_TRI: { op: 'solve_tri', dtypes: f32 },
  TIMESTEP_EMBEDDING: { op: 'timestep_embedding', dtypes: f32 },
  ARANGE: { op: 'arange', dtypes: f32 },
  NORM: { op: 'layer_norm', dtypes: f32 },
  L2_NORM: { op: 'l2_norm', dtypes: f32 },
  GROUP_NORM: { op: 'group_norm', dtypes: f32 },
  SOFT_MAX: { op: 'soft_max', dtypes: f32 },
  SUM: { op: 'sum', dtypes: f32 },
  SUM_ROWS: { op: 'sum_rows', dtypes: f32 },
  MEAN: { op: 'mean', dtypes: f32 },
  CUMSUM: { op: 'cumsum', dtypes: f32 },
  ARGMAX: { op: 'argmax', dtypes: f32 },
  COUNT_EQUAL: { op: 'count_equal', dtypes: ['i32'] },
  ARGSORT: { op: 'argsort', dtypes: f32 },
  TOP_K: { op: 'top_k', dtypes: f32 },
  REPEAT: { op: 'repeat', dtypes: ['f32', 'f16', 'i32', 'i16', 'bf16'] },
  REPEAT_BACK: { op: 'repeat_back', dtypes: f32 },
  CONCAT: { op: 'concat', dtypes: joined },
  PAD: { op: 'pad', dtypes: f32 },
  PAD_REFLECT_1D: { op: 'pad', dtypes: f32 },
  ROLL: { op: 'roll', dtypes: f32 },
  TRI: { op: 'tri', dtypes: f32 },
  DIAG: { op: 'diag', dtypes: f32 },
  DIAG_MASK_INF: { op: 'diag_mask', dtypes: f32 },
  SET: { op: 'set', dtypes: ['f32', 'i32'] },
  ACC: { op: 'acc', dtypes: f32 },
  FLASH_ATTN_EXT: {
    op: 'flash_attn',
    dtypes: [...floats, 'q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'iq4_nl', 'q1_0', 'q2_0'],
  },
  POOL_1D: { op: 'pool_1d', dtypes: f32 },
  POOL_2D: { op: 'pool_2d', dtypes: f32 },
  UPSCALE: { op: 'upscale', dtypes: f32 },
  IM2COL: { op: 'im2col', dtypes: halves },
  CONV_2D: { op: 'conv_2d', dtypes: halves },
  CONV_2D_DW: { op: 'conv_2d_dw', dtypes: halves },
  CONV_TRANSPOSE_1D: { op: 'conv_transpose_1d', dtypes: f32 },
  CONV_TRANSPOSE_2D: { op: 'conv_transpose_2d', dtypes: halves },
  ADD_ID: { op: 'add_id', dtypes: f32 },
}
