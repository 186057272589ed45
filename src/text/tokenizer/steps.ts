// Long work in slices: the same steps at once, or with other work of the event loop between them.

/** Work that yields about every millisecond or more often, and returns its result. */
export type Steps<T> = Generator<void, T>

/** Browsers have no setImmediate; their timers will do. */
const later: (callback: () => void) => unknown =
  typeof setImmediate === 'function' ? setImmediate : setTimeout

/** Longest stretch without a pause, in milliseconds: timers are late by little more than this. */
const SLICE_MS = 1

export function runNow<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Rejects with the signal's reason when it is aborted, at the next pause. */
export async function runSliced<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted()
  let sliceStart = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (performance.now() - sliceStart < SLICE_MS) continue
    await new Promise<void>((resolve) => later(resolve))
    signal?.throwIfAborted()
    sliceStart = performance.now()
  }
}
