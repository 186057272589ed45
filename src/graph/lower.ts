// Turns a schedule with places into a program image: the only code that turns shapes around, from
// outermost first to the innermost first of native records.
import type { DeviceBuffer } from '../device/buffer.ts'
import type { Port, ProgramLayout } from '../device/program.ts'
import { bufferTypes } from '../native/memory.ts'
import { dtypes, ops } from '../native/ops.gen.ts'
import type { Allocation } from './allocate.ts'
import { extentAxis, maxOf } from './dims.ts'
import type { Graph } from './graph.ts'
import {
  access,
  none,
  type PortRow,
  type RangeRow,
  type RecordRow,
  type SlotRow,
  type TensorRow,
  writeImage,
} from './image.ts'
import type { Schedule } from './schedule.ts'
import { storageOf } from './schedule.ts'
import { type Node, sizeBytes, type Tensor } from './tensor.ts'
import { atOnce } from './turns.ts'

const inputAlignment = 64

/** Lowers for one device: every slot and the one compute segment are its. */
export const lower = (
  graph: Graph,
  plan: Schedule,
  allocation: Allocation,
  device: number,
): ProgramLayout => atOnce(lowering(graph, plan, allocation, device))

/** The same, pausing now and then. */
export const lowering = (
  graph: Graph,
  plan: Schedule,
  allocation: Allocation,
  device: number,
): Generator<void, ProgramLayout> => new Lowering(graph, plan, allocation, device).run()

class Lowering {
  private readonly graph: Graph
  private readonly plan: Schedule
  private readonly allocation: Allocation
  private readonly device: number
  private readonly slots: SlotRow[] = []
  private readonly tensors: TensorRow[] = []
  private readonly indices = new Map<Tensor, number>()
  private readonly homes = new Map<DeviceBuffer, number>()
  private readonly inputOffsets = new Map<Tensor, number>()
  private arenaSlot = -1
  private inputSlot = -1

  constructor(graph: Graph, plan: Schedule, allocation: Allocation, device: number) {
    this.graph = graph
    this.plan = plan
    this.allocation = allocation
    this.device = device
  }

  *run(): Generator<void, ProgramLayout> {
    this.addArena()
    const inputBytes = this.addInputs()
    const records: RecordRow[] = []
    for (const node of this.plan.nodes) {
      records.push(this.record(node))
      if (records.length % 16 === 0) yield
    }
    const ports: PortRow[] = []
    const inputs = this.graph.inputs.map((tensor) => {
      const name = tensor.origin.kind === 'input' ? tensor.origin.name : ''
      ports.push({ tensor: this.index(tensor), kind: 'input', name })
      return this.port(name, tensor, this.inputOffsets.get(tensor)!)
    })
    const outputs = this.plan.outputs.map(({ name, tensor }) => {
      const { owner, offset } = storageOf(tensor)
      ports.push({ tensor: this.index(tensor), kind: 'output', name })
      return this.port(name, tensor, this.allocation.offsets.get(owner)! + offset)
    })
    const segment = {
      kind: 'compute',
      device: this.device,
      first: 0,
      a: 0,
      b: 0,
      value: 0,
    } as const
    const image = writeImage({
      slots: this.slots,
      tensors: this.tensors,
      segments: [{ ...segment, count: records.length }],
      records,
      extents: this.graph.extents.map(({ max }) => max),
      ports,
      fences: 0,
    })
    return {
      image,
      recordCount: records.length,
      inputBytes,
      inputs,
      outputs,
      extents: this.graph.extents.map(({ name, max }) => ({ name, max })),
      arena: { slot: this.arenaSlot, bytes: this.allocation.peakBytes },
      homes: [...this.homes].map(([buffer, slot]) => ({ slot, buffer })),
    }
  }

  private addArena() {
    // Tensors without bytes have a place as well.
    if (this.allocation.offsets.size === 0) return
    this.arenaSlot = this.addSlot('arena', this.allocation.peakBytes, access.read | access.write)
  }

  private addInputs(): number {
    let end = 0
    for (const tensor of this.graph.inputs) {
      end = Math.ceil(end / inputAlignment) * inputAlignment
      this.inputOffsets.set(tensor, end)
      end += sizeBytes(tensor)
    }
    if (this.graph.inputs.length > 0) this.inputSlot = this.addSlot('input', end, access.read)
    return end
  }

  private addSlot(lifetime: SlotRow['lifetime'], size: number, rights: number): number {
    const bufferType = bufferTypes.shared
    return this.slots.push({ size, device: this.device, bufferType, access: rights, lifetime }) - 1
  }

  private record(node: Node): RecordRow {
    const ranges: RangeRow[] = []
    const operand = (tensor: Tensor | undefined, write: boolean): number => {
      if (tensor === undefined) return none
      const index = this.index(tensor)
      const row = this.tensors[index]!
      const end = row.offset + spanBytes(tensor)
      if (end > row.offset) ranges.push({ slot: row.slot, write, begin: row.offset, end })
      return index
    }
    const sources = node.sources.map((source) => operand(source, false))
    const outputs = node.outputs.map((output) => operand(output, true))
    const scratch = this.allocation.scratch.get(node)
    const name = node.label === '' ? node.op : `${node.label}.${node.op}`
    return {
      op: ops[node.op].code,
      params: node.params,
      sources,
      outputs,
      scratch: scratch === undefined ? none : this.scratch(scratch, ranges),
      ranges,
      name,
    }
  }

  private scratch(place: { offset: number; bytes: number }, ranges: RangeRow[]): number {
    const { offset, bytes } = place
    ranges.push({ slot: this.arenaSlot, write: true, begin: offset, end: offset + bytes })
    const row: TensorRow = {
      slot: this.arenaSlot,
      dtype: dtypes.u8.code,
      offset,
      ne: [bytes, 1, 1, 1],
      nb: [1, bytes, bytes, bytes],
      extent: 0,
      extentDim: 0,
      extentMultiple: 0,
    }
    return this.tensors.push(row) - 1
  }

  /** The tensor's row in the image, made on first use. */
  private index(tensor: Tensor): number {
    const known = this.indices.get(tensor)
    if (known !== undefined) return known
    const { slot, offset } = this.place(tensor)
    const rank = tensor.dims.length
    const ne = [0, 1, 2, 3].map((d) => (d < rank ? maxOf(tensor.dims[rank - 1 - d]!) : 1))
    const axis = extentAxis(tensor.dims)
    const extent = tensor.dims[axis]
    const index = this.tensors.push({
      slot,
      dtype: dtypes[tensor.dtype].code,
      offset,
      ne,
      nb: nativeStrides(tensor, ne),
      extent: typeof extent === 'object' ? extent.index + 1 : 0,
      extentDim: typeof extent === 'object' ? rank - 1 - axis : 0,
      extentMultiple: typeof extent === 'object' ? extent.multiple : 0,
    })
    this.indices.set(tensor, index - 1)
    return index - 1
  }

  private place(tensor: Tensor): { slot: number; offset: number } {
    const { owner, offset: inner } = storageOf(tensor)
    const { origin } = owner
    // A view of nothing may start behind the end of what it is a view of.
    const offset = tensor.shape.includes(0) ? 0 : inner
    if (origin.kind === 'input') {
      return { slot: this.inputSlot, offset: this.inputOffsets.get(owner)! + offset }
    }
    if (origin.kind === 'home') {
      const { lifetime, buffer, offset: start } = origin.home
      return {
        slot: this.homeSlot(buffer, lifetime, start + sizeBytes(owner)),
        offset: start + offset,
      }
    }
    return { slot: this.arenaSlot, offset: this.allocation.offsets.get(owner)! + offset }
  }

  /** One slot per buffer, large enough for what is used of it; writable when any of it is. */
  private homeSlot(buffer: DeviceBuffer, lifetime: 'weight' | 'state', end: number): number {
    let slot = this.homes.get(buffer)
    if (slot === undefined) {
      slot = this.addSlot(lifetime, 0, access.read)
      this.homes.set(buffer, slot)
    }
    const row = this.slots[slot]!
    row.size = Math.max(row.size, end)
    if (lifetime === 'state') {
      row.lifetime = 'state'
      row.access = access.read | access.write
    }
    return slot
  }

  private port(name: string, tensor: Tensor, offset: number): Port {
    const extent = tensor.dims.find((dim) => typeof dim === 'object')
    return {
      name,
      dtype: tensor.dtype,
      shape: tensor.shape,
      offset,
      bytes: sizeBytes(tensor),
      extent: extent && { index: extent.index, bytesEach: sizeBytes(tensor) / extent.max },
    }
  }
}

/**
 * Four strides, innermost first. Where there is one element at most a stride means nothing; it is
 * then what it would be without gaps, which every kernel takes.
 */
const nativeStrides = (tensor: Tensor, ne: readonly number[]): number[] => {
  const { blockLength, blockBytes } = dtypes[tensor.dtype]
  const rank = tensor.dims.length
  const nb: number[] = []
  let next: number = blockBytes
  for (const [d, n] of ne.entries()) {
    const stride = n > 1 ? tensor.strides[rank - 1 - d]! : next
    nb.push(stride)
    next = stride * (d === 0 ? n / blockLength : n)
  }
  return nb
}

/** Bytes from the tensor's first to behind its last element. */
const spanBytes = (tensor: Tensor): number => {
  if (tensor.shape.some((n) => n === 0)) return 0
  const { blockLength, blockBytes } = dtypes[tensor.dtype]
  const last = tensor.dims.length - 1
  return tensor.shape.reduce((span, size, i) => {
    const count = i === last ? size / blockLength : size
    return span + (count - 1) * tensor.strides[i]!
  }, blockBytes)
}
