// Buffers: memory of a device, with zero-copy windows where JavaScript may look.
import { checkAttached, checkString, checkWhole, shown } from '../errors/arguments.ts'
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

/** What a buffer can be created as; `mapped` ones come from files. */
const creatable: readonly BufferType[] = ['shared', 'private', 'host']

/** Memory that JavaScript sees, and where it starts in the buffer. */
interface Window {
  offset: number
  memory: ArrayBuffer
}

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
  private windows: Window[] = []

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
    checkWhole('size', size)
    if (!creatable.includes(type)) throw new RangeError(`no buffer can be of type ${shown(type)}`)
    const handle = createBuffer(device.number, type, size, device.id)
    return new DeviceBuffer(device, handle, size, type, usage)
  }

  /** Part of a file, read only and without a copy. Throws when the file is shorter. */
  static map(device: Device, path: string, offset: number, size: number): DeviceBuffer {
    checkString('path', path)
    checkWhole('offset', offset)
    checkWhole('size', size)
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
    if (!this.viewable) {
      throw new LeavenError('UNSUPPORTED', `a ${this.type} buffer cannot be viewed; use get()`)
    }
    const known = this.windows.find(
      ({ offset: start, memory }) =>
        !memory.detached && start <= offset && offset + size <= start + memory.byteLength,
    )
    // Small buffers are one window, so that no two can overlap.
    const whole = this.size <= windowBytesMax
    const window = known ?? this.openWindow(whole ? 0 : offset, whole ? this.size : size)
    return new Uint8Array(window.memory, offset - window.offset, size)
  }

  private openWindow(offset: number, size: number): Window {
    if (size > windowBytesMax) throw new RangeError(`a window of ${size} bytes is too large`)
    // What its user has detached, by a transfer to a Worker for example, is theirs.
    this.windows = this.windows.filter((w) => !w.memory.detached)
    for (const w of this.windows) {
      if (offset < w.offset + w.memory.byteLength && w.offset < offset + size) {
        const bytes = `bytes ${offset} to ${offset + size}`
        throw new LeavenError('UNSUPPORTED', `${bytes} overlap a window`)
      }
    }
    const window = { offset, memory: openWindow(this.handle, offset, size, 'buffer') }
    this.windows.push(window)
    return window
  }

  /** Copies `bytes` in, at once. */
  set(bytes: ArrayBufferView, offset = 0): void {
    const source = asBytes(bytes)
    this.checkRange(offset, source.length)
    setBuffer(this.handle, offset, source, 'buffer')
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
    const bytes = asBytes(target)
    this.checkRange(offset, bytes.length)
    getBuffer(this.handle, offset, bytes, 'buffer')
  }

  /** Sets bytes [offset, offset + size) to `value`, 0 to 255. */
  fill(value: number, offset = 0, size = this.size - offset): void {
    this.checkRange(offset, size)
    checkByte(value)
    fillBuffer(this.handle, offset, size, value, 'buffer')
  }

  /**
   * Detaches every window here and drops the reference; memory goes when nothing uses it any
   * more. Never blocks.
   */
  override dispose(): void {
    for (const { memory } of this.windows) if (!memory.detached) memory.transfer(0)
    this.windows = []
    super.dispose()
  }

  /** @internal Throws RangeError unless bytes [offset, offset + size) exist. */
  checkRange(offset: number, size: number): void {
    if (this.disposed) throw new DisposedError('buffer')
    checkWhole('offset', offset)
    checkWhole('size', size)
    if (offset + size > this.size) {
      throw new RangeError(`${size} bytes at ${offset} of a buffer of ${this.size}`)
    }
  }
}

/** @internal Throws RangeError unless `value` fits a byte. */
export const checkByte = (value: number): void => checkWhole('the byte', value, 0, 255)

const asBytes = (view: ArrayBufferView): Uint8Array => {
  if (!ArrayBuffer.isView(view)) throw new TypeError(`a typed array is needed, not ${shown(view)}`)
  checkAttached('the array', view)
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}
