// Buffers: memory of a device, with zero-copy windows where JavaScript may look.
import { DisposedError, LeavenError } from '../errors/index.ts'
import {
  type BufferType,
  createBuffer,
  fillBuffer,
  getBuffer,
  mapBuffer,
  openWindow,
  releaseBuffer,
  setBuffer,
} from '../native/memory.ts'
import type { Device } from './device.ts'
import { Owned } from './owned.ts'

export type { BufferType }

/** What a buffer is for; a hint to the device. */
export type BufferUsage = 'any' | 'weights' | 'state' | 'compute'

/** The most that one ArrayBuffer can hold. */
const windowBytesMax = 2 ** 32

/**
 * Memory of a device. Bytes are zero at first. Positions and sizes are bytes.
 *
 * ```ts
 * using buffer = device.createBuffer({ size: 4096 })
 * buffer.set(new Uint8Array([1, 2, 3]))
 * buffer.bytes[0] // 1, without a copy
 * ```
 */
export class DeviceBuffer extends Owned {
  readonly device: Device
  readonly size: number
  readonly type: BufferType
  readonly usage: BufferUsage
  private readonly windows: { offset: number; memory: ArrayBuffer }[] = []

  private constructor(
    device: Device,
    handle: number,
    size: number,
    type: BufferType,
    usage: BufferUsage,
  ) {
    super('buffer', handle, (h) => releaseBuffer(h, 'buffer'))
    this.device = device
    this.size = size
    this.type = type
    this.usage = usage
  }

  /** Throws OutOfMemoryError when the device has less than `size` bytes. */
  static create(device: Device, size: number, type: BufferType, usage: BufferUsage): DeviceBuffer {
    checkSize('size', size)
    return new DeviceBuffer(
      device,
      createBuffer(device.number, type, size, device.id),
      size,
      type,
      usage,
    )
  }

  /** Part of a file, read only and without a copy. Throws when the file is shorter. */
  static map(device: Device, path: string, offset: number, size: number): DeviceBuffer {
    checkSize('offset', offset)
    checkSize('size', size)
    const handle = mapBuffer(device.number, path, offset, size)
    return new DeviceBuffer(device, handle, size, 'mapped', 'weights')
  }

  /** Whether JavaScript may look at the memory itself. Maps are read only, so they may not. */
  get viewable(): boolean {
    return this.type === 'shared' || this.type === 'host'
  }

  /**
   * All bytes, without a copy; for larger buffers than an ArrayBuffer holds use `window`. Its
   * length becomes 0 when the buffer is disposed of.
   */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.window(0, this.size)
  }

  /**
   * Bytes [offset, offset + size) without a copy. Windows that were asked for apart must not
   * overlap in part: each has an ArrayBuffer of its own.
   */
  window(offset: number, size: number): Uint8Array<ArrayBuffer> {
    this.checkRange(offset, size)
    const { handle } = this
    if (!this.viewable) {
      throw new LeavenError('UNSUPPORTED', `a ${this.type} buffer cannot be viewed; use get()`)
    }
    // Small buffers are one window, so that no two can overlap.
    const whole = this.size <= windowBytesMax
    const [start, length] = whole ? [0, this.size] : [offset, size]
    let window = this.windows.find(
      (w) => w.offset <= offset && offset + size <= w.offset + w.memory.byteLength,
    )
    if (window === undefined) {
      if (length > windowBytesMax) throw new RangeError(`a window of ${length} bytes is too large`)
      for (const w of this.windows) {
        // Detached by its user, by a transfer to a Worker for example: then it is theirs.
        const end = w.offset + w.memory.byteLength
        if (start < end && w.offset < start + length) {
          throw new LeavenError(
            'UNSUPPORTED',
            `bytes ${start} to ${start + length} overlap a window`,
          )
        }
      }
      window = { offset: start, memory: openWindow(handle, start, length, 'buffer') }
      this.windows.push(window)
    }
    return new Uint8Array(window.memory, offset - window.offset, size)
  }

  /** Copies `bytes` in, at once. */
  set(bytes: ArrayBufferView, offset = 0): void {
    this.checkRange(offset, bytes.byteLength)
    setBuffer(this.handle, offset, asBytes(bytes), 'buffer')
  }

  /** A copy of bytes [offset, offset + size). */
  get(offset = 0, size = this.size - offset): Uint8Array<ArrayBuffer> {
    this.checkRange(offset, size)
    const bytes = new Uint8Array(size)
    this.getInto(bytes, offset)
    return bytes
  }

  /** Copies bytes from `offset` on into `target`. */
  getInto(target: ArrayBufferView, offset = 0): void {
    this.checkRange(offset, target.byteLength)
    getBuffer(this.handle, offset, asBytes(target), 'buffer')
  }

  /** Sets bytes [offset, offset + size) to `value`, 0 to 255. */
  fill(value: number, offset = 0, size = this.size - offset): void {
    this.checkRange(offset, size)
    fillBuffer(this.handle, offset, size, value, 'buffer')
  }

  /**
   * Detaches every window here and drops the reference; memory goes when nothing uses it any
   * more. Never blocks.
   */
  override dispose(): void {
    for (const { memory } of this.windows) if (!memory.detached) memory.transfer(0)
    this.windows.length = 0
    super.dispose()
  }

  private checkRange(offset: number, size: number) {
    if (this.disposed) throw new DisposedError('buffer')
    checkSize('offset', offset)
    checkSize('size', size)
    if (offset + size > this.size) {
      throw new RangeError(`${size} bytes at ${offset} of a buffer of ${this.size}`)
    }
  }
}

const checkSize = (name: string, value: number) => {
  if (typeof value !== 'number')
    throw new TypeError(`${name} must be a number, not ${typeof value}`)
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${name} ${value}`)
}

const asBytes = (view: ArrayBufferView): Uint8Array => {
  if (!ArrayBuffer.isView(view)) throw new TypeError('a typed array is needed')
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}
