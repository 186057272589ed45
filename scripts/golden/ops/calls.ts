// What each function of the reference is in leaven's ops.
import type { Graph } from '../../../src/graph/graph.ts'
import type { OpName, Params } from '../../../src/graph/params.ts'
import type { Tensor } from '../../../src/graph/tensor.ts'
import { dtypes, gluKinds, unaryKinds } from '../../../src/native/ops.gen.ts'

export interface CallCase {
  readonly fn: string
  readonly op: string
  readonly params: Readonly<Record<string, unknown>>
  /** Sixteen raw int32. */
  readonly op_params: readonly number[]
  readonly dst: { readonly type: string; readonly ne: readonly number[] }
}

/** A case's arguments as tensors, and its raw parameters as numbers. */
export class Call {
  readonly g: Graph
  readonly of: CallCase
  readonly args: readonly (Tensor | undefined)[]

  constructor(g: Graph, of: CallCase, args: readonly (Tensor | undefined)[]) {
    this.g = g
    this.of = of
    this.args = args
  }

  int(i: number): number {
    return this.of.op_params[i]!
  }

  float(i: number): number {
    return new Float32Array(Int32Array.of(this.int(i)).buffer)[0]!
  }

  /** An op on the arguments. */
  node(op: OpName, params: Params = {}, args = this.args): Tensor {
    return this.g.node(op, args, params)
  }
}

/** The result, or undefined where leaven has no op for it yet. */
export type Build = (call: Call) => Tensor

const sizes = ([n0, n1, n2, n3]: readonly number[]): Params => ({
  n0: n0!,
  n1: n1!,
  n2: n2!,
  n3: n3!,
})

const copied = (call: Call): Tensor => {
  const type = call.of.dst.type as keyof typeof dtypes
  return call.node('copy', { dtype: dtypes[type].code }, [call.args[0]])
}

const placed =
  (op: OpName): Build =>
  (call) => {
    const [nb1, nb2, nb3, offset] = call.of.op_params
    return call.node(op, { nb1: nb1!, nb2: nb2!, nb3: nb3!, offset: offset! })
  }

/** Gate and up: two arguments, or the halves of one, in either order. */
const gateAndUp = (call: Call): readonly (Tensor | undefined)[] => {
  const [whole, up] = call.args
  if (up !== undefined) return call.args
  const axis = whole!.dims.length - 1
  const half = whole!.shape[axis]! / 2
  const halves = [whole!.slice(axis, 0, half), whole!.slice(axis, half, 2 * half)]
  return call.of.params.swapped === true ? halves.reverse() : halves
}

const gated =
  (kind: keyof typeof gluKinds): Build =>
  (call) =>
    call.node('glu', { kind: gluKinds[kind] }, gateAndUp(call))

const normed =
  (op: OpName): Build =>
  (call) =>
    call.node(op, { epsilon: call.float(0) })

const softMax: Build = (call) =>
  call.node('soft_max', { scale: call.float(0), alibi_max: call.float(1) })

/** YaRN's correction of magnitudes is part of leaven's parameter. */
const ropeParams = (call: Call): Params => {
  const scale = call.float(6)
  const extrapolation = call.float(7)
  const correction = extrapolation === 0 ? 1 : 1 + 0.1 * Math.log(1 / scale)
  return {
    style: call.int(2) === 0 ? 0 : 1,
    rotated: call.int(1),
    base: call.float(5),
    scale,
    extrapolation,
    magnitude: call.float(8) * correction,
    beta_fast: call.float(9),
    beta_slow: call.float(10),
    original_context: call.int(4),
  }
}

/** Modes 0 and 2. */
const rope =
  (op: 'rope' | 'rope_back'): Build =>
  (call) => {
    const mode = call.int(2)
    if (mode !== 0 && mode !== 2) throw new Error(`not yet: rope of mode ${mode}`)
    return call.node(op, ropeParams(call))
  }

/** Sections by the modes 8, 40 and 24; the four positions of all rows lie behind each other. */
const ropeMulti: Build = (call) => {
  const kind = { 8: 0, 40: 1, 24: 2 }[call.int(2)]
  if (kind === undefined) throw new Error(`not yet: rope of mode ${call.int(2)}`)
  const [x, positions, factors] = call.args
  const rows = positions!.shape.at(-1)! / 4
  const { style: _, ...params } = ropeParams(call)
  const sections = [11, 12, 13, 14].map((i) => call.int(i))
  return call.node(
    'rope_multi',
    {
      ...params,
      kind,
      section0: sections[0]!,
      section1: sections[1]!,
      section2: sections[2]!,
      section3: sections[3]!,
    },
    [x, positions!.reshape([4, rows]), factors],
  )
}

/** What the tokens give and the state after them, which the reference puts behind each other. */
const withState =
  (op: OpName, params?: (call: Call) => Params): Build =>
  (call) => {
    const last = call.args.length - 1
    const [head] = call.args
    // RWKV and gated linear attention keep the states of a sequence in one row.
    const state = call.args[last]!
    const flat = state.dims.length === 2 || state.shape.slice(0, 2).every((n) => n === 1)
    const [, heads, size] = [head!.shape[1], head!.shape.at(-2)!, head!.shape.at(-1)!]
    const sources = [...call.args]
    if (flat) sources[last] = state.reshape([state.shape.at(-2)!, heads, size, size])
    const y = call.g.node(op, sources, params?.(call) ?? {})
    return behind(call, y)
  }

/** Both outputs of a node as one row. */
const behind = (call: Call, y: Tensor): Tensor => {
  const { origin } = y
  const outputs = origin.kind === 'node' ? origin.node.outputs : [y]
  const rows = outputs.map((t) => t.reshape([t.shape.reduce((a, b) => a * b, 1)]))
  return call.g.node('concat', rows, { dim: 0 })
}

const flashAttn: Build = (call) =>
  call.node('flash_attn', {
    scale: call.float(0),
    alibi_max: call.float(1),
    softcap: call.float(2),
  })

const padded: Build = (call) => {
  const params: Record<string, number> = { kind: call.int(8) }
  for (let d = 0; d < 4; d++) {
    params[`before${d}`] = call.int(2 * d)
    params[`after${d}`] = call.int(2 * d + 1)
  }
  return call.node('pad', params)
}

const reflected: Build = (call) =>
  call.node('pad', {
    kind: 2,
    before0: call.int(0),
    after0: call.int(1),
    ...{ before1: 0, after1: 0, before2: 0, after2: 0, before3: 0, after3: 0 },
  })

const largest: Build = (call) => call.node('top_k', { k: call.of.dst.ne[0]! })

const concatenated: Build = (call) => call.node('concat', { dim: call.int(0) })

const unary = Object.entries(unaryKinds).map(([name, kind]): [string, Build] => [
  `ggml_${name}`,
  (call) => call.node('unary', { kind }),
])

const pooled2d: Build = (call) =>
  call.node('pool_2d', {
    kind: call.int(0),
    kernel0: call.int(1),
    kernel1: call.int(2),
    stride0: call.int(3),
    stride1: call.int(4),
    padding0: call.int(5),
    padding1: call.int(6),
  })

/** The mode's lower byte is the kind; 256 aligns corners, 512 is antialias. */
const resized: Build = (call) => {
  const mode = call.int(0)
  return call.node('upscale', {
    ...sizes(call.of.dst.ne),
    kind: mode & 255,
    align_corners: (mode >> 8) & 1,
    antialias: (mode >> 9) & 1,
  })
}

const window = (list: readonly number[]): Params => {
  const [stride0, stride1, padding0, padding1, dilation0, dilation1] = list
  return {
    stride0: stride0!,
    stride1: stride1!,
    padding0: padding0!,
    padding1: padding1!,
    dilation0: dilation0!,
    dilation1: dilation1!,
  }
}

/** By the names that the case itself gives its numbers. */
const named = (call: Call, ...names: readonly string[]): number => {
  for (const name of names) if (name in call.of.params) return Number(call.of.params[name])
  throw new Error(`the case gives none of ${names.join(', ')}`)
}

const windowOf = (call: Call): Params =>
  window([
    named(call, 's0', 's'),
    named(call, 's1', 's'),
    named(call, 'p0', 'p'),
    named(call, 'p1', 'p'),
    named(call, 'd0', 'd'),
    named(call, 'd1', 'd'),
  ])

const columns: Build = (call) =>
  call.node('im2col', {
    ...window(call.of.op_params.slice(0, 6)),
    two_dimensional: call.int(6),
    dtype: dtypes[call.of.dst.type as keyof typeof dtypes].code,
  })

/** A row as an image of one line: leaven has convolutions of planes. */
const asPlane = (t: Tensor): Tensor => {
  const [, images, channels, width] = [...new Array(4 - t.dims.length).fill(1), ...t.shape]
  return t.reshape([images!, channels!, 1, width!])
}

/** conv_1d: half padding keeps the width. */
const convolvedRow =
  (op: 'conv_2d' | 'conv_2d_dw', isHalf: boolean): Build =>
  (call) => {
    const [kernel, x] = call.args.map((t) => asPlane(t!))
    const dilation = named(call, 'd', 'd0')
    const padding = isHalf ? Math.floor(kernel!.shape[3]! / 2) : named(call, 'p', 'p0')
    const params = window([named(call, 's', 's0'), 1, padding, 0, dilation, 1])
    return call.node(op, params, [kernel, x])
  }

const transposed =
  (op: 'conv_transpose_1d' | 'conv_transpose_2d'): Build =>
  (call) =>
    call.node(op, { stride: named(call, 's0', 'stride', 's') })

const plain = (op: OpName): Build => {
  return (call) => call.node(op)
}

export const calls: Readonly<Record<string, Build>> = {
  ...Object.fromEntries(unary),
  ggml_add: plain('add'),
  ggml_sub: plain('sub'),
  ggml_mul: plain('mul'),
  ggml_div: plain('div'),
  ggml_acc: placed('acc'),
  ggml_set: placed('set'),
  ggml_scale: (call) => call.node('scale', { factor: call.float(0), offset: call.float(1) }),
  ggml_scale_bias: (call) => call.node('scale', { factor: call.float(0), offset: call.float(1) }),
  ggml_clamp: (call) => call.node('clamp', { low: call.float(0), high: call.float(1) }),
  ggml_leaky_relu: (call) => call.node('leaky_relu', { slope: call.float(0) }),
  ggml_fill: (call) => call.node('fill', { value: call.float(0) }),
  ggml_xielu: (call) =>
    call.node('xielu', {
      alpha_negative: call.float(1),
      alpha_positive: call.float(2),
      beta: call.float(3),
      epsilon: call.float(4),
    }),
  ggml_reglu: gated('reglu'),
  ggml_reglu_split: gated('reglu'),
  ggml_reglu_swapped: gated('reglu'),
  ggml_geglu: gated('geglu'),
  ggml_geglu_split: gated('geglu'),
  ggml_geglu_swapped: gated('geglu'),
  ggml_swiglu: gated('swiglu'),
  ggml_swiglu_split: gated('swiglu'),
  ggml_swiglu_swapped: gated('swiglu'),
  ggml_geglu_erf: gated('geglu_erf'),
  ggml_geglu_erf_split: gated('geglu_erf'),
  ggml_geglu_erf_swapped: gated('geglu_erf'),
  ggml_geglu_quick: gated('geglu_quick'),
  ggml_geglu_quick_split: gated('geglu_quick'),
  ggml_geglu_quick_swapped: gated('geglu_quick'),
  ggml_swiglu_oai: (call) =>
    call.node('swiglu_oai', { alpha: call.float(2), limit: call.float(3) }, gateAndUp(call)),
  ggml_swiglu_clamp: (call) => call.node('swiglu_clamp', { limit: call.float(3) }, gateAndUp(call)),
  ggml_rms_norm: normed('rms_norm'),
  ggml_norm: normed('layer_norm'),
  ggml_l2_norm: normed('l2_norm'),
  ggml_group_norm: (call) =>
    call.node('group_norm', { groups: call.int(0), epsilon: call.float(1) }),
  ggml_soft_max: softMax,
  ggml_soft_max_ext: softMax,
  'ggml_soft_max_ext+ggml_soft_max_add_sinks': softMax,
  ggml_diag_mask_inf: (call) =>
    call.node('diag_mask', { past: call.int(0), value: Number.NEGATIVE_INFINITY }),
  ggml_diag_mask_zero: (call) => call.node('diag_mask', { past: call.int(0), value: 0 }),
  ggml_rope_ext: rope('rope'),
  ggml_rope_ext_back: rope('rope_back'),
  ggml_rope_multi: ropeMulti,
  ggml_get_rows: plain('get_rows'),
  ggml_set_rows: plain('set_rows'),
  ggml_cpy: copied,
  ggml_cont: copied,
  ggml_dup: copied,
  'ggml_permute+ggml_cont': copied,
  'ggml_transpose+ggml_cont': copied,
  ggml_concat: concatenated,
  ggml_repeat: (call) => call.node('repeat', sizes(call.of.dst.ne), [call.args[0]]),
  ggml_repeat_back: (call) => call.node('repeat_back', sizes(call.of.dst.ne), [call.args[0]]),
  ggml_pad: padded,
  ggml_pad_ext: padded,
  ggml_pad_reflect_1d: reflected,
  ggml_roll: (call) =>
    call.node('roll', {
      shift0: call.int(0),
      shift1: call.int(1),
      shift2: call.int(2),
      shift3: call.int(3),
    }),
  ggml_tri: (call) => call.node('tri', { kind: call.int(0) }),
  ggml_diag: plain('diag'),
  ggml_cumsum: plain('cumsum'),
  ggml_argsort: (call) => call.node('argsort', { descending: call.int(0) }),
  ggml_top_k: largest,
  ggml_argsort_top_k: largest,
  ggml_argmax: plain('argmax'),
  ggml_sum: plain('sum'),
  ggml_sum_rows: plain('sum_rows'),
  ggml_mean: plain('mean'),
  ggml_count_equal: plain('count_equal'),
  ggml_mul_mat: plain('linear'),
  ggml_add_id: plain('add_id'),
  ggml_flash_attn_ext: flashAttn,
  ggml_ssm_conv: plain('ssm_conv'),
  ggml_ssm_scan: (call) => behind(call, call.node('ssm_scan')),
  ggml_rwkv_wkv6: withState('rwkv_wkv6'),
  ggml_rwkv_wkv7: withState('rwkv_wkv7'),
  ggml_gated_linear_attn: withState('gated_linear_attn', (call) => ({ scale: call.float(0) })),
  ggml_gated_delta_net: (call) => behind(call, call.node('gated_delta_net')),
  ggml_solve_tri: plain('solve_tri'),
  ggml_timestep_embedding: (call) =>
    call.node('timestep_embedding', { dim: call.int(0), period: call.int(1) }),
  ggml_arange: (call) =>
    call.node('arange', { start: call.float(0), stop: call.float(1), step: call.float(2) }, []),
  ggml_pool_1d: (call) =>
    call.node('pool_1d', {
      kind: call.int(0),
      kernel: call.int(1),
      stride: call.int(2),
      padding: call.int(3),
    }),
  ggml_pool_2d: pooled2d,
  ggml_upscale: resized,
  ggml_upscale_ext: resized,
  ggml_interpolate: resized,
  ggml_im2col: columns,
  ggml_conv_1d_ph: convolvedRow('conv_2d', true),
  ggml_conv_1d: convolvedRow('conv_2d', false),
  ggml_conv_1d_dw: convolvedRow('conv_2d_dw', false),
  ggml_conv_2d: (call) => call.node('conv_2d', windowOf(call)),
  ggml_conv_2d_direct: (call) => call.node('conv_2d', windowOf(call)),
  ggml_conv_2d_dw: (call) => call.node('conv_2d_dw', windowOf(call)),
  ggml_conv_2d_dw_direct: (call) => call.node('conv_2d_dw', windowOf(call)),
  ggml_conv_transpose_1d: transposed('conv_transpose_1d'),
  ggml_conv_transpose_2d_p0: transposed('conv_transpose_2d'),
}
