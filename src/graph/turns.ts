// Long work in pieces: generators that pause where other work may have its turn.

/** Work between two turns of the event loop, in milliseconds. */
const sliceMs = 1

/** Runs work that pauses now and then, and lets the event loop turn at those pauses. */
export const inTurns = async <T>(work: Generator<void, T>): Promise<T> => {
  for (;;) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const start = performance.now()
    do {
      const step = work.next()
      if (step.done) return step.value
    } while (performance.now() - start < sliceMs)
  }
}

/** Runs such work at once. */
export const atOnce = <T>(work: Generator<void, T>): T => {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}
