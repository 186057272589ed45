// What one run of a model is about: rows of tokens, and the paged cache they see and extend.
import type { Dim } from '../graph/dims.ts'
import type { Tensor } from '../graph/tensor.ts'

/** The run's rows; every tensor is data, so one program serves every step of its bucket. */
export interface Batch {
  readonly rows: Dim
  readonly tokens: Tensor // i32 [rows]
  readonly positions: Tensor // i32 [rows]
  /** Which rows' results are wanted. */
  readonly outputRows: Tensor // i32 [outputs]
  readonly cache: Cache
}

export interface CacheAttention {
  /** Factor on q k, usually 1 / sqrt(head_dim). */
  scale: number
  /** Keys further back are not seen; 0 is no window. */
  window?: number
  softcap?: number
}

/** One layer's keys and values. */
export interface CacheLayer {
  readonly keys: Tensor // [cells, kv_heads * key_dim]
  readonly values: Tensor // [cells, kv_heads * value_dim]
}

/** Tensors of the paged cache; zig/ops.zig says what attention makes of them. */
export interface CacheTensors {
  readonly blockSize: number
  readonly layers: readonly CacheLayer[]
  readonly cells: Tensor // i32 [rows]: where the batch's rows go
  readonly cellPositions: Tensor // i32 [cells], with those of this batch
  readonly rowPositions: Tensor // i32 [rows]
  readonly rowSequences: Tensor // i32 [rows]
  readonly lengths: Tensor // i32 [sequences]
  readonly blockTable: Tensor // i32 [sequences, blocks]
}

/** The cache as a model's attention uses it. */
export class Cache {
  private readonly tensors: CacheTensors

  constructor(tensors: CacheTensors) {
    this.tensors = tensors
  }

  /**
   * Adds keys and values of the batch's rows to layer `index`, then attends. Shapes are
   * [rows, heads, dim] for queries and [rows, kv_heads * dim] for keys and values; the result is
   * [rows, heads, value_dim].
   */
  attend(index: number, q: Tensor, k: Tensor, v: Tensor, options: CacheAttention): Tensor {
    const t = this.tensors
    const layer = t.layers[index]!
    return q.attention(
      {
        keys: layer.keys.setRows(k, t.cells),
        values: layer.values.setRows(v, t.cells),
        cellPositions: t.cellPositions,
        rowPositions: t.rowPositions,
        rowSequences: t.rowSequences,
        lengths: t.lengths,
        blockTable: t.blockTable,
      },
      {
        scale: options.scale,
        blockSize: t.blockSize,
        window: options.window ?? 0,
        softcap: options.softcap ?? 0,
      },
    )
  }
}
