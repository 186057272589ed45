// Ctrl-C: the first one ends the work in good order, the second one at once.

/** The status of a process that SIGINT ended, by the convention of shells. */
export const INTERRUPTED = 130

/** While it is in use, SIGINT is counted instead of ending the process. */
export class Interrupt implements Disposable {
  readonly #controller = new AbortController()
  readonly #listener = () => {
    if (this.isRequested) process.exit(INTERRUPTED)
    this.#controller.abort()
  }

  constructor() {
    process.on('SIGINT', this.#listener)
  }

  get isRequested(): boolean {
    return this.#controller.signal.aborted
  }

  /** Aborted by the first one. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#listener)
  }
}
