// How native work reports its end: one pipe per JavaScript VM, read as a stream. The stream keeps
// the process alive, so it is open only while jobs are under way, and a little longer. Bun cannot
// read a pipe of ours on Windows: there it is polled while jobs are under way, and elsewhere when
// LEAVEN_CHANNEL is `poll`, for tests.
import { ptr } from 'bun:ffi'
import { closeSync } from 'node:fs'
import { DeviceError } from '../errors/index.ts'
import { native } from './library.ts'
import { expectHandle, type Problem, problemBytes, readProblem } from './status.ts'

/** Bytes of one message, the struct `Message` of zig/runtime/channel.zig. */
const messageBytes = 256
const headerBytes = messageBytes - problemBytes

/**
 * A pause between two tokens does not close the stream; waiting longer delays nobody's exit much.
 */
const lingerMs = 20

/** The end of a job. */
export interface Completion {
  problem: Problem
  nanoseconds: number
}

interface Waiting {
  end: (completion: Completion) => void
  /** Called when a segment of the job waits for JavaScript. */
  segment: ((segment: number) => void) | undefined
}

const waiting = new Map<number, Waiting>()
let channel = 0
let nextJob = 1
let closeReader: (() => void) | undefined
let lingering: Timer | undefined
/** Settles when the last reader is gone. A stream being cancelled may still swallow a message. */
let closing: Promise<void> | undefined

/** The VM's channel, made on first use. */
export const channelHandle = (): number => {
  if (channel === 0) channel = expectHandle(native.leaven_channel_create(), 'channel')
  return channel
}

/** A number for a new job that no job under way has. */
export const jobNumber = (): number => {
  do nextJob = (nextJob + 1) >>> 0
  while (nextJob === 0 || waiting.has(nextJob))
  return nextJob
}

/** Undefined when a job may be submitted now; else when to ask again. */
export const channelReady = (): Promise<void> | undefined => closing

/**
 * Calls `end` when `job` is over, and `segment` each time one of its segments waits for
 * JavaScript. Call it after the job has been accepted, in the same turn.
 */
export const expectCompletion = (
  job: number,
  end: (completion: Completion) => void,
  segment?: (segment: number) => void,
): void => {
  waiting.set(job, { end, segment })
  if (lingering !== undefined) {
    clearTimeout(lingering)
    lingering = undefined
  }
  if (polls) startPolling()
  else if (closeReader === undefined) openReader()
}

const polls = process.platform === 'win32' || process.env.LEAVEN_CHANNEL === 'poll'

/** A step of a small model ends sooner than a timer fires: the first polls do not wait for one. */
const eagerMs = 2
const pollMs = 1
const inbox = new Uint8Array(new ArrayBuffer(64 * messageBytes))
let polling = false

const startPolling = () => {
  if (polling) return
  polling = true
  let since = performance.now()
  const poll = () => {
    const size = native.leaven_channel_poll(channelHandle(), ptr(inbox), inbox.length)
    for (let at = 0; at < size; at += messageBytes) deliver(inbox, at)
    polling = waiting.size > 0
    if (!polling) return
    const now = performance.now()
    if (size > 0) since = now
    if (now - since < eagerMs) setImmediate(poll)
    else setTimeout(poll, pollMs)
  }
  setImmediate(poll)
}

const openReader = () => {
  const descriptor = native.leaven_channel_reader(channelHandle())
  if (descriptor < 0) throw new DeviceError('cpu', 'no file descriptor is free')
  const reader = Bun.file(descriptor).stream().getReader()
  closeReader = () => {
    closeReader = undefined
    closing = reader.cancel().finally(() => {
      closeSync(descriptor)
      closing = undefined
    })
  }
  void receive(reader)
}

const receive = async (reader: ReadableStreamDefaultReader<Uint8Array>) => {
  let rest = new Uint8Array(0)
  for (;;) {
    const { value, done } = await reader.read()
    if (done || value === undefined) return
    let bytes = value
    if (rest.length > 0) {
      bytes = new Uint8Array(rest.length + value.length)
      bytes.set(rest)
      bytes.set(value, rest.length)
    }
    let at = 0
    for (; at + messageBytes <= bytes.length; at += messageBytes) deliver(bytes, at)
    rest = bytes.slice(at)
    if (waiting.size === 0 && lingering === undefined) {
      lingering = setTimeout(() => {
        lingering = undefined
        if (waiting.size === 0) closeReader?.()
      }, lingerMs)
    }
  }
}

const deliver = (bytes: Uint8Array, at: number) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, headerBytes)
  const job = view.getUint32(0, true)
  const entry = waiting.get(job)
  if (entry === undefined) return
  const segment = view.getUint32(4, true)
  if (segment > 0) {
    entry.segment?.(segment - 1)
    return
  }
  waiting.delete(job)
  entry.end({
    nanoseconds: view.getFloat64(8, true),
    problem: readProblem(bytes, at + headerBytes),
  })
}
