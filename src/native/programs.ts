// Native programs, queues and fences: thin calls with errors.
import {
  channelHandle,
  channelReady,
  type Completion,
  expectCompletion,
  jobNumber,
} from './completions.ts'
import { native } from './library.ts'
import { address } from './memory.ts'
import { errorOf, expectHandle, expectOk, lastProblem, Status } from './status.ts'

/** Which memory a slot of an image means. */
export interface NativeBinding {
  slot: number
  buffer: number
  offset: number
}

const bindingBytes = 16

/** Copies, checks and prepares an image; `threads` 0 is one per processor. */
export const createProgram = (image: Uint8Array, threads: number): number =>
  expectHandle(native.leaven_program_create(address(image), image.length, threads), 'program')

/** Binds slots and, where `extents` is not empty, sets all extents. */
export const updateProgram = (
  program: number,
  bindings: readonly NativeBinding[],
  extents: Uint32Array,
): void => {
  const bytes = new Uint8Array(new ArrayBuffer(Math.max(1, bindings.length) * bindingBytes))
  const view = new DataView(bytes.buffer)
  bindings.forEach((binding, i) => {
    view.setUint32(i * bindingBytes, binding.slot, true)
    view.setUint32(i * bindingBytes + 4, binding.buffer, true)
    view.setFloat64(i * bindingBytes + 8, binding.offset, true)
  })
  const status = native.leaven_program_update(
    program,
    address(bytes),
    bindings.length,
    address(extents),
    extents.length,
  )
  expectOk(status, 'program')
}

/** Runs on this thread, which waits. */
export const runProgram = (program: number, input: Uint8Array): void =>
  expectOk(native.leaven_program_run(program, address(input), input.length), 'program')

export const releaseProgram = (program: number): void =>
  expectOk(native.leaven_program_release(program), 'program')

export const createQueue = (): number =>
  expectHandle(native.leaven_queue_create(channelHandle()), 'queue')

export const releaseQueue = (queue: number): void =>
  expectOk(native.leaven_queue_release(queue), 'queue')

export interface JobOptions {
  signal?: AbortSignal | undefined
  /** Called when a segment of a run waits for JavaScript; the run goes on when it has resolved. */
  observe?: ((segment: number) => void | Promise<void>) | undefined
}

/**
 * Submits a job and waits for its end: `submit` gets the job's number and returns a status.
 * Rejects with the signal's reason when it was aborted, else with the job's own error.
 */
const job = (
  queue: number,
  what: string,
  submit: (job: number) => number,
  options: JobOptions = {},
): Promise<Completion> => {
  const { signal, observe } = options
  if (signal?.aborted) return Promise.reject(signal.reason)
  const closing = channelReady()
  if (closing !== undefined) return closing.then(() => job(queue, what, submit, options))
  const number = jobNumber()
  const status = submit(number)
  if (status !== Status.ok) return Promise.reject(errorOf(lastProblem(), what))
  return new Promise((resolve, reject) => {
    let failure: unknown
    const abort = () => native.leaven_queue_cancel(queue, number)
    signal?.addEventListener('abort', abort, { once: true })
    const end = (completion: Completion) => {
      signal?.removeEventListener('abort', abort)
      if (failure !== undefined) reject(failure)
      else if (completion.problem.status === Status.ok) resolve(completion)
      else if (signal?.aborted) reject(signal.reason)
      else reject(errorOf(completion.problem, what))
    }
    const segment = async (index: number) => {
      try {
        await observe?.(index)
        native.leaven_queue_resume(queue, number)
      } catch (error) {
        failure = error
        abort()
      }
    }
    expectCompletion(number, end, segment)
  })
}

export const queueRun = (
  queue: number,
  program: number,
  input: Uint8Array,
  options?: JobOptions,
): Promise<Completion> =>
  job(
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
): Promise<Completion> =>
  job(queue, 'queue', (n) =>
    native.leaven_queue_copy(queue, n, from.buffer, from.offset, to.buffer, to.offset, size),
  )

export const queueFill = (
  queue: number,
  buffer: number,
  offset: number,
  size: number,
  value: number,
): Promise<Completion> =>
  job(queue, 'queue', (n) => native.leaven_queue_fill(queue, n, buffer, offset, size, value))

export const queueSignal = (queue: number, fence: number, value: number): Promise<Completion> =>
  job(queue, 'queue', (n) => native.leaven_queue_signal(queue, n, fence, value))

export const queueWait = (
  queue: number,
  fence: number,
  value: number,
  signal?: AbortSignal,
): Promise<Completion> =>
  job(queue, 'queue', (n) => native.leaven_queue_wait(queue, n, fence, value), { signal })

export const createFence = (): number => expectHandle(native.leaven_fence_create(), 'fence')

export const signalFence = (fence: number, value: number): void =>
  expectOk(native.leaven_fence_signal(fence, value), 'fence')

/** The fence's present value. */
export const fenceValue = (fence: number): number => native.leaven_fence_value(fence)

export const releaseFence = (fence: number): void =>
  expectOk(native.leaven_fence_release(fence), 'fence')
