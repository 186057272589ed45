// How native work reports its end. Messages wait in native memory; a pipe, read as a stream, says
// that there are some. The stream keeps the process alive, so it is open only while jobs are under
// way, and a little longer. Bun cannot read a pipe of ours on Windows: there it looks from time to
// time, and elsewhere when LEAVEN_CHANNEL is `poll`, for tests.
import { ptr } from 'bun:ffi'
import { closeSync } from 'node:fs'
import { native } from './library.ts'
import { type Problem, problemBytes, readProblem, Status } from './status.ts'
import { vm } from './vm.ts'

/**
 * A pause between two tokens does not close the stream; waiting longer delays nobody's exit much.
 */
const lingerMs = 20

const polls = process.platform === 'win32' || process.env.LEAVEN_CHANNEL === 'poll'

/** A step of a small model ends sooner than a timer fires: the first looks do not wait for one. */
const eagerMs = 2
const pollMs = 1

/** What wants to know of a job. */
export interface JobListener {
  /** The job is over, with this problem if it has failed. */
  end(nanoseconds: number, problem: Problem | undefined): void
  /** A segment of the job waits for JavaScript. */
  segment(index: number): void
}

const listeners = new Map<number, JobListener>()
let nextJob = 0
let closeReader: (() => void) | undefined
let lingers = false
let lastEnd = 0

/** A number for a new job that no job under way has. */
export const jobNumber = (): number => {
  do nextJob = (nextJob + 1) >>> 0
  while (listeners.has(nextJob))
  return nextJob
}

/** Tells `listener` of `job`. Call it when the job has been accepted, in the same turn. */
export const listen = (job: number, listener: JobListener): void => {
  listeners.set(job, listener)
  if (closeReader === undefined) openReader()
}

const openReader = () => {
  const descriptor = polls ? -1 : native.leaven_vm_reader(vm())
  if (descriptor < 0) {
    startPolling()
    return
  }
  const reader = Bun.file(descriptor).stream().getReader()
  closeReader = () => {
    closeReader = undefined
    void reader.cancel().finally(() => closeSync(descriptor))
  }
  void receive(reader)
}

/** For want of a pipe. */
const startPolling = () => {
  let over = false
  closeReader = () => {
    closeReader = undefined
    over = true
  }
  const poll = () => {
    if (over) return
    takeMessages()
    if (listeners.size === 0) closeReader?.()
    else if (performance.now() - lastEnd < eagerMs) setImmediate(poll)
    else setTimeout(poll, pollMs)
  }
  lastEnd = performance.now()
  setImmediate(poll)
}

const receive = async (reader: ReadableStreamDefaultReader<Uint8Array>) => {
  do takeMessages()
  while (!(await reader.read()).done)
}

/** The struct `Message` of zig/runtime/channel.zig. */
const message = new DataView(new ArrayBuffer(256))
const messageAddress = ptr(message)
const problemOffset = message.byteLength - problemBytes

const takeMessages = () => {
  while (native.leaven_vm_take(vm(), messageAddress) !== 0) deliver()
  if (listeners.size > 0 || lingers) return
  lingers = true
  setTimeout(closeIdle, lingerMs)
}

const deliver = () => {
  const job = message.getUint32(0, true)
  const listener = listeners.get(job)
  if (listener === undefined) return
  const segment = message.getUint32(4, true)
  if (segment > 0) {
    listener.segment(segment - 1)
    return
  }
  listeners.delete(job)
  lastEnd = performance.now()
  const failed = message.getUint32(problemOffset, true) !== Status.ok
  listener.end(
    message.getFloat64(8, true),
    failed ? readProblem(message, problemOffset) : undefined,
  )
}

/** One timer for many jobs: it is not set anew with each of them. */
const closeIdle = () => {
  const idle = listeners.size === 0
  lingers = idle && performance.now() - lastEnd < lingerMs
  if (lingers) setTimeout(closeIdle, lingerMs)
  else if (idle) closeReader?.()
}
