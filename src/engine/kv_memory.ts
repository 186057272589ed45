// The cache's memory on a device: keys and values of every layer, and the position of each cell.
import type { DeviceBuffer } from '../device/buffer.ts'
import type { Device } from '../device/device.ts'
import type { Graph } from '../graph/graph.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { DecoderConfig } from '../models/architecture.ts'
import { type DType, rowBytes } from '../native/dtype.ts'
import type { CacheLayer } from '../nn/batch.ts'
import type { CellCopy } from './kv_cache.ts'

/** Types that keys and values can be kept in. */
export type KvType = Extract<DType, 'f32' | 'f16'>

const alignment = 64

/** One buffer: for each layer keys then values, then the positions. */
export class KvMemory implements Disposable {
  readonly cells: number
  readonly buffer: DeviceBuffer
  private readonly config: DecoderConfig
  private readonly type: KvType
  private readonly keyBytes: number
  private readonly valueBytes: number

  /** Throws OutOfMemoryError. */
  constructor(device: Device, config: DecoderConfig, cells: number, type: KvType) {
    this.cells = cells
    this.config = config
    this.type = type
    this.keyBytes = align(cells * rowBytes(type, config.kvHeads * config.keyDim))
    this.valueBytes = align(cells * rowBytes(type, config.kvHeads * config.valueDim))
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
    const state = (offset: number, size: number) =>
      graph.state(this.buffer, offset, this.type, [this.cells, size])
    return {
      keys: state(this.keysOffset(index), kvHeads * keyDim),
      values: state(this.valuesOffset(index), kvHeads * valueDim),
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
    const keyRow = rowBytes(this.type, this.config.kvHeads * this.config.keyDim)
    const valueRow = rowBytes(this.type, this.config.kvHeads * this.config.valueDim)
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
