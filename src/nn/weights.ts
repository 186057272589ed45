// Named weights of a model, as layers ask for them.
import type { DeviceBuffer } from '../device/buffer.ts'
import { UnsupportedModelError } from '../errors/index.ts'
import type { Graph } from '../graph/graph.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { DType } from '../native/dtype.ts'

/** Where a weight lies, and what it is. */
export interface StoredTensor {
  readonly dtype: DType
  /** Outermost first. */
  readonly shape: readonly number[]
  readonly buffer: DeviceBuffer
  /** Bytes from the buffer's start. */
  readonly offset: number
}

/** The weights whose names start with a prefix, as tensors of one graph. */
export class Weights {
  private readonly graph: Graph
  private readonly stored: ReadonlyMap<string, StoredTensor>
  private readonly prefix: string

  constructor(graph: Graph, stored: ReadonlyMap<string, StoredTensor>, prefix = '') {
    this.graph = graph
    this.stored = stored
    this.prefix = prefix
  }

  /** Weights below `name`: `at('blk.0')` holds `blk.0.attn_q` and so on. */
  at(name: string): Weights {
    return new Weights(this.graph, this.stored, `${this.prefix}${name}.`)
  }

  has(name: string): boolean {
    return this.stored.has(this.prefix + name)
  }

  /**
   * The tensor of this name. Throws UnsupportedModelError when it is missing or has another shape.
   */
  get(name: string, shape: readonly number[]): Tensor {
    const full = this.prefix + name
    const found = this.stored.get(full)
    if (found === undefined) {
      throw new UnsupportedModelError(
        full,
        undefined,
        `the file has no such tensor, ${list(shape)}`,
      )
    }
    // Files drop outer dimensions of size 1, so [1, 64] and [64] are the same.
    if (trimmed(found.shape) !== trimmed(shape)) {
      throw new UnsupportedModelError(
        full,
        found.shape,
        `its shape is ${list(found.shape)}, ${list(shape)} is needed`,
      )
    }
    return this.graph.weight(found.buffer, found.offset, found.dtype, shape)
  }

  /** The tensor of this name, or undefined when the file has none. */
  find(name: string, shape: readonly number[]): Tensor | undefined {
    return this.has(name) ? this.get(name, shape) : undefined
  }
}

const list = (shape: readonly number[]) => `[${shape.join(', ')}]`

const trimmed = (shape: readonly number[]) => {
  const first = shape.findIndex((n) => n !== 1)
  return (first < 0 ? [1] : shape.slice(first)).join()
}
