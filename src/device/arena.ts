// Arenas: one buffer for the intermediate values of programs that never run at the same time.
import { checkObject, checkWhole } from '../errors/arguments.ts'
import { DisposedError } from '../errors/index.ts'
import type { DeviceBuffer } from './buffer.ts'
import type { Device } from './device.ts'

/** Somebody who waits for the turn. */
interface Waiter {
  give: (end: () => void) => void
  refuse: (error: unknown) => void
}

/** Grows to the largest program's needs. Who holds the turn may use the bytes. */
export class Arena implements Disposable {
  readonly device: Device
  private current: DeviceBuffer | undefined
  private taken = false
  private over = false
  private readonly waiters: Waiter[] = []

  constructor(device: Device) {
    checkObject('device', device)
    this.device = device
  }

  /** The buffer; a larger one once `reserve` has asked for more. Programs bind it anew then. */
  get buffer(): DeviceBuffer | undefined {
    return this.current
  }

  get bytes(): number {
    return this.current?.size ?? 0
  }

  get disposed(): boolean {
    return this.over
  }

  /**
   * Makes sure of `bytes`; what was in the buffer is lost. For who holds the turn. Throws
   * OutOfMemoryError, and then everything is as before.
   */
  reserve(bytes: number): void {
    if (this.over) throw new DisposedError('arena')
    checkWhole('bytes', bytes)
    if (bytes <= this.bytes) return
    const larger = this.device.createBuffer({ size: bytes, usage: 'compute' })
    this.current?.dispose()
    this.current = larger
  }

  /**
   * Waits for the turn, in the order of asking; the function it gives ends it. Rejects when
   * `signal` is aborted or the arena is disposed of first.
   */
  take(signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (this.over) return Promise.reject(new DisposedError('arena'))
    const end = this.tryTake()
    if (end !== undefined) return Promise.resolve(end)
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    const abort = () => {
      this.waiters.splice(this.waiters.indexOf(waiter), 1)
      reject(signal?.reason)
    }
    const settled = () => signal?.removeEventListener('abort', abort)
    const waiter: Waiter = {
      give: (end) => {
        settled()
        resolve(end)
      },
      refuse: (error) => {
        settled()
        reject(error)
      },
    }
    signal?.addEventListener('abort', abort, { once: true })
    this.waiters.push(waiter)
    return promise
  }

  /** The turn, when nobody holds it. */
  tryTake(): (() => void) | undefined {
    if (this.over) throw new DisposedError('arena')
    return this.taken ? undefined : this.begin()
  }

  /** Who waits is refused. Memory goes when a run that uses it has ended. */
  dispose(): void {
    if (this.over) return
    this.over = true
    this.current?.dispose()
    this.current = undefined
    for (const { refuse } of this.waiters.splice(0)) refuse(new DisposedError('arena'))
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  private begin(): () => void {
    this.taken = true
    let ended = false
    return () => {
      if (ended) return
      ended = true
      this.taken = false
      this.waiters.shift()?.give(this.begin())
    }
  }
}
