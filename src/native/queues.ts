// Native queues and fences: jobs with promises, thin calls with errors.
import { type JobListener, jobNumber, listen } from './completions.ts'
import { native } from './library.ts'
import { address } from './memory.ts'
import { errorOf, expectHandle, expectOk, lastProblem, type Problem, Status } from './status.ts'
import { vm } from './vm.ts'

export const createQueue = (): number => expectHandle(native.leaven_queue_create(vm()), 'queue')

export const releaseQueue = (queue: number): void =>
  expectOk(native.leaven_queue_release(queue), 'queue')

export interface JobOptions {
  signal?: AbortSignal | undefined
  /** Called when a segment of a run waits for JavaScript; the run goes on when it has resolved. */
  observe?: ((segment: number) => void | Promise<void>) | undefined
}

/** A job under way, as its promise sees it. */
class Job implements JobListener {
  private readonly queue: number
  private readonly number: number
  private readonly what: string
  private readonly options: JobOptions
  private readonly resolve: (nanoseconds: number) => void
  private readonly reject: (error: unknown) => void
  /** What an observer has thrown. */
  private failure: { error: unknown } | undefined

  constructor(
    queue: number,
    number: number,
    what: string,
    options: JobOptions,
    resolve: (nanoseconds: number) => void,
    reject: (error: unknown) => void,
  ) {
    this.queue = queue
    this.number = number
    this.what = what
    this.options = options
    this.resolve = resolve
    this.reject = reject
    options.signal?.addEventListener('abort', this)
  }

  /** The signal has been aborted. */
  handleEvent(): void {
    native.leaven_queue_cancel(this.queue, this.number)
  }

  end(nanoseconds: number, problem: Problem | undefined): void {
    const { signal } = this.options
    signal?.removeEventListener('abort', this)
    if (this.failure !== undefined) this.reject(this.failure.error)
    else if (problem === undefined) this.resolve(nanoseconds)
    else if (signal?.aborted) this.reject(signal.reason)
    else this.reject(errorOf(problem, this.what))
  }

  segment(index: number): void {
    void this.observe(index)
  }

  private async observe(index: number) {
    try {
      await this.options.observe?.(index)
      native.leaven_queue_resume(this.queue, this.number)
    } catch (error) {
      this.failure = { error }
      this.handleEvent()
    }
  }
}

const noOptions: JobOptions = {}

/**
 * Submits a job, to which `submit` gives a status. The promise resolves to nanoseconds on the
 * queue's thread; it rejects with the signal's reason when aborted, else with the job's own error.
 */
const start = (
  queue: number,
  what: string,
  submit: (job: number) => number,
  options: JobOptions = noOptions,
): Promise<number> => {
  const { signal } = options
  if (signal?.aborted) return Promise.reject(signal.reason)
  const number = jobNumber()
  const status = submit(number)
  if (status !== Status.ok) return Promise.reject(errorOf(lastProblem(), what))
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  listen(number, new Job(queue, number, what, options, resolve, reject))
  return promise
}

export const queueRun = (
  queue: number,
  program: number,
  input: Uint8Array,
  options?: JobOptions,
): Promise<number> =>
  start(
    queue,
    'program',
    (n) => native.leaven_queue_run(queue, n, program, address(input), input.length),
    options,
  )

export const queueCopy = (
  queue: number,
  from: { buffer: number; offset: number },
  to: { buffer: number; offset: number },
  size: number,
): Promise<number> =>
  start(queue, 'queue', (n) =>
    native.leaven_queue_copy(queue, n, from.buffer, from.offset, to.buffer, to.offset, size),
  )

export const queueFill = (
  queue: number,
  buffer: number,
  offset: number,
  size: number,
  value: number,
): Promise<number> =>
  start(queue, 'queue', (n) => native.leaven_queue_fill(queue, n, buffer, offset, size, value))

export const queueSignal = (queue: number, fence: number, value: number): Promise<number> =>
  start(queue, 'queue', (n) => native.leaven_queue_signal(queue, n, fence, value))

export const queueWait = (
  queue: number,
  fence: number,
  value: number,
  signal?: AbortSignal,
): Promise<number> =>
  start(queue, 'queue', (n) => native.leaven_queue_wait(queue, n, fence, value), { signal })

export const createFence = (): number => expectHandle(native.leaven_fence_create(vm()), 'fence')

export const signalFence = (fence: number, value: number): void =>
  expectOk(native.leaven_fence_signal(fence, value), 'fence')

/** The fence's present value. */
export const fenceValue = (fence: number): number => native.leaven_fence_value(fence)

export const releaseFence = (fence: number): void =>
  expectOk(native.leaven_fence_release(fence), 'fence')
