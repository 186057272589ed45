// The cache's memory on a device: keys and values of every layer, and the position of each cell.
import type { DeviceBuffer } from '../device/buffer.ts'
import type { Device } from '../device/device.ts'
import type { Graph } from '../graph/graph.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { DecoderConfig } from '../models/architecture.ts'
import { rowBytes } from '../native/dtype.ts'
import type { CacheLayer } from '../nn/batch.ts'
import type { CellCopy } from './kv_cache.ts'

/** Types that keys and values can be kept in. */
export const kvTypes = ['f32', 'f16', 'bf16', 'q8_0', 'q4_0'] as const
export type KvType = (typeof kvTypes)[number]

/** How keys and how values are kept. */
export interface KvTypes {
  readonly keys: KvType
  readonly values: KvType
}

const alignment = 64

/** One buffer: for each layer keys then values, then the positions. */
export class KvMemory implements Disposable {
  readonly cells: number
  readonly buffer: DeviceBuffer
  private readonly config: DecoderConfig
  private readonly types: KvTypes
  private readonly keyBytes: number
  private readonly valueBytes: number

  /** Throws OutOfMemoryError, or RangeError when a head is no whole number of the type's blocks. */
  constructor(device: Device, config: DecoderConfig, cells: number, types: KvTypes) {
    checkHead('keys', types.keys, config.keyDim)
    checkHead('values', types.values, config.valueDim)
    this.cells = cells
    this.config = config
    this.types = types
    this.keyBytes = align(cells * this.keyRow)
    this.valueBytes = align(cells * this.valueRow)
    const size = this.positionsOffset + cells * 4
    this.buffer = device.createBuffer({ size, usage: 'state' })
    this.buffer.fill(0xff, this.positionsOffset, cells * 4) // -1: every cell is empty
  }

  get bytes(): number {
    return this.buffer.size
  }

  /** Layer `index`'s keys and values in `graph`: [cells, size]. */
  layer(graph: Graph, index: number): CacheLayer {
    const { kvHeads, keyDim, valueDim } = this.config
    const { keys, values } = this.types
    const state = (offset: number, type: KvType, size: number) =>
      graph.state(this.buffer, offset, type, [this.cells, size])
    return {
      keys: state(this.keysOffset(index), keys, kvHeads * keyDim),
      values: state(this.valuesOffset(index), values, kvHeads * valueDim),
    }
  }

  /** Positions of cells in `graph`, as a table of one column: [cells, 1]. */
  positions(graph: Graph): Tensor {
    return graph.state(this.buffer, this.positionsOffset, 'i32', [this.cells, 1])
  }

  /** Sets the position of one cell, at once. */
  setPosition(cell: number, position: number): void {
    this.buffer.set(Int32Array.of(position), this.positionsOffset + cell * 4)
  }

  /** The byte ranges that a copy of cells moves, in every layer. */
  *moves({ from, to, count }: CellCopy): Generator<{ from: number; to: number; size: number }> {
    const { keyRow, valueRow } = this
    for (let i = 0; i < this.config.layers; i++) {
      for (const [start, row] of [
        [this.keysOffset(i), keyRow],
        [this.valuesOffset(i), valueRow],
      ] as const) {
        yield { from: start + from * row, to: start + to * row, size: count * row }
      }
    }
  }

  dispose(): void {
    this.buffer.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  private get keyRow(): number {
    return rowBytes(this.types.keys, this.config.kvHeads * this.config.keyDim)
  }

  private get valueRow(): number {
    return rowBytes(this.types.values, this.config.kvHeads * this.config.valueDim)
  }

  private keysOffset(layer: number): number {
    return layer * (this.keyBytes + this.valueBytes)
  }

  private valuesOffset(layer: number): number {
    return this.keysOffset(layer) + this.keyBytes
  }

  private get positionsOffset(): number {
    return this.keysOffset(this.config.layers)
  }
}

const align = (bytes: number): number => Math.ceil(bytes / alignment) * alignment

/** Attention reads heads one by one, so each must be whole blocks. */
const checkHead = (what: string, type: KvType, size: number) => {
  if (!Number.isNaN(rowBytes(type, size))) return
  throw new RangeError(`${what} of ${size} values a head cannot be kept as ${type}`)
}
