// What devices say about themselves and about the records of an image.
import { ptr } from 'bun:ffi'
import { native } from './library.ts'
import { address } from './memory.ts'
import { expectOk } from './status.ts'

/** Capabilities of `DeviceInfo` in zig/runtime/vtable.zig. */
const capabilityBits = { async: 1, hostBuffer: 2, map: 4, fences: 8 } as const
const deviceTypes = ['cpu', 'gpu', 'integrated gpu', 'accelerator'] as const

export type DeviceType = (typeof deviceTypes)[number]
export type Capabilities = Record<keyof typeof capabilityBits, boolean>

export interface NativeDeviceInfo {
  type: DeviceType
  capabilities: Capabilities
  memoryTotal: number
  memoryFree: number
  name: string
  description: string
  features: string[]
}

export const deviceCount = (): number => native.leaven_device_count()

const infoBytes = 24 + 64 + 128 + 128
const decoder = new TextDecoder()

export const deviceInfo = (number: number): NativeDeviceInfo => {
  const bytes = new Uint8Array(new ArrayBuffer(infoBytes))
  expectOk(native.leaven_device_info(number, ptr(bytes)), `device ${number}`)
  const view = new DataView(bytes.buffer)
  const text = (from: number, size: number) => {
    const field = bytes.subarray(from, from + size)
    return decoder.decode(field.subarray(0, field.indexOf(0)))
  }
  const bits = view.getUint32(4, true)
  const has = (bit: number) => (bits & bit) !== 0
  return {
    type: deviceTypes[view.getUint32(0, true)] ?? 'accelerator',
    capabilities: {
      async: has(capabilityBits.async),
      hostBuffer: has(capabilityBits.hostBuffer),
      map: has(capabilityBits.map),
      fences: has(capabilityBits.fences),
    },
    memoryTotal: view.getFloat64(8, true),
    memoryFree: view.getFloat64(16, true),
    name: text(24, 64),
    description: text(88, 128),
    features: text(216, 128).split(' ').filter(Boolean),
  }
}

/** A device's answer about one record. */
export interface Profile {
  supported: boolean
  offloadRows: number
  scratchBytes: number
}

const profileBytes = 16

/** One answer per record of an image whose tensors have slots of their own. */
export const profileImage = (device: number, image: Uint8Array, records: number): Profile[] => {
  const bytes = new Uint8Array(new ArrayBuffer(Math.max(1, records) * profileBytes))
  const status = native.leaven_profile(
    device,
    address(image),
    image.length,
    address(bytes),
    records,
  )
  expectOk(status, `device ${device}`)
  const view = new DataView(bytes.buffer)
  return Array.from({ length: records }, (_, i) => ({
    supported: view.getUint32(i * profileBytes, true) !== 0,
    offloadRows: view.getUint32(i * profileBytes + 4, true),
    scratchBytes: Number(view.getBigUint64(i * profileBytes + 8, true)),
  }))
}

/** What the library counts; see `Counters` in zig/runtime/memory.zig. */
export interface NativeCounters {
  allocations: number
  liveObjects: number
  liveBytes: number
  mappedBytes: number
  checks: number
  runs: number
  liveThreads: number
}

export const nativeCounters = (): NativeCounters => {
  const numbers = new Float64Array(new ArrayBuffer(7 * 8))
  native.leaven_counters(ptr(numbers))
  const [allocations, liveObjects, liveBytes, mappedBytes, checks, runs, liveThreads] =
    numbers as unknown as [number, number, number, number, number, number, number]
  return { allocations, liveObjects, liveBytes, mappedBytes, checks, runs, liveThreads }
}

/**
 * From now on buffers end at an inaccessible page, so that a kernel's overrun faults; for tests.
 */
export const guardBuffers = (on: boolean): void => native.leaven_guard_buffers(on ? 1 : 0)
