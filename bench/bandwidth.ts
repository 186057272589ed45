// How fast this machine reads memory: the floor of decoding, which reads every weight once a token.
//
// A search for a byte that is not there runs at the speed of memory and needs nothing but Bun.

const bytesEach = 256 << 20

/** One thread's reader: posts bytes per second for each message it gets. */
const source = `
const data = Buffer.alloc(${bytesEach}, 1)
self.onmessage = () => {
  const start = performance.now()
  if (data.indexOf(7) !== -1) throw new Error('found')
  postMessage((data.length / (performance.now() - start)) * 1000)
}
postMessage(0)
`

/** Threads that read side by side, each its own memory, larger than any cache. */
export class Readers implements Disposable {
  private readonly workers: Worker[]

  private constructor(workers: Worker[]) {
    this.workers = workers
  }

  static async start(threads: number): Promise<Readers> {
    const url = URL.createObjectURL(new Blob([source], { type: 'application/javascript' }))
    const workers = Array.from({ length: threads }, () => new Worker(url))
    await Promise.all(workers.map(next))
    URL.revokeObjectURL(url)
    return new Readers(workers)
  }

  /** Bytes per second of all threads together, now. */
  async measure(): Promise<number> {
    const rates = this.workers.map(next)
    for (const worker of this.workers) worker.postMessage(0)
    return (await Promise.all(rates)).reduce((a, b) => a + b, 0)
  }

  [Symbol.dispose](): void {
    for (const worker of this.workers) worker.terminate()
  }
}

const next = (worker: Worker): Promise<number> =>
  new Promise((resolve, reject) => {
    worker.onmessage = (event: MessageEvent<number>) => resolve(event.data)
    worker.onerror = (event) => reject(new Error(event.message))
  })
