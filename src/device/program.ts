// Programs: compiled graphs, run any number of times with one native call each.
import { checkObject, checkSignal, checkString, shown } from '../errors/arguments.ts'
import { DisposedError, LeavenError } from '../errors/index.ts'
import { createProgram, releaseProgram, runProgram, updateProgram } from '../native/programs.ts'
import type { Arena } from './arena.ts'
import type { DeviceBuffer } from './buffer.ts'
import { type Lease, OutputLease } from './lease.ts'
import { Owned } from './owned.ts'
import { bytesAt, copyOf, type InputData, type Inputs, inputBytes, type Port } from './port.ts'
import type { Queue } from './queue.ts'

export type { InputData, Inputs, Lease, Port }

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

export type Outputs = Record<string, Float32Array<ArrayBuffer>>

/** Where a program runs. */
export interface ProgramPlace {
  queue: Queue
  arena: Arena
  /** 0 is one per processor. */
  threads?: number | undefined
  /** What is disposed of with the program. */
  owned?: readonly Disposable[]
}

const noInputs: Inputs = {}
const noOptions: RunOptions = {}
const noExtents = new Uint32Array(0)

/**
 * A graph that a device can run. Runs of programs that share an arena take turns. Disposing of a
 * program ends its runs, which reject with DisposedError.
 */
export class Program extends Owned {
  readonly layout: ProgramLayout
  private readonly queue: Queue
  private readonly arena: Arena
  private readonly owned: readonly Disposable[]
  /** The arena's buffer that the program knows. */
  private bound: DeviceBuffer | undefined
  private readonly staging: Uint8Array<ArrayBuffer>
  private readonly extentValues: Uint32Array<ArrayBuffer>
  /** An output that `run` cannot give as numbers. */
  private readonly raw: Port | undefined

  /** Checks and prepares `layout` natively. */
  constructor(layout: ProgramLayout, { queue, arena, threads = 0, owned = [] }: ProgramPlace) {
    super('program', createProgram(layout.image, threads), releaseProgram)
    this.layout = layout
    this.queue = queue
    this.arena = arena
    this.owned = owned
    this.staging = new Uint8Array(new ArrayBuffer(layout.inputBytes))
    this.extentValues = new Uint32Array(layout.extents.map(({ max }) => max))
    this.raw = layout.outputs.find(({ dtype }) => dtype !== 'f32')
    try {
      const homes = layout.homes.map(({ slot, buffer }) => {
        return { slot, buffer: buffer.handle, offset: 0 }
      })
      updateProgram(this.handle, homes, noExtents)
    } catch (error) {
      super.dispose()
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
    const { offset, bytes } = this.port(this.layout.inputs, name)
    return new Int32Array(this.staging.buffer, offset, Math.floor(bytes / 4))
  }

  /**
   * Runs with `inputs` by name, as they are at the call, and gives a copy of every output, which
   * must be f32. Rejects with the signal's reason when aborted: what had been written to state
   * tensors is then undefined.
   *
   * ```ts
   * const { output } = await program.run({ x: new Float32Array(4096) })
   * ```
   */
  async run(inputs: Inputs = noInputs, options: RunOptions = noOptions): Promise<Outputs> {
    this.expectNumbers()
    const lease = await this.lease(inputs, options)
    try {
      return this.copies()
    } finally {
      lease.release()
    }
  }

  /** Like `run`, on this thread, which waits. */
  runSync(
    inputs: Inputs = noInputs,
    options: Pick<RunOptions, 'extents'> = noOptions,
  ): Record<string, Float32Array<ArrayBuffer>> {
    checkObject('options', options)
    this.expectAlive()
    this.expectNumbers()
    const end = this.arena.tryTake()
    if (end === undefined) throw new LeavenError('BUSY', 'the program is running')
    try {
      this.stage(inputs, options.extents)
      runProgram(this.handle, this.staging)
      return this.copies()
    } finally {
      end()
    }
  }

  /** Runs and lends the outputs where they lie, in memory of the program's own. */
  async lease(inputs: Inputs = noInputs, options: RunOptions = noOptions): Promise<Lease> {
    checkObject('options', options)
    const { signal } = options
    checkSignal(signal)
    signal?.throwIfAborted()
    this.expectAlive()
    const now = this.arena.tryTake()
    const given = now === undefined ? copyOf(inputs) : inputs
    const extents = now === undefined ? { ...options.extents } : options.extents
    const end = now ?? (await this.arena.take(signal))
    try {
      this.stage(given, extents)
      const nanoseconds = await this.queue.run(this.handle, this.staging, options)
      this.expectAlive()
      return new OutputLease(this.layout.outputs, this.extentValues, this.bound, nanoseconds, end)
    } catch (error) {
      end()
      // The run was cancelled because of it.
      if (!signal?.aborted) this.expectAlive()
      throw error
    }
  }

  override dispose(): void {
    super.dispose()
    for (const part of this.owned) part[Symbol.dispose]()
  }

  private expectAlive() {
    if (this.disposed) throw new DisposedError('program')
  }

  private expectNumbers() {
    if (this.raw === undefined) return
    const { name, dtype } = this.raw
    throw new TypeError(
      `output '${name}' is ${dtype}: cast it to f32, or take lease().bytes('${name}')`,
    )
  }

  private copies(): Outputs {
    const results: Outputs = {}
    for (const port of this.layout.outputs) {
      const copy = new Float32Array(bytesAt(port, this.extentValues) / 4)
      if (copy.length > 0) this.bound!.getInto(copy, port.offset)
      results[port.name] = copy
    }
    return results
  }

  private stage(inputs: Inputs, extents: RunOptions['extents']) {
    this.expectAlive()
    checkObject('inputs', inputs)
    if (extents !== undefined) this.applyExtents(extents)
    this.bindArena()
    for (const name in inputs) {
      const port = this.port(this.layout.inputs, name)
      this.staging.set(inputBytes(port, inputs[name]!, this.extentValues), port.offset)
    }
  }

  private applyExtents(values: Readonly<Record<string, number>>) {
    checkObject('extents', values)
    let next: Uint32Array | undefined
    for (const name in values) {
      const index = this.layout.extents.findIndex((extent) => extent.name === name)
      const max = this.layout.extents[index]?.max
      if (max === undefined) throw new RangeError(`there is no extent '${name}'`)
      const value = values[name]!
      if (!Number.isSafeInteger(value) || value < 0 || value > max) {
        throw new RangeError(`extent '${name}' is ${shown(value)} of at most ${max}`)
      }
      if (value === this.extentValues[index]) continue
      next ??= this.extentValues.slice()
      next[index] = value
    }
    if (next === undefined) return
    updateProgram(this.handle, [], next)
    this.extentValues.set(next)
  }

  private bindArena() {
    const { slot, bytes } = this.layout.arena
    if (slot < 0 || bytes === 0) return
    this.arena.reserve(bytes)
    const buffer = this.arena.buffer!
    if (buffer === this.bound) return
    updateProgram(this.handle, [{ slot, buffer: buffer.handle, offset: 0 }], noExtents)
    this.bound = buffer
  }

  private port(ports: readonly Port[], name: string): Port {
    checkString('name', name)
    for (const port of ports) if (port.name === name) return port
    const names = ports.map((p) => `'${p.name}'`).join(', ')
    throw new RangeError(`there is no '${name}' here, only ${names || 'nothing'}`)
  }
}
