// Native buffers as JavaScript sees them: handles, windows, copies in and out.
import { type Pointer, ptr, toArrayBuffer } from 'bun:ffi'
import { native } from './library.ts'
import { errorOf, expectHandle, expectOk, lastProblem } from './status.ts'

/** Codes of `BufferType` in zig/runtime/image.zig. */
export const bufferTypes = { shared: 0, private: 1, mapped: 2, host: 3 } as const
export type BufferType = keyof typeof bufferTypes

/** Zeroed memory of `size` bytes on a device. Throws OutOfMemoryError. */
export const createBuffer = (
  device: number,
  type: BufferType,
  size: number,
  what: string,
): number => expectHandle(native.leaven_buffer_create(device, bufferTypes[type], size), what)

/** Bytes [offset, offset + size) of a file, read only. Throws when they do not exist. */
export const mapBuffer = (device: number, path: string, offset: number, size: number): number =>
  expectHandle(native.leaven_buffer_map(device, ptr(cString(path)), offset, size), path)

export const releaseBuffer = (handle: number, what: string): void =>
  expectOk(native.leaven_buffer_release(handle), what)

/**
 * An ArrayBuffer over the buffer's own memory. It holds a native reference until it is collected
 * or detached by `transfer(0)`.
 */
export const openWindow = (
  handle: number,
  offset: number,
  size: number,
  what: string,
): ArrayBuffer => {
  if (size === 0) return new ArrayBuffer(0)
  const window = native.leaven_window(handle) as Pointer | null
  if (window === null) throw errorOf(lastProblem(), what)
  const address = native.leaven_window_address(window) as Pointer
  return wrap(address, offset, size, window, releaser)
}

/** The form with a deallocator, which Bun has and its types leave out. */
const wrap = toArrayBuffer as (
  address: Pointer,
  offset: number,
  size: number,
  context: Pointer,
  deallocator: Pointer,
) => ArrayBuffer

const releaser = native.leaven_window_releaser() as Pointer

/** Copies typed-array bytes into a buffer, at once. */
export const setBuffer = (handle: number, offset: number, bytes: Uint8Array, what: string): void =>
  expectOk(native.leaven_buffer_set(handle, offset, address(bytes), bytes.length), what)

/** Copies a buffer's bytes into a typed array, at once. */
export const getBuffer = (handle: number, offset: number, bytes: Uint8Array, what: string): void =>
  expectOk(native.leaven_buffer_get(handle, offset, address(bytes), bytes.length), what)

export const fillBuffer = (
  handle: number,
  offset: number,
  size: number,
  value: number,
  what: string,
): void => expectOk(native.leaven_buffer_fill(handle, offset, size, value), what)

const nothing = new Uint8Array(new ArrayBuffer(8))

/** The address of a typed array's bytes; Bun has none for an empty one. */
export const address = (bytes: ArrayBufferView): Pointer =>
  ptr((bytes.byteLength === 0 ? nothing : bytes) as Uint8Array)

const cString = (text: string): Uint8Array => {
  const bytes = new TextEncoder().encode(text)
  const terminated = new Uint8Array(new ArrayBuffer(bytes.length + 1))
  terminated.set(bytes)
  return terminated
}
