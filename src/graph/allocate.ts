// Memory for a program's intermediate values: who may share bytes with whom.
//
// Lifetimes are known beforehand, so places are chosen largest first, each at the lowest offset
// free for its lifetime (Pisarchyk and Lee 2020, arXiv:2001.03288): the peak then comes close to
// the largest set alive at once, which a free list walked in running order can miss by half.
import { ops } from '../native/ops.gen.ts'
import type { Schedule } from './schedule.ts'
import { storageOf } from './schedule.ts'
import { type Node, sizeBytes, type Tensor } from './tensor.ts'

export { sizeBytes }

export interface Allocation {
  /** Bytes from the arena's start, for every tensor that owns memory of the program. */
  readonly offsets: ReadonlyMap<Tensor, number>
  /** Of each node with scratch. */
  readonly scratch: ReadonlyMap<Node, { offset: number; bytes: number }>
  readonly peakBytes: number
}

/** Cache line; also the strictest alignment that kernels ask of a tensor. */
const alignment = 64

/** Bytes that live from step `birth` to step `death`, both included. */
interface Block {
  size: number
  birth: number
  death: number
  offset: number
}

/** `scratchOf` tells the bytes a node needs while it runs. */
export const allocate = (plan: Schedule, scratchOf: (node: Node) => number): Allocation => {
  const lastUse = lastUses(plan)
  const blocks = new Map<Tensor, Block>()
  const scratch = new Map<Node, Block>()
  for (const [step, node] of plan.nodes.entries()) {
    for (const output of node.outputs) {
      if (storageOf(output).owner !== output) continue
      const death = lastUse.get(output) ?? step
      const reused = reusableBlock(node, output, step, lastUse, blocks)
      if (reused !== undefined) {
        reused.death = death
        blocks.set(output, reused)
      } else {
        blocks.set(output, { size: alignedSize(output), birth: step, death, offset: 0 })
      }
    }
    const bytes = scratchOf(node)
    if (bytes > 0) scratch.set(node, { size: align(bytes), birth: step, death: step, offset: 0 })
  }
  const peakBytes = place([...new Set(blocks.values()), ...scratch.values()])
  return {
    offsets: new Map([...blocks].map(([tensor, block]) => [tensor, block.offset])),
    scratch: new Map([...scratch].map(([node, b]) => [node, { offset: b.offset, bytes: b.size }])),
    peakBytes,
  }
}

/** The last step that reads or updates each owner of memory; outputs are needed to the end. */
const lastUses = (plan: Schedule): Map<Tensor, number> => {
  const last = new Map<Tensor, number>()
  for (const [step, node] of plan.nodes.entries()) {
    for (const tensor of [...node.sources, ...node.outputs]) {
      if (tensor !== undefined) last.set(storageOf(tensor).owner, step)
    }
  }
  for (const { tensor } of plan.outputs) last.set(storageOf(tensor).owner, plan.nodes.length)
  return last
}

/** A source's block that ends its life here and that the output may take over. */
const reusableBlock = (
  node: Node,
  output: Tensor,
  step: number,
  lastUse: ReadonlyMap<Tensor, number>,
  blocks: ReadonlyMap<Tensor, Block>,
): Block | undefined => {
  if (output !== node.outputs[0]) return undefined
  for (const index of ops[node.op].reuses as readonly number[]) {
    const source = node.sources[index]
    if (source === undefined) continue
    const { owner, offset } = storageOf(source)
    const block = blocks.get(owner)
    if (block === undefined || lastUse.get(owner) !== step || offset !== 0) continue
    // Another operand in the same memory would be overwritten while it is read.
    const shared = node.sources.some(
      (other, i) => i !== index && other !== undefined && storageOf(other).owner === owner,
    )
    if (shared || !source.isContiguous || source.dtype !== output.dtype) continue
    if (alignedSize(source) === block.size && block.size === alignedSize(output)) return block
  }
  return undefined
}

/** Gives every block its offset and returns the bytes needed. */
const place = (blocks: readonly Block[]): number => {
  const bySize = [...blocks].sort((a, b) => b.size - a.size || a.birth - b.birth)
  /** Placed blocks, by offset. */
  const placed: Block[] = []
  let peak = 0
  for (const block of bySize) {
    let offset = 0
    for (const other of placed) {
      if (other.birth > block.death || other.death < block.birth) continue
      if (other.offset >= offset + block.size) break
      offset = Math.max(offset, other.offset + other.size)
    }
    block.offset = offset
    placed.splice(insertionPoint(placed, offset), 0, block)
    peak = Math.max(peak, offset + block.size)
  }
  return peak
}

const insertionPoint = (placed: readonly Block[], offset: number): number => {
  let low = 0
  let high = placed.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (placed[middle]!.offset <= offset) low = middle + 1
    else high = middle
  }
  return low
}

const align = (bytes: number): number => Math.ceil(bytes / alignment) * alignment

const alignedSize = (tensor: Tensor): number => align(sizeBytes(tensor))
