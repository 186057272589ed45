// Programs: compiled graphs, run any number of times with one native call each.
import { DisposedError, LeavenError } from '../errors/index.ts'
import type { DType } from '../native/dtype.ts'
import { openWindow } from '../native/memory.ts'
import {
  createProgram,
  type NativeBinding,
  releaseProgram,
  runProgram,
  updateProgram,
} from '../native/programs.ts'
import type { Arena } from './arena.ts'
import type { DeviceBuffer } from './buffer.ts'
import { Owned } from './owned.ts'
import type { Queue } from './queue.ts'

/** Where a named input or output lies. `offset` and `bytes` count from its slot's start. */
export interface Port {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly offset: number
  readonly bytes: number
  /** The extent that the shape follows, and the bytes that each of it adds. */
  readonly extent: { readonly index: number; readonly bytesEach: number } | undefined
}

/** What the compiler tells of an image. */
export interface ProgramLayout {
  readonly image: Uint8Array
  readonly recordCount: number
  readonly inputBytes: number
  readonly inputs: readonly Port[]
  readonly outputs: readonly Port[]
  readonly extents: readonly { readonly name: string; readonly max: number }[]
  /** Slot -1: the program has no intermediate values. */
  readonly arena: { readonly slot: number; readonly bytes: number }
  readonly homes: readonly { readonly slot: number; readonly buffer: DeviceBuffer }[]
}

export interface RunOptions {
  signal?: AbortSignal | undefined
  /** Sizes for this run and those after it, each within its maximum. */
  extents?: Readonly<Record<string, number>> | undefined
}

/** Outputs that lie in the program's own memory until `release()`; until then nothing else runs. */
export interface Lease extends Disposable {
  /** Nanoseconds of the run on the queue's thread. */
  readonly nanoseconds: number
  /** A view of an output, without a copy; its length becomes 0 at `release()`. */
  view(name: string): Float32Array<ArrayBuffer>
  release(): void
}

export type InputData = ArrayBufferView

/** Where a program runs. */
export interface ProgramPlace {
  queue: Queue
  arena: Arena
  /** 0 is one per processor. */
  threads?: number | undefined
  /** What is disposed of with the program. */
  owned?: readonly Disposable[]
}

/** Bytes of one element, of the dtypes that inputs can have. */
const elementBytes: Partial<Record<DType, number>> = { f32: 4, i32: 4, u32: 4, u8: 1, i8: 1 }

export class Program extends Owned {
  readonly layout: ProgramLayout
  private readonly queue: Queue
  private readonly arena: Arena
  private readonly owned: readonly Disposable[]
  private bound: DeviceBuffer | undefined
  private readonly staging: Uint8Array<ArrayBuffer>
  private readonly extentValues: Uint32Array<ArrayBuffer>

  /** Checks and prepares `layout` natively. */
  constructor(layout: ProgramLayout, { queue, arena, threads = 0, owned = [] }: ProgramPlace) {
    super('program', createProgram(layout.image, threads), releaseProgram)
    this.layout = layout
    this.queue = queue
    this.arena = arena
    this.owned = owned
    this.staging = new Uint8Array(new ArrayBuffer(layout.inputBytes))
    this.extentValues = new Uint32Array(layout.extents.map(({ max }) => max))
    const homes = layout.homes.map(({ slot, buffer }) => ({
      slot,
      buffer: buffer.handle,
      offset: 0,
    }))
    try {
      updateProgram(this.handle, homes, new Uint32Array(0))
    } catch (error) {
      this.dispose()
      throw error
    }
  }

  /** Bytes of intermediate values and outputs. */
  get peakBytes(): number {
    return this.layout.arena.bytes
  }

  /**
   * Where an input's bytes are taken from at the next run: fill it instead of passing data. What
   * was written stays for later runs.
   */
  input(name: string): Int32Array<ArrayBuffer> {
    const port = this.port(this.layout.inputs, name)
    return new Int32Array(this.staging.buffer, port.offset, port.bytes / 4)
  }

  /**
   * Runs with `inputs` by name and gives a copy of every output. Rejects with the signal's reason
   * when aborted: what had been written to state tensors is then undefined.
   */
  async run(
    inputs: Readonly<Record<string, InputData>> = {},
    options: RunOptions = {},
  ): Promise<Record<string, Float32Array<ArrayBuffer>>> {
    const lease = await this.lease(inputs, options)
    try {
      return this.copies()
    } finally {
      lease.release()
    }
  }

  /** Like `run`, on this thread, which waits. */
  runSync(
    inputs: Readonly<Record<string, InputData>> = {},
    options: Pick<RunOptions, 'extents'> = {},
  ): Record<string, Float32Array<ArrayBuffer>> {
    const end = this.arena.tryTake()
    if (end === undefined) throw new LeavenError('BUSY', 'the program is running')
    try {
      this.stage(inputs, options)
      runProgram(this.handle, this.staging)
      return this.copies()
    } finally {
      end()
    }
  }

  /** Runs and lends the outputs where they lie. */
  async lease(
    inputs: Readonly<Record<string, InputData>> = {},
    options: RunOptions = {},
  ): Promise<Lease> {
    options.signal?.throwIfAborted()
    const end = this.arena.tryTake() ?? (await this.arena.take())
    try {
      options.signal?.throwIfAborted()
      this.stage(inputs, options)
      const nanoseconds = await this.queue.run(this.handle, this.staging, {
        signal: options.signal,
      })
      return this.lend(nanoseconds, end)
    } catch (error) {
      end()
      throw error
    }
  }

  override dispose(): void {
    super.dispose()
    for (const part of this.owned) part[Symbol.dispose]()
  }

  private lend(nanoseconds: number, end: () => void): Lease {
    const windows: ArrayBuffer[] = []
    const release = () => {
      for (const window of windows) window.transfer(0)
      windows.length = 0
      end()
    }
    return {
      nanoseconds,
      view: (name) => {
        const { offset, bytes } = this.extentOf(this.port(this.layout.outputs, name))
        const window = openWindow(this.arena.buffer!.handle, offset, bytes, 'output')
        windows.push(window)
        return new Float32Array(window)
      },
      release,
      [Symbol.dispose]: release,
    }
  }

  private copies(): Record<string, Float32Array<ArrayBuffer>> {
    const results: Record<string, Float32Array<ArrayBuffer>> = {}
    for (const port of this.layout.outputs) {
      const { offset, bytes } = this.extentOf(port)
      const copy = new Float32Array(bytes / 4)
      if (bytes > 0) this.arena.buffer!.getInto(copy, offset)
      results[port.name] = copy
    }
    return results
  }

  /** The part of a port that this run's extents fill. */
  private extentOf(port: Port): { offset: number; bytes: number } {
    if (port.extent === undefined) return port
    const value = this.extentValues[port.extent.index]!
    return { offset: port.offset, bytes: value * port.extent.bytesEach }
  }

  private stage(inputs: Readonly<Record<string, InputData>>, options: RunOptions) {
    if (this.disposed) throw new DisposedError('program')
    this.applyExtents(options.extents)
    this.bindArena()
    for (const [name, data] of Object.entries(inputs)) {
      const port = this.port(this.layout.inputs, name)
      const { bytes } = this.extentOf(port)
      if (!ArrayBuffer.isView(data)) throw new TypeError(`input '${name}' must be a typed array`)
      if (data.byteLength !== bytes) {
        const size = elementBytes[port.dtype] ?? 1
        throw new RangeError(
          `input '${name}' has ${data.byteLength / size} elements, ${bytes / size} are needed`,
        )
      }
      const source = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      this.staging.set(source, port.offset)
    }
  }

  private applyExtents(values: RunOptions['extents']) {
    if (values === undefined) return
    let changed = false
    const next = this.extentValues.slice()
    for (const [i, { name, max }] of this.layout.extents.entries()) {
      const value = values[name]
      if (value === undefined || value === next[i]) continue
      if (!Number.isSafeInteger(value) || value < 0 || value > max) {
        throw new RangeError(`extent '${name}' is ${value} of at most ${max}`)
      }
      next[i] = value
      changed = true
    }
    if (!changed) return
    updateProgram(this.handle, [], next)
    this.extentValues.set(next)
  }

  private bindArena() {
    const { slot, bytes } = this.layout.arena
    if (slot < 0) return
    this.arena.reserve(bytes)
    const buffer = this.arena.buffer!
    if (buffer === this.bound) return
    const binding: NativeBinding = { slot, buffer: buffer.handle, offset: 0 }
    updateProgram(this.handle, [binding], new Uint32Array(0))
    this.bound = buffer
  }

  private port(ports: readonly Port[], name: string): Port {
    const port = ports.find((p) => p.name === name)
    if (port !== undefined) return port
    const names = ports.map((p) => `'${p.name}'`).join(', ')
    throw new RangeError(`there is no '${name}' here, only ${names || 'nothing'}`)
  }
}
