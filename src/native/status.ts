// Turns a native status and its story into a typed error.
import { ptr } from 'bun:ffi'
import { DeviceError, DisposedError, LeavenError, OutOfMemoryError } from '../errors/index.ts'
import { native } from './library.ts'

/** The codes of zig/runtime/problem.zig. */
export const Status = {
  ok: 0,
  invalidArgument: 1,
  invalidImage: 2,
  outOfMemory: 3,
  staleHandle: 4,
  shape: 5,
  busy: 6,
  cancelled: 7,
  badIndex: 8,
  file: 9,
  unsupported: 10,
  deviceLost: 11,
} as const

/** A status with its message and the two numbers that go with it. */
export interface Problem {
  status: number
  message: string
  a: number
  b: number
}

export const problemBytes = 240
const headerBytes = 24

const decoder = new TextDecoder()

/** Reads the struct `Problem` of zig/runtime/problem.zig. */
export const readProblem = (view: DataView, at = 0): Problem => {
  const size = Math.min(view.getUint32(at + 4, true), problemBytes - headerBytes)
  return {
    status: view.getUint32(at, true),
    message: decoder.decode(new Uint8Array(view.buffer, view.byteOffset + at + headerBytes, size)),
    a: view.getFloat64(at + 8, true),
    b: view.getFloat64(at + 16, true),
  }
}

const codes: Record<number, string> = {
  [Status.invalidArgument]: 'INVALID_ARGUMENT',
  [Status.invalidImage]: 'IMAGE_INVALID',
  [Status.shape]: 'SHAPE_MISMATCH',
  [Status.busy]: 'BUSY',
  [Status.cancelled]: 'CANCELLED',
  [Status.badIndex]: 'INDEX_OUT_OF_RANGE',
  [Status.file]: 'FILE_UNREADABLE',
  [Status.unsupported]: 'UNSUPPORTED',
}

/** The error for a problem; `what` names the object or file at hand. */
export const errorOf = (problem: Problem, what: string): LeavenError => {
  switch (problem.status) {
    case Status.outOfMemory:
      return new OutOfMemoryError({
        device: what,
        needed: problem.a,
        free: problem.b,
        suggestion: 'use a smaller context, batch or model',
      })
    case Status.staleHandle:
      return new DisposedError(what)
    case Status.deviceLost:
      return new DeviceError(what, problem.message)
    default:
      return new LeavenError(codes[problem.status] ?? 'NATIVE', `${what}: ${problem.message}`)
  }
}

const scratch = new DataView(new ArrayBuffer(problemBytes))
const scratchAddress = ptr(scratch)

/** The problem of the native call that has just failed on this thread. */
export const lastProblem = (): Problem => {
  native.leaven_problem(scratchAddress)
  return readProblem(scratch)
}

/** Throws unless `status` is ok. */
export const expectOk = (status: number, what: string): void => {
  if (status !== Status.ok) throw errorOf(lastProblem(), what)
}

/** Throws when a native constructor gave no handle. */
export const expectHandle = (handle: number, what: string): number => {
  if (handle === 0) throw errorOf(lastProblem(), what)
  return handle
}
