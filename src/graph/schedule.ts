// Which nodes a program runs, in order: those that an output or a state update needs, with what
// the device wants beside them.

import { isQuantized } from '../native/dtype.ts'
import { dtypes, ops } from '../native/ops.gen.ts'
import type { Graph, Output } from './graph.ts'
import { type Node, Tensor } from './tensor.ts'

export interface Schedule {
  readonly nodes: readonly Node[]
  readonly outputs: readonly Output[]
}

/** Where a tensor's bytes lie: the tensor that owns the memory, and bytes into it. */
export const storageOf = (tensor: Tensor): { owner: Tensor; offset: number } => {
  const { origin } = tensor
  if (origin.kind === 'view') {
    const { owner, offset } = storageOf(origin.base)
    return { owner, offset: offset + origin.offset }
  }
  if (origin.kind === 'node' && origin.output === 0) {
    const updated = ops[origin.node.op].updates
    if (updated >= 0) return storageOf(origin.node.sources[updated]!)
  }
  return { owner: tensor, offset: 0 }
}

/** Live nodes in the order they were made, with results in memory of the program's own. */
export const schedule = (graph: Graph): Schedule => {
  const nodes: Node[] = []
  const quantized = new Map<Tensor, Tensor>()
  for (const node of liveNodes(graph)) nodes.push(...expand(node, quantized))
  const outputs = graph.outputs.map(({ name, tensor }) => {
    const { owner } = storageOf(tensor)
    if (owner.origin.kind === 'node' && tensor.isContiguous) return { name, tensor }
    const copy = makeNode('copy', [tensor], copyParams(tensor), tensor.dtype, tensor, name)
    nodes.push(copy)
    return { name, tensor: copy.outputs[0]! }
  })
  return { nodes, outputs }
}

/** Nodes that an output needs or that change state. */
const liveNodes = (graph: Graph): Node[] => {
  const live = new Set<Node>()
  const visit = (tensor: Tensor) => {
    const stack = [tensor]
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { origin } = next
      if (origin.kind === 'view') stack.push(origin.base)
      if (origin.kind !== 'node' || live.has(origin.node)) continue
      live.add(origin.node)
      for (const source of origin.node.sources) if (source !== undefined) stack.push(source)
    }
  }
  for (const { tensor } of graph.outputs) visit(tensor)
  for (const node of graph.nodes) {
    const updated = ops[node.op].updates
    if (updated < 0) continue
    const { owner } = storageOf(node.sources[updated]!)
    if (owner.origin.kind === 'home') visit(node.outputs[0]!)
  }
  return graph.nodes.filter((node) => live.has(node))
}

/** Activations for quantized weights are quantized once, in a node that all products share. */
const expand = (node: Node, quantized: Map<Tensor, Tensor>): Node[] => {
  const [weight, x] = node.sources
  if (node.op !== 'linear' || !isQuantized(weight!.dtype) || x!.dtype !== 'f32') return [node]
  const before: Node[] = []
  let packed = quantized.get(x!)
  if (packed === undefined) {
    let rows = x!
    if (rows.strides.at(-1) !== dtypes.f32.blockBytes) {
      const copy = makeNode('copy', [rows], copyParams(rows), 'f32', rows, node.label)
      before.push(copy)
      rows = copy.outputs[0]!
    }
    const made = makeNode('quantize_row', [rows], new Uint8Array(0), 'q8_row', rows, node.label)
    before.push(made)
    packed = made.outputs[0]!
    quantized.set(x!, packed)
  }
  const sources = [weight, packed, ...node.sources.slice(2)]
  // The result keeps its identity: others refer to it.
  return [...before, { ...node, sources }]
}

const copyParams = (tensor: Tensor): Uint8Array => {
  const params = new Uint8Array(4)
  new DataView(params.buffer).setUint32(0, dtypes[tensor.dtype].code, true)
  return params
}

/** A node outside the graph's own list whose result has `like`'s dimensions. */
const makeNode = (
  op: Node['op'],
  sources: Tensor[],
  params: Uint8Array,
  dtype: Tensor['dtype'],
  like: Tensor,
  label: string,
): Node => {
  const node: Node = { op, sources, params, outputs: [], label }
  node.outputs.push(new Tensor(like.graph, dtype, like.dims, { kind: 'node', node, output: 0 }))
  return node
}
