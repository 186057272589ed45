// Runs work that is written as a generator: at once, or in slices that let the event loop breathe.
import { GgufError } from '../errors/index.ts'
import type { ByteSource, SyncByteSource } from './byte_source.ts'

/** Bytes that the work needs next. */
export interface ReadRequest {
  readonly offset: number
  readonly length: number
}

/**
 * Work in steps. It yields a request to be given those bytes, or undefined where it may pause;
 * the steps between two yields are kept well under a millisecond.
 */
export type Steps<T> = Generator<ReadRequest | undefined, T, Uint8Array | undefined>

// A turn of the loop costs a few microseconds, so slices of one millisecond are nearly free.
const sliceMs = 1

const checked = (source: ByteSource, request: ReadRequest, bytes: Uint8Array): Uint8Array => {
  if (bytes.length === request.length) return bytes
  const offset = request.offset + bytes.length
  throw new GgufError(
    { file: source.name, field: 'file', offset, value: source.size },
    `it ended here, though its size was ${source.size}: was it changed while being read?`,
  )
}

/** Runs `steps` to the end on this thread without a pause. */
export const runNow = <T>(steps: Steps<T>, source: SyncByteSource): T => {
  let step = steps.next()
  while (!step.done) {
    const request = step.value
    const bytes = request && checked(source, request, source.read(request.offset, request.length))
    step = steps.next(bytes)
  }
  return step.value
}

/** Runs `steps` in slices of about a millisecond; rejects with `signal.reason` when aborted. */
export const runSliced = async <T>(
  steps: Steps<T>,
  source?: ByteSource,
  signal?: AbortSignal,
): Promise<T> => {
  signal?.throwIfAborted()
  let sliceStart = performance.now()
  let step = steps.next()
  while (!step.done) {
    const request = step.value
    let bytes: Uint8Array | undefined
    if (request && source) {
      bytes = checked(source, request, await source.read(request.offset, request.length))
    }
    if (performance.now() - sliceStart > sliceMs) {
      await new Promise((resolve) => setImmediate(resolve))
      signal?.throwIfAborted()
      sliceStart = performance.now()
    }
    step = steps.next(bytes)
  }
  return step.value
}
