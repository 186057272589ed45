// Writes program images; the layout is zig/runtime/image.zig's.
import { digest } from '../native/ops.gen.ts'

const magic = 0x50564c4c
const version = 1
const headerBytes = 128
export const none = 0xffffffff

export const lifetimes = { weight: 0, state: 1, input: 2, output: 3, arena: 4 } as const
export const segmentKinds = { compute: 0, copy: 1, signal: 2, wait: 3, js: 4 } as const
export const access = { read: 1, write: 2 } as const

export interface SlotRow {
  size: number
  device: number
  bufferType: number
  access: number
  lifetime: keyof typeof lifetimes
}

/** Sizes and strides are innermost first; `extent` is 1 + the extent's index, or 0. */
export interface TensorRow {
  slot: number
  dtype: number
  offset: number
  ne: readonly number[]
  nb: readonly number[]
  extent: number
  extentDim: number
  extentMultiple: number
}

export interface SegmentRow {
  kind: keyof typeof segmentKinds
  device: number
  first: number
  count: number
  a: number
  b: number
  value: number
}

export interface RangeRow {
  slot: number
  write: boolean
  begin: number
  end: number
}

export interface RecordRow {
  op: number
  params: Uint8Array
  /** Tensor indices; `none` for an absent source. */
  sources: readonly number[]
  outputs: readonly number[]
  scratch: number
  ranges: readonly RangeRow[]
  name: string
}

export interface PortRow {
  tensor: number
  kind: 'input' | 'output'
  name: string
}

export interface ImageTables {
  slots: readonly SlotRow[]
  tensors: readonly TensorRow[]
  segments: readonly SegmentRow[]
  records: readonly RecordRow[]
  extents: readonly number[]
  ports: readonly PortRow[]
  fences: number
}

const sizes = { slot: 24, tensor: 88, segment: 32, record: 40, range: 24, extent: 8, port: 16 }
const align8 = (n: number) => Math.ceil(n / 8) * 8

/** The image's bytes. Equal tables give equal bytes. */
export const writeImage = (t: ImageTables): Uint8Array => {
  const names = nameTable([...t.records.map((r) => r.name), ...t.ports.map((p) => p.name)])
  const params = paramsTable(t.records)
  const operandCount = t.records.reduce((n, r) => n + r.sources.length + r.outputs.length, 0)
  const rangeCount = t.records.reduce((n, r) => n + r.ranges.length, 0)
  let end = headerBytes
  const table = (count: number, size: number) => {
    const offset = end
    end = align8(end + count * size)
    return { count, offset }
  }
  const tables = {
    slots: table(t.slots.length, sizes.slot),
    tensors: table(t.tensors.length, sizes.tensor),
    segments: table(t.segments.length, sizes.segment),
    records: table(t.records.length, sizes.record),
    operands: table(operandCount, 4),
    ranges: table(rangeCount, sizes.range),
    extents: table(t.extents.length, sizes.extent),
    ports: table(t.ports.length, sizes.port),
    params: table(params.bytes.length, 1),
    names: table(names.bytes.length, 1),
  }
  const bytes = new Uint8Array(new ArrayBuffer(end))
  const view = new DataView(bytes.buffer)
  const writer = new Writer(view)
  writer.at(0).u32(magic).u32(version).u32(digest).u32(t.fences).u64(end)
  for (const { count, offset } of Object.values(tables)) writer.u32(count).u32(offset)
  writeSlots(writer.at(tables.slots.offset), t.slots)
  writeTensors(writer.at(tables.tensors.offset), t.tensors)
  writer.at(tables.segments.offset)
  for (const s of t.segments) {
    writer.u32(segmentKinds[s.kind]).u32(s.device).u32(s.first).u32(s.count)
    writer.u32(s.a).u32(s.b).u64(s.value)
  }
  writeRecords(writer, t.records, tables, params.offsets, names.offsets)
  writer.at(tables.extents.offset)
  for (const max of t.extents) writer.u32(max).u32(0)
  writer.at(tables.ports.offset)
  for (const p of t.ports) {
    const { offset, size } = names.offsets.get(p.name)!
    writer
      .u32(p.tensor)
      .u32(p.kind === 'input' ? 0 : 1)
      .u32(offset)
      .u32(size)
  }
  bytes.set(params.bytes, tables.params.offset)
  bytes.set(names.bytes, tables.names.offset)
  return bytes
}

class Writer {
  private readonly view: DataView
  private offset = 0

  constructor(view: DataView) {
    this.view = view
  }

  at(offset: number): this {
    this.offset = offset
    return this
  }

  u8(value: number): this {
    this.view.setUint8(this.offset, value)
    this.offset += 1
    return this
  }

  u16(value: number): this {
    this.view.setUint16(this.offset, value, true)
    this.offset += 2
    return this
  }

  u32(value: number): this {
    this.view.setUint32(this.offset, value, true)
    this.offset += 4
    return this
  }

  /** A whole number below 2^53. */
  u64(value: number): this {
    this.view.setUint32(this.offset, value >>> 0, true)
    this.view.setUint32(this.offset + 4, Math.floor(value / 2 ** 32), true)
    this.offset += 8
    return this
  }

  skip(bytes: number): this {
    this.offset += bytes
    return this
  }
}

const writeSlots = (writer: Writer, slots: readonly SlotRow[]) => {
  for (const s of slots) {
    writer.u64(s.size).u32(s.device).u8(s.bufferType).u8(s.access).u8(lifetimes[s.lifetime]).skip(9)
  }
}

const writeTensors = (writer: Writer, tensors: readonly TensorRow[]) => {
  for (const t of tensors) {
    writer.u32(t.slot).u16(t.dtype).u16(0).u64(t.offset)
    for (const n of t.ne) writer.u64(n)
    for (const n of t.nb) writer.u64(n)
    writer.u16(t.extent).u16(t.extentDim).u32(t.extentMultiple)
  }
}

const writeRecords = (
  writer: Writer,
  records: readonly RecordRow[],
  tables: Record<'records' | 'operands' | 'ranges', { offset: number }>,
  params: readonly number[],
  names: ReadonlyMap<string, { offset: number; size: number }>,
) => {
  let operand = 0
  let range = 0
  for (const [i, r] of records.entries()) {
    const { offset, size } = names.get(r.name)!
    writer.at(tables.records.offset + i * sizes.record)
    writer.u16(r.op).u16(0).u32(params[i]!).u32(r.params.length).u32(operand)
    writer.u16(r.sources.length).u16(r.outputs.length).u32(r.scratch)
    writer.u32(range).u32(r.ranges.length).u32(offset).u32(size)
    writer.at(tables.operands.offset + operand * 4)
    for (const index of [...r.sources, ...r.outputs]) writer.u32(index)
    writer.at(tables.ranges.offset + range * sizes.range)
    for (const g of r.ranges)
      writer
        .u32(g.slot)
        .u32(g.write ? 1 : 0)
        .u64(g.begin)
        .u64(g.end)
    operand += r.sources.length + r.outputs.length
    range += r.ranges.length
  }
}

/** Every distinct name once. */
const nameTable = (names: readonly string[]) => {
  const encoder = new TextEncoder()
  const offsets = new Map<string, { offset: number; size: number }>()
  const parts: Uint8Array[] = []
  let end = 0
  for (const name of names) {
    if (offsets.has(name)) continue
    const part = encoder.encode(name)
    offsets.set(name, { offset: end, size: part.length })
    parts.push(part)
    end += part.length
  }
  return { offsets, bytes: concatenate(parts, end) }
}

/** Equal params lie there once. */
const paramsTable = (records: readonly RecordRow[]) => {
  const known = new Map<string, number>()
  const parts: Uint8Array[] = []
  let end = 0
  const offsets = records.map(({ params }) => {
    const key = params.join()
    const found = known.get(key)
    if (found !== undefined) return found
    const offset = end
    known.set(key, offset)
    parts.push(params)
    end += params.length
    return offset
  })
  return { offsets, bytes: concatenate(parts, end) }
}

const concatenate = (parts: readonly Uint8Array[], size: number): Uint8Array => {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
