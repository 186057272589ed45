// A list that grows, and any number of readers who each see all of it.

interface Request<T> {
  resolve(result: IteratorResult<T, undefined>): void
  reject(reason: unknown): void
}

/** Told when readers come and go. */
export interface Audience {
  /** Before the first value is asked for. */
  joined(): void
  /** A reader that has stopped, at the end or before. */
  left(): void
}

const done = { done: true, value: undefined } as const

/** Values are kept, so that a reader who comes late misses nothing. */
export class PartLog<P> {
  readonly parts: P[] = []
  readonly #cursors = new Set<Cursor<P, unknown>>()
  readonly #audience: Audience
  /** Set at the end; `reason` when it is a failure. */
  ending: { failed: boolean; reason?: unknown } | undefined

  constructor(audience: Audience) {
    this.#audience = audience
  }

  push(part: P): void {
    this.parts.push(part)
    for (const cursor of this.#cursors) cursor.serve()
  }

  end(): void {
    this.#finish({ failed: false })
  }

  /** Readers get what is there, then the failure. */
  fail(reason: unknown): void {
    this.#finish({ failed: true, reason })
  }

  /** A reader of what `pick` gives for each part, undefined being passed over. */
  read<T>(pick: (part: P) => T | undefined): AsyncIterableIterator<T, undefined> {
    return new Cursor<P, T>(this, pick)
  }

  /** For cursors. */
  join(cursor: Cursor<P, unknown>): void {
    this.#cursors.add(cursor)
    this.#audience.joined()
  }

  /** For cursors. */
  leave(cursor: Cursor<P, unknown>): void {
    if (this.#cursors.delete(cursor)) this.#audience.left()
  }

  #finish(ending: { failed: boolean; reason?: unknown }): void {
    this.ending = ending
    for (const cursor of this.#cursors) cursor.serve()
  }
}

/**
 * Unlike a generator's, `return` takes effect while `next` waits: who goes away need not wait for
 * the next part.
 */
class Cursor<P, T> implements AsyncIterableIterator<T, undefined> {
  readonly #log: PartLog<P>
  readonly #pick: (part: P) => T | undefined
  readonly #requests: Request<T>[] = []
  #index = 0
  #state: 'new' | 'open' | 'closed' = 'new'

  constructor(log: PartLog<P>, pick: (part: P) => T | undefined) {
    this.#log = log
    this.#pick = pick
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#state === 'new') {
      this.#state = 'open'
      this.#log.join(this)
    }
    return new Promise((resolve, reject) => {
      this.#requests.push({ resolve, reject })
      this.serve()
    })
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#close()
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    return this
  }

  /** Answers as many requests as it can. */
  serve(): void {
    const { parts, ending } = this.#log
    while (this.#requests.length > 0 && this.#state === 'open' && this.#index < parts.length) {
      const value = this.#pick(parts[this.#index++]!)
      if (value !== undefined) this.#requests.shift()!.resolve({ done: false, value })
    }
    if (this.#requests.length === 0) return
    if (this.#state === 'open' && ending === undefined) return
    if (this.#state === 'open' && ending?.failed) this.#requests.shift()!.reject(ending.reason)
    this.#close()
  }

  #close(): void {
    this.#state = 'closed'
    for (const request of this.#requests.splice(0)) request.resolve(done)
    this.#log.leave(this)
  }
}
