// Devices: what can hold buffers and run programs.
import { checkObject } from '../errors/arguments.ts'
import {
  type Capabilities,
  type DeviceType,
  deviceCount,
  deviceInfo,
  type NativeDeviceInfo,
} from '../native/devices.ts'
import { type BufferType, type BufferUsage, DeviceBuffer } from './buffer.ts'
import { Queue } from './queue.ts'

/** `cpu`, or `cpu:1` for the second of several. */
export type DeviceId = string

/** A processor with its memory. Facts are read when asked for; memory sizes are bytes. */
export class Device {
  readonly number: number
  readonly id: DeviceId
  readonly name: string
  readonly type: DeviceType

  /** @internal Use `devices()`. */
  constructor(number: number, info: NativeDeviceInfo) {
    this.number = number
    this.id = number === 0 ? info.name : `${info.name}:${number}`
    this.name = info.name
    this.type = info.type
  }

  get description(): string {
    return deviceInfo(this.number).description
  }

  get memoryTotal(): number {
    return deviceInfo(this.number).memoryTotal
  }

  get memoryFree(): number {
    return deviceInfo(this.number).memoryFree
  }

  get capabilities(): Capabilities {
    return deviceInfo(this.number).capabilities
  }

  /** For the CPU: the instruction set of the kernels in use. */
  get features(): string[] {
    return deviceInfo(this.number).features
  }

  /** Zeroed memory. Throws OutOfMemoryError with the numbers. */
  createBuffer(o: {
    size: number
    type?: Exclude<BufferType, 'mapped'>
    usage?: BufferUsage
  }): DeviceBuffer {
    checkObject('options', o)
    return DeviceBuffer.create(this, o.size, o.type ?? 'shared', o.usage ?? 'any')
  }

  /**
   * Bytes of a file as a read-only buffer, without a copy. The file may be unlinked meanwhile;
   * if it shrinks, reading what is gone ends the process, as with every memory map.
   */
  map(path: string, offset: number, size: number): DeviceBuffer {
    return DeviceBuffer.map(this, path, offset, size)
  }

  /** A new ordered stream of work. */
  createQueue(): Queue {
    return new Queue(this)
  }

  toJSON() {
    const { id, name, description, type, memoryTotal, memoryFree, features } = this
    return { id, name, description, type, memoryTotal, memoryFree, features }
  }
}

let known: Device[] | undefined

/** Every device of this machine that leaven can use, the CPU first. */
export const devices = (): Device[] => {
  known ??= Array.from({ length: deviceCount() }, (_, i) => new Device(i, deviceInfo(i)))
  return [...known]
}
