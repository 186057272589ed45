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

/** scale * b a is added to a weight. */
export interface Adapter {
  readonly a: Tensor // [rank, inputs]
  readonly b: Tensor // [outputs, rank]
  readonly scale: Tensor // [1]
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

  /** The low-rank adapters of a weight [outputs, inputs], in the order they are added. */
  adapters(name: string): Adapter[] {
    const found: Adapter[] = []
    for (let index = 0; ; index++) {
      const part = (which: 'a' | 'b' | 'scale') => {
        const full = adapterName(this.prefix + name, index, which)
        const stored = this.stored.get(full)
        return stored && this.graph.weight(stored.buffer, stored.offset, stored.dtype, stored.shape)
      }
      const [a, b, scale] = [part('a'), part('b'), part('scale')]
      if (a === undefined || b === undefined || scale === undefined) return found
      found.push({ a, b, scale })
    }
  }

  /** The tensor of this name, or undefined when the file has none. */
  find(name: string, shape: readonly number[]): Tensor | undefined {
    return this.has(name) ? this.get(name, shape) : undefined
  }
}

/** Where the parts of a weight's adapter number `index` stand. */
export const adapterName = (weight: string, index: number, part: 'a' | 'b' | 'scale'): string =>
  `${weight}.adapter.${index}.${part}`

const list = (shape: readonly number[]) => `[${shape.join(', ')}]`

const trimmed = (shape: readonly number[]) => {
  const first = shape.findIndex((n) => n !== 1)
  return (first < 0 ? [1] : shape.slice(first)).join()
}
