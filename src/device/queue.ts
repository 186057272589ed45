// Queues: ordered streams of work on a device. Each step resolves when it is done.
import {
  createQueue,
  type JobOptions,
  queueCopy,
  queueFill,
  queueRun,
  queueSignal,
  queueWait,
  releaseQueue,
} from '../native/programs.ts'
import type { DeviceBuffer } from './buffer.ts'
import type { Device } from './device.ts'
import type { Fence } from './fence.ts'
import { Owned } from './owned.ts'

/** Steps run in the order they were asked for, on a native thread; none blocks JavaScript. */
export class Queue extends Owned {
  readonly device: Device

  /** @internal Use `device.createQueue()`. */
  constructor(device: Device) {
    super('queue', createQueue(), releaseQueue)
    this.device = device
  }

  /** Copies bytes between buffers or within one. */
  async copy(
    from: { buffer: DeviceBuffer; offset?: number },
    to: { buffer: DeviceBuffer; offset?: number },
    size: number,
  ): Promise<void> {
    const place = (p: { buffer: DeviceBuffer; offset?: number }) => ({
      buffer: p.buffer.handle,
      offset: p.offset ?? 0,
    })
    await queueCopy(this.handle, place(from), place(to), size)
  }

  async fill(
    buffer: DeviceBuffer,
    value: number,
    offset = 0,
    size = buffer.size - offset,
  ): Promise<void> {
    await queueFill(this.handle, buffer.handle, offset, size, value)
  }

  /** Signals `fence` when everything before is done. */
  async signal(fence: Fence, value: number): Promise<void> {
    await queueSignal(this.handle, fence.handle, value)
  }

  /** Holds back everything after until `fence` has reached `value`. */
  async wait(fence: Fence, value: number, o: { signal?: AbortSignal } = {}): Promise<void> {
    await queueWait(this.handle, fence.handle, value, o.signal)
  }

  /** Resolves when everything asked for so far is done. */
  async synchronize(): Promise<void> {
    using fence = new (await import('./fence.ts')).Fence()
    await this.signal(fence, 1)
  }

  /** @internal Runs a native program; resolves to nanoseconds on the queue's thread. */
  async run(program: number, input: Uint8Array, options: JobOptions): Promise<number> {
    return (await queueRun(this.handle, program, input, options)).nanoseconds
  }
}
