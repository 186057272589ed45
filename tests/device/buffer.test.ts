// Buffers: windows without a copy, lifetimes, and what is refused.
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { devices } from '../../src/device/device.ts'
import { DisposedError, LeavenError, OutOfMemoryError } from '../../src/errors/index.ts'
import { nativeCounters } from '../../src/native/devices.ts'
import { comesBackTo, eventually } from './settle.ts'

const device = devices()[0]!
const folder = mkdtempSync(join(tmpdir(), 'leaven-buffer-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const mebibyte = 1 << 20

test('memory is zero at first, and windows show it without a copy', () => {
  using buffer = device.createBuffer({ size: 4096 })
  const { bytes } = buffer
  expect(bytes).toEqual(new Uint8Array(4096))
  buffer.set(new Uint8Array([1, 2, 3]), 8)
  expect(bytes.subarray(7, 12)).toEqual(new Uint8Array([0, 1, 2, 3, 0]))
  bytes[9] = 7
  expect(buffer.get(8, 3)).toEqual(new Uint8Array([1, 7, 3]))
})

test('all windows of a buffer share one ArrayBuffer and have length 0 after dispose', () => {
  const buffer = device.createBuffer({ size: 4096 })
  const { bytes } = buffer
  const part = buffer.window(64, 128)
  const floats = new Float32Array(part.buffer, part.byteOffset, 4)
  expect(part.buffer).toBe(bytes.buffer)
  expect([bytes.length, part.length, floats.length]).toEqual([4096, 128, 4])
  buffer.dispose()
  expect([bytes.length, part.length, floats.length]).toEqual([0, 0, 0])
  expect(bytes.buffer.detached).toBe(true)
})

test('memory goes at dispose, and a second dispose is quiet', () => {
  const before = nativeCounters().liveBytes
  const buffer = device.createBuffer({ size: mebibyte })
  buffer.bytes.fill(1)
  expect(nativeCounters().liveBytes - before).toBeGreaterThanOrEqual(mebibyte)
  buffer.dispose()
  expect(nativeCounters().liveBytes).toBe(before)
  buffer.dispose()
  buffer[Symbol.dispose]()
  expect(nativeCounters().liveBytes).toBe(before)
})

test('a buffer that was disposed of says so', () => {
  const buffer = device.createBuffer({ size: 8 })
  buffer.dispose()
  for (const use of [
    () => buffer.bytes,
    () => buffer.window(0, 0),
    () => buffer.get(),
    () => buffer.set(new Uint8Array(1)),
    () => buffer.fill(0),
    () => buffer.handle,
  ]) {
    expect(use).toThrow(DisposedError)
  }
})

test('a window that was moved to a Worker keeps the memory until the Worker ends', async () => {
  const before = nativeCounters().liveBytes
  const buffer = device.createBuffer({ size: mebibyte })
  const { bytes } = buffer
  bytes.fill(9)
  const worker = new Worker(new URL('./window_worker.ts', import.meta.url))
  const answer = Promise.withResolvers<{ sum: number; length: number }>()
  worker.onmessage = ({ data }) => answer.resolve(data)
  worker.onerror = ({ message }) => answer.reject(new Error(message))
  worker.postMessage(bytes.buffer, [bytes.buffer])
  expect(bytes.length).toBe(0)
  // The window here is gone, a new one is not.
  expect(buffer.bytes[5]).toBe(9)
  buffer.dispose()
  worker.postMessage('sum')
  expect(await answer.promise).toEqual({ sum: 9 * mebibyte, length: mebibyte })
  expect(nativeCounters().liveBytes - before).toBeGreaterThanOrEqual(mebibyte)
  worker.terminate()
  expect(await eventually(() => nativeCounters().liveBytes <= before)).toBe(true)
})

test('a window that its user has resized is theirs, and native memory goes once', () => {
  const before = nativeCounters().liveBytes
  const buffer = device.createBuffer({ size: 4096 })
  buffer.fill(3)
  const own = buffer.bytes.buffer.transfer(2048)
  expect(new Uint8Array(own)).toEqual(new Uint8Array(2048).fill(3))
  expect(buffer.bytes.length).toBe(4096)
  buffer.dispose()
  expect(nativeCounters().liveBytes).toBe(before)
  expect(new Uint8Array(own)[2047]).toBe(3)
})

test('forgotten buffers are collected', async () => {
  const before = nativeCounters()
  for (let i = 0; i < 50; i++) {
    const buffer = device.createBuffer({ size: mebibyte })
    if (i % 2 === 0) buffer.bytes[0] = 1
  }
  expect(nativeCounters().liveBytes - before.liveBytes).toBeGreaterThan(0)
  expect(await comesBackTo(before)).toBe(true)
})

test('a window outlives its forgotten buffer', async () => {
  const { bytes } = device.createBuffer({ size: mebibyte })
  bytes.fill(5)
  for (let i = 0; i < 20; i++) {
    Bun.gc(true)
    await Bun.sleep(1)
  }
  expect(bytes.every((byte) => byte === 5)).toBe(true)
})

test('bytes may be copied within a buffer through its own window', () => {
  using buffer = device.createBuffer({ size: 256 })
  const { bytes } = buffer
  for (let i = 0; i < 256; i++) bytes[i] = i
  buffer.set(bytes.subarray(0, 200), 8)
  expect(bytes[8 + 199]).toBe(199)
  buffer.getInto(bytes.subarray(0, 200), 8)
  expect(bytes[199]).toBe(199)
})

test('ranges and values that are none are refused before anything is done', () => {
  using buffer = device.createBuffer({ size: 16 })
  const wrong = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]
  for (const number of wrong) {
    expect(() => device.createBuffer({ size: number })).toThrow(RangeError)
    expect(() => buffer.window(number, 1)).toThrow(RangeError)
    expect(() => buffer.get(0, number)).toThrow(RangeError)
    expect(() => buffer.fill(number)).toThrow(RangeError)
  }
  expect(() => buffer.window(15, 2)).toThrow('2 bytes at 15 of a buffer of 16')
  expect(() => buffer.set(new Uint8Array(17))).toThrow(RangeError)
  expect(() => buffer.set([1, 2] as never)).toThrow(TypeError)
  expect(() => device.createBuffer({ size: '8' as never })).toThrow(TypeError)
  expect(() => device.createBuffer({ size: 8, type: 'mapped' as never })).toThrow(RangeError)
  expect(buffer.get()).toEqual(new Uint8Array(16))
})

test('an empty buffer has empty windows', () => {
  using buffer = device.createBuffer({ size: 0 })
  expect(buffer.bytes.length).toBe(0)
  expect(buffer.get()).toEqual(new Uint8Array(0))
  buffer.fill(1)
})

test('more memory than the machine has is an error with the numbers', () => {
  const error = (() => {
    try {
      return device.createBuffer({ size: 2 ** 52 })
    } catch (thrown) {
      return thrown
    }
  })()
  expect(error).toBeInstanceOf(OutOfMemoryError)
  const { needed, free, code, message } = error as OutOfMemoryError
  expect(code).toBe('OUT_OF_MEMORY')
  expect(needed).toBe(2 ** 52)
  expect(free).toBeGreaterThan(0)
  expect(free).toBeLessThan(2 ** 52)
  expect(message).toContain(String(free))
})

test('private memory is copied in and out, never seen', () => {
  using buffer = device.createBuffer({ size: 64, type: 'private' })
  buffer.set(new Uint8Array([4]), 63)
  expect(buffer.get(62)).toEqual(new Uint8Array([0, 4]))
  expect(buffer.viewable).toBe(false)
  expect(() => buffer.bytes).toThrow(LeavenError)
})

const gibibytes = 2 ** 30

test.if(device.memoryFree > 6 * gibibytes)('a buffer beyond 4 GiB has windows anywhere', () => {
  using buffer = device.createBuffer({ size: 5 * gibibytes })
  const last = buffer.window(5 * gibibytes - 4096, 4096)
  last[4095] = 8
  expect(buffer.get(5 * gibibytes - 1)).toEqual(new Uint8Array([8]))
  const within = buffer.window(5 * gibibytes - 100, 100)
  expect(within.buffer).toBe(last.buffer)
  expect(() => buffer.bytes).toThrow(RangeError)
  expect(() => buffer.window(5 * gibibytes - 5000, 4096)).toThrow('overlap a window')
})

const made = (name: string, bytes: Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

test('a mapped file is read at any offset, also after it was unlinked', () => {
  const before = nativeCounters().mappedBytes
  const content = Uint8Array.from({ length: 10_000 }, (_, i) => i % 251)
  const path = made('mapped', content)
  const buffer = device.map(path, 4099, 5000)
  unlinkSync(path)
  expect(buffer.get()).toEqual(content.slice(4099, 9099))
  expect(nativeCounters().mappedBytes).toBeGreaterThan(before)
  buffer.dispose()
  expect(nativeCounters().mappedBytes).toBe(before)
})

test('a mapped buffer is read only: copies are given, windows and writes are not', async () => {
  using buffer = device.map(made('readonly', new Uint8Array(64).fill(1)), 0, 64)
  using queue = device.createQueue()
  expect(buffer.type).toBe('mapped')
  expect(() => buffer.bytes).toThrow('a mapped buffer cannot be viewed; use get()')
  expect(() => buffer.set(new Uint8Array(1))).toThrow('read only')
  expect(() => buffer.fill(0)).toThrow('read only')
  await expect(queue.fill(buffer, 0)).rejects.toThrow('read only')
  const copy = buffer.get()
  copy.fill(2)
  expect(buffer.get()).toEqual(new Uint8Array(64).fill(1))
})

test('what cannot be mapped says why', () => {
  const path = made('short', new Uint8Array(100))
  expect(() => device.map(path, 60, 41)).toThrow('shorter')
  expect(() => device.map(path, 101, 0)).toThrow('shorter')
  expect(() => device.map(join(folder, 'none'), 0, 1)).toThrow('no such file')
  expect(() => device.map(folder, 0, 1)).toThrow('not a regular file')
  expect(() => device.map('/dev/zero', 0, 1)).toThrow(LeavenError)
  expect(() => device.map(`${path}\0x`, 0, 1)).toThrow(TypeError)
  expect(() => device.map(undefined as never, 0, 1)).toThrow(TypeError)
  expect(device.map(path, 100, 0).get()).toEqual(new Uint8Array(0))
})
