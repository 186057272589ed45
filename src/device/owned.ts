// Native objects with one owner each: disposed of once, and by the garbage collector if forgotten.
import { DisposedError } from '../errors/index.ts'

interface Held {
  handle: number
  free: (handle: number) => void
  what: string
}

const forgotten = new FinalizationRegistry<Held>((held) => {
  if (held.handle === 0) return
  if (process.env.LEAVEN_DEBUG) console.warn(`leaven: a ${held.what} was never disposed of`)
  held.free(held.handle)
})

/** Base of classes that hold a native handle. `dispose()` may be called twice; it never blocks. */
export abstract class Owned implements Disposable {
  private readonly held: Held

  constructor(what: string, handle: number, free: (handle: number) => void) {
    this.held = { handle, free, what }
    forgotten.register(this, this.held, this)
  }

  /** The native handle. Throws DisposedError after `dispose()`. */
  get handle(): number {
    if (this.held.handle === 0) throw new DisposedError(this.held.what)
    return this.held.handle
  }

  get disposed(): boolean {
    return this.held.handle === 0
  }

  dispose(): void {
    const { handle } = this.held
    if (handle === 0) return
    this.held.handle = 0
    forgotten.unregister(this)
    this.held.free(handle)
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
