// Queues: ordered streams of work on a device. Each step resolves when it is done.
import { checkInstance, checkObject, checkSignal, checkWhole } from '../errors/arguments.ts'
import {
  createQueue,
  type JobOptions,
  queueCopy,
  queueFill,
  queueRun,
  queueSignal,
  queueWait,
  releaseQueue,
} from '../native/queues.ts'
import { checkByte, DeviceBuffer } from './buffer.ts'
import type { Device } from './device.ts'
import { Fence } from './fence.ts'
import { Owned } from './owned.ts'

/**
 * Steps run in the order they were asked for, on a native thread; none blocks JavaScript. A step
 * rejects with its own error, and those behind it run all the same. At most 128 steps may be under
 * way, over all queues; one more rejects with code `BUSY`. Disposing of a queue cancels its steps.
 *
 * ```ts
 * using queue = device.createQueue()
 * await queue.copy({ buffer: a }, { buffer: b }, 4096)
 * ```
 */
export class Queue extends Owned {
  readonly device: Device
  private steps = 0

  /** @internal Use `device.createQueue()`. */
  constructor(device: Device) {
    super('queue', createQueue(), releaseQueue)
    this.device = device
  }

  /** Copies, fills, signals and waits that are under way. */
  get pending(): number {
    return this.steps
  }

  /** Copies `size` bytes between buffers or within one, where they may overlap. */
  async copy(
    from: { buffer: DeviceBuffer; offset?: number },
    to: { buffer: DeviceBuffer; offset?: number },
    size: number,
  ): Promise<void> {
    const place = (name: string, at: { buffer: DeviceBuffer; offset?: number }) => {
      checkObject(name, at)
      const { buffer, offset = 0 } = at
      checkInstance(`${name}.buffer`, buffer, DeviceBuffer, 'a DeviceBuffer')
      buffer.checkRange(offset, size)
      return { buffer: buffer.handle, offset }
    }
    await this.until(queueCopy(this.handle, place('from', from), place('to', to), size))
  }

  /** Sets bytes [offset, offset + size) of a buffer to `value`, 0 to 255. */
  async fill(
    buffer: DeviceBuffer,
    value: number,
    offset = 0,
    size = (buffer?.size ?? 0) - offset,
  ): Promise<void> {
    checkInstance('buffer', buffer, DeviceBuffer, 'a DeviceBuffer')
    buffer.checkRange(offset, size)
    checkByte(value)
    await this.until(queueFill(this.handle, buffer.handle, offset, size, value))
  }

  /** Signals `fence` when everything before is done. */
  async signal(fence: Fence, value: number): Promise<void> {
    checkInstance('fence', fence, Fence, 'a Fence')
    checkWhole('a fence value', value)
    await this.until(queueSignal(this.handle, fence.handle, value))
  }

  /**
   * Holds back everything after until `fence` has reached `value`. Rejects when the fence, or the
   * queue that was to signal it, is disposed of before.
   */
  async wait(fence: Fence, value: number, o: { signal?: AbortSignal } = {}): Promise<void> {
    checkInstance('fence', fence, Fence, 'a Fence')
    checkWhole('a fence value', value)
    checkObject('options', o)
    checkSignal(o.signal)
    await this.until(queueWait(this.handle, fence.handle, value, o.signal))
  }

  /** Resolves when everything asked for so far is done. */
  async synchronize(): Promise<void> {
    using fence = new Fence()
    await this.signal(fence, 1)
  }

  /** @internal Runs a native program; resolves to nanoseconds on the queue's thread. */
  run(program: number, input: Uint8Array, options: JobOptions): Promise<number> {
    return queueRun(this.handle, program, input, options)
  }

  /** Waits for a step, and keeps the queue from being collected before, which would cancel it. */
  private async until(step: Promise<number>): Promise<void> {
    this.steps += 1
    try {
      await step
    } finally {
      this.steps -= 1
    }
  }
}
