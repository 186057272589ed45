// A context: sequences in a cache, and the programs that extend them.
import { Arena } from '../device/arena.ts'
import type { Device } from '../device/device.ts'
import type { Lease, Program } from '../device/program.ts'
import type { Queue } from '../device/queue.ts'
import { DisposedError } from '../errors/index.ts'
import { compileAsync } from '../graph/compile.ts'
import { Graph } from '../graph/graph.ts'
import { inTurns } from '../graph/turns.ts'
import type { Architecture, DecoderConfig } from '../models/architecture.ts'
import { Cache } from '../nn/batch.ts'
import { rotationOnly } from '../nn/rope.ts'
import { type StoredTensor, Weights } from '../nn/weights.ts'
import { Buckets, type ProgramKind } from './buckets.ts'
import { type Edit, KvCache, type KvRow } from './kv_cache.ts'
import { KvMemory, type KvTypes } from './kv_memory.ts'

/**
 * Cells of a block: a block of one layer's keys is then some KiB, and little is wasted at the end.
 */
const blockSize = 32

/** What a context needs to know of a loaded model. */
export interface ContextModel {
  readonly device: Device
  readonly architecture: Architecture
  readonly config: DecoderConfig
  readonly weights: ReadonlyMap<string, StoredTensor>
}

export interface ContextOptions {
  /** Tokens that all sequences together can hold. */
  size: number
  /** Most rows of one run. */
  batchSize: number
  sequences?: number
  kv?: KvTypes
  threads?: number | undefined
}

/** A row of a batch, and whether its result is wanted. */
export interface Row extends KvRow {
  token: number
  output: boolean
}

export interface DecodeOptions {
  signal?: AbortSignal | undefined
  /** `hidden` gives the normalised states before the output projection. */
  kind?: 'logits' | 'hidden'
}

/** Results of the wanted rows, in their order; a view that ends at `release()`. */
export interface Decoded extends Disposable {
  readonly values: Float32Array
  /** Values of one row: the vocabulary's size, or the model's width. */
  readonly width: number
  release(): void
}

/** One caller at a time: steps wait for the one before. */
export class Context implements Disposable {
  readonly cache: KvCache
  readonly size: number
  readonly batchSize: number
  private readonly model: ContextModel
  private readonly memory: KvMemory
  private readonly queue: Queue
  private readonly arena: Arena
  private readonly buckets: Buckets
  private readonly sequences: readonly number[]
  private readonly threads: number | undefined
  private disposed = false
  private last: Promise<unknown> | undefined

  /** Throws OutOfMemoryError. */
  constructor(model: ContextModel, options: ContextOptions) {
    const sequences = options.sequences ?? 1
    const blockCount = Math.ceil(options.size / blockSize) + sequences - 1
    this.model = model
    this.size = options.size
    this.batchSize = Math.min(options.batchSize, options.size)
    this.threads = options.threads
    this.sequences = Array.from({ length: sequences }, (_, i) => i)
    this.cache = new KvCache({ blockSize, blockCount, sequenceCount: sequences })
    const cells = blockCount * blockSize
    this.memory = new KvMemory(
      model.device,
      model.config,
      cells,
      options.kv ?? { keys: 'f16', values: 'f16' },
    )
    this.queue = model.device.createQueue()
    this.arena = new Arena(model.device)
    this.buckets = new Buckets(this.batchSize, (kind, rows, outputs) =>
      this.compile(kind, rows, outputs),
    )
  }

  /** Bytes of the cache and of intermediate values. */
  get bytes(): { cache: number; compute: number } {
    return { cache: this.memory.bytes, compute: this.arena.bytes }
  }

  get compileCount(): number {
    return this.buckets.compileCount
  }

  /**
   * Runs a batch of at most `batchSize` rows and adds them to their sequences. On failure or abort
   * everything is as before. Throws ContextOverflowError before anything is run.
   */
  decode(rows: readonly Row[], options: DecodeOptions = {}): Promise<Decoded> {
    return this.exclusive(() => this.decodeNow(rows, options))
  }

  /** Copies positions [p0, p1) of one sequence into another; p1 < 0 is the end. */
  copy(from: number, to: number, p0 = 0, p1 = -1): Promise<void> {
    return this.exclusive(() => this.apply(this.cache.copy(from, to, p0, p1)))
  }

  /** Removes positions [p0, p1) of a sequence, or of all when it is negative. */
  remove(sequence: number, p0 = 0, p1 = -1): Promise<void> {
    return this.exclusive(() => this.apply(this.cache.remove(sequence, p0, p1)))
  }

  /** Adds `delta` to positions [p0, p1) of a sequence; cached keys are rotated accordingly. */
  shift(sequence: number, p0: number, p1: number, delta: number): Promise<void> {
    return this.exclusive(() => this.apply(this.cache.shift(sequence, p0, p1, delta)))
  }

  clear(): Promise<void> {
    return this.exclusive(() => this.apply(this.cache.clear()))
  }

  dispose(): void {
    if (this.disposed) return
    this.disposed = true
    this.buckets.dispose()
    this.arena.dispose()
    this.memory.dispose()
    this.queue.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  private exclusive<T>(body: () => Promise<T>): Promise<T> {
    const before = this.last
    const run = before === undefined ? body() : before.then(body, body)
    const settled = run.then(ignore, ignore).then(() => {
      if (this.last === settled) this.last = undefined
    })
    this.last = settled
    return run
  }

  private async decodeNow(rows: readonly Row[], options: DecodeOptions): Promise<Decoded> {
    if (this.disposed) throw new DisposedError('context')
    options.signal?.throwIfAborted()
    if (rows.length === 0 || rows.length > this.batchSize) {
      throw new RangeError(`${rows.length} rows in a batch of 1 to ${this.batchSize}`)
    }
    const kind = options.kind ?? 'logits'
    const outputs = rows.reduce((count, row) => count + (row.output ? 1 : 0), 0)
    const found = this.buckets.get(kind, rows.length, outputs)
    const program = found instanceof Promise ? await found : found
    const step = this.cache.begin(rows)
    let lease: Lease
    try {
      await this.apply(step)
      this.fill(program, rows, step.cells)
      lease = await program.lease(
        {},
        { signal: options.signal, extents: { rows: rows.length, outputs } },
      )
    } catch (error) {
      const edit = step.rollback()
      if (!this.disposed) await this.apply(edit)
      throw error
    }
    step.commit()
    const width = kind === 'logits' ? this.model.config.vocabulary : this.model.config.size
    const release = () => lease.release()
    return { values: lease.view(kind), width, release, [Symbol.dispose]: release }
  }

  private fill(program: Program, rows: readonly Row[], cells: Int32Array): void {
    const tokens = program.input('tokens')
    const positions = program.input('positions')
    const sequences = program.input('row_sequences')
    const outputRows = program.input('output_rows')
    let output = 0
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!
      tokens[i] = row.token
      positions[i] = row.position
      sequences[i] = row.sequence
      if (row.output) outputRows[output++] = i
    }
    program.input('cells').set(cells)
    const lengths = program.input('lengths')
    for (const sequence of this.sequences) lengths[sequence] = this.cache.length(sequence)
    this.cache.fillTable(this.sequences, program.input('block_table'), this.cache.blockCount)
  }

  /** Carries out what the bookkeeping has decided. */
  private async apply(edit: Edit): Promise<void> {
    const { buffer } = this.memory
    for (const copy of edit.copies) {
      for (const { from, to, size } of this.memory.moves(copy)) {
        await this.queue.copy({ buffer, offset: from }, { buffer, offset: to }, size)
      }
    }
    for (const { cell, position } of edit.positions) this.memory.setPosition(cell, position)
    for (let at = 0; at < edit.rotations.length; at += this.batchSize) {
      const part = edit.rotations.slice(at, at + this.batchSize)
      const program = await this.buckets.get('rotate', part.length, part.length)
      const cells = program.input('cells')
      const deltas = program.input('deltas')
      for (const [i, { cell, delta }] of part.entries()) {
        cells[i] = cell
        deltas[i] = delta
      }
      const lease = await program.lease({}, { extents: { rows: part.length } })
      lease.release()
    }
  }

  private async compile(kind: ProgramKind, rows: number, outputs: number): Promise<Program> {
    const building = kind === 'rotate' ? this.rotation(rows) : this.step(kind, rows, outputs)
    const graph = await inTurns(building)
    const { queue, arena, threads } = this
    return compileAsync(graph, { queue, arena, ...(threads === undefined ? {} : { threads }) })
  }

  private *step(
    kind: 'logits' | 'hidden',
    rowsMax: number,
    outputsMax: number,
  ): Generator<void, Graph> {
    const { architecture, config, weights } = this.model
    const g = new Graph()
    const rows = g.extent('rows', rowsMax)
    const outputs = g.extent('outputs', outputsMax)
    const positions = g.input('positions', 'i32', [rows])
    const cells = g.input('cells', 'i32', [rows])
    const cellPositions = this.memory
      .positions(g)
      .setRows(positions.reshape([rows, 1]), cells)
      .reshape([this.memory.cells])
    const cache = new Cache({
      blockSize,
      layers: Array.from({ length: config.layers }, (_, i) => this.memory.layer(g, i)),
      cells,
      cellPositions,
      rowPositions: positions,
      rowSequences: g.input('row_sequences', 'i32', [rows]),
      lengths: g.input('lengths', 'i32', [this.sequences.length]),
      blockTable: g.input('block_table', 'i32', [this.sequences.length, this.cache.blockCount]),
    })
    const model = architecture.build(config, new Weights(g, weights))
    const tokens = g.input('tokens', 'i32', [rows])
    const outputRows = g.input('output_rows', 'i32', [outputs])
    const batch = { rows, tokens, positions, outputRows, cache }
    let x = model.embed(batch)
    for (const block of model.blocks) {
      yield
      x = block(x, batch)
    }
    const hidden = model.hidden(x, batch)
    g.output(kind, kind === 'hidden' ? hidden : model.logits(hidden))
    return g
  }

  /** Rotates the cached keys of some cells by `deltas` positions, in every layer. */
  private *rotation(rowsMax: number): Generator<void, Graph> {
    const { architecture, config, weights } = this.model
    const g = new Graph()
    const rows = g.extent('rows', rowsMax)
    const cells = g.input('cells', 'i32', [rows])
    const deltas = g.input('deltas', 'i32', [rows])
    const factors = architecture.build(config, new Weights(g, weights)).frequencyFactors
    for (let i = 0; i < config.layers; i++) {
      yield
      const { keys } = this.memory.layer(g, i)
      const rotated = keys
        .getRows(cells)
        .reshape([rows, config.kvHeads, config.keyDim])
        .rope(deltas, rotationOnly(config.rope), factors)
      keys.setRows(rotated.reshape([rows, config.kvHeads * config.keyDim]), cells)
    }
    return g
  }
}

const ignore = () => {}
