// Native buffers as JavaScript sees them: handles, windows, copies in and out.
import { type Pointer, ptr } from 'bun:ffi'
import { lend } from './lent.ts'
import { native } from './library.ts'
import { errorOf, expectHandle, expectOk, lastProblem } from './status.ts'
import { vm } from './vm.ts'

/** Codes of `BufferType` in zig/runtime/image.zig. */
export const bufferTypes = { shared: 0, private: 1, mapped: 2, host: 3 } as const
export type BufferType = keyof typeof bufferTypes

/** Zeroed memory of `size` bytes on a device. Throws OutOfMemoryError. */
export const createBuffer = (
  device: number,
  type: BufferType,
  size: number,
  what: string,
): number => expectHandle(native.leaven_buffer_create(vm(), device, bufferTypes[type], size), what)

/** Bytes [offset, offset + size) of a file, read only. Throws when they do not exist. */
export const mapBuffer = (device: number, path: string, offset: number, size: number): number => {
  const handle = native.leaven_buffer_map(vm(), device, ptr(cString(path)), offset, size)
  return expectHandle(handle, path)
}

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
  const window = native.leaven_window(handle, offset, size) as Pointer | null
  if (window === null) throw errorOf(lastProblem(), what)
  const start = native.leaven_window_address(window) as Pointer
  return lend(start, offset, size, window, releaser)
}

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
  if (typeof text !== 'string') throw new TypeError(`a path must be a string, not ${typeof text}`)
  if (text.includes('\0')) throw new TypeError('a path must not have a zero in it')
  const bytes = new TextEncoder().encode(text)
  const terminated = new Uint8Array(new ArrayBuffer(bytes.length + 1))
  terminated.set(bytes)
  return terminated
}
