// Arenas: one buffer for the intermediate values of programs that never run at the same time.
import type { DeviceBuffer } from './buffer.ts'
import type { Device } from './device.ts'

/** Grows to the largest program's needs. Who holds the turn may use the bytes. */
export class Arena implements Disposable {
  readonly device: Device
  private current: DeviceBuffer | undefined
  private turn: Promise<void> | undefined

  constructor(device: Device) {
    this.device = device
  }

  /** The buffer; a larger one once `reserve` has asked for more. Programs bind it anew then. */
  get buffer(): DeviceBuffer | undefined {
    return this.current
  }

  get bytes(): number {
    return this.current?.size ?? 0
  }

  /** Makes sure of `bytes`. Must not be called while somebody holds the turn. */
  reserve(bytes: number): void {
    if (bytes <= this.bytes) return
    const larger = this.device.createBuffer({ size: bytes, usage: 'compute' })
    this.current?.dispose()
    this.current = larger
  }

  /** Waits for the turn; the function it gives ends it. */
  async take(): Promise<() => void> {
    while (this.turn !== undefined) await this.turn
    return this.begin()
  }

  /** The turn, when nobody holds it. */
  tryTake(): (() => void) | undefined {
    return this.turn === undefined ? this.begin() : undefined
  }

  dispose(): void {
    this.current?.dispose()
    this.current = undefined
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  private begin(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.turn = promise
    let over = false
    return () => {
      if (over) return
      over = true
      this.turn = undefined
      resolve()
    }
  }
}
