// Leases: outputs of a run where they lie, until they are given back.
import { checkString } from '../errors/arguments.ts'
import { DisposedError } from '../errors/index.ts'
import { openWindow } from '../native/memory.ts'
import type { DeviceBuffer } from './buffer.ts'
import { bytesAt, type Port } from './port.ts'

/** Outputs that lie in the program's own memory until `release()`; until then nothing else runs. */
export interface Lease extends Disposable {
  /** Nanoseconds of the run on the queue's thread. */
  readonly nanoseconds: number
  /** A view of an f32 output, without a copy; its length becomes 0 at `release()`. */
  view(name: string): Float32Array<ArrayBuffer>
  /** The same of an output of any dtype, as bytes. */
  bytes(name: string): Uint8Array<ArrayBuffer>
  release(): void
}

/** @internal What `Program.lease` gives. */
export class OutputLease implements Lease {
  readonly nanoseconds: number
  private readonly outputs: readonly Port[]
  private readonly extents: Uint32Array
  private readonly buffer: DeviceBuffer | undefined
  private readonly windows: ArrayBuffer[] = []
  private end: (() => void) | undefined

  /** `end` gives the arena back, whose `buffer` holds the outputs. */
  constructor(
    outputs: readonly Port[],
    extents: Uint32Array,
    buffer: DeviceBuffer | undefined,
    nanoseconds: number,
    end: () => void,
  ) {
    this.outputs = outputs
    this.extents = extents
    this.buffer = buffer
    this.nanoseconds = nanoseconds
    this.end = end
  }

  view(name: string): Float32Array<ArrayBuffer> {
    const port = this.port(name)
    if (port.dtype !== 'f32') throw new TypeError(`output '${name}' is ${port.dtype}, not f32`)
    return new Float32Array(this.window(port))
  }

  bytes(name: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.window(this.port(name)))
  }

  release(): void {
    if (this.end === undefined) return
    // Who has transferred a window to a Worker sees what later runs write there.
    for (const window of this.windows) if (!window.detached) window.transfer(0)
    this.end()
    this.end = undefined
  }

  [Symbol.dispose](): void {
    this.release()
  }

  private window(port: Port): ArrayBuffer {
    if (this.end === undefined) throw new DisposedError('lease')
    const bytes = bytesAt(port, this.extents)
    if (bytes === 0) return new ArrayBuffer(0)
    const window = openWindow(this.buffer!.handle, port.offset, bytes, 'output')
    this.windows.push(window)
    return window
  }

  private port(name: string): Port {
    checkString('name', name)
    for (const port of this.outputs) if (port.name === name) return port
    throw new RangeError(`there is no output '${name}'`)
  }
}
