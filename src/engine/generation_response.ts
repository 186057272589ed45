// Generations as Web streams and responses.
import { LeavenError } from '../errors/index.ts'
import type { Part, Result } from './generation_result.ts'

/** Proxies and servers close connections that say nothing, Bun's after 10 s. */
const PING_MS = 5_000

const encoder = new TextEncoder()

/** UTF-8 of what is read; nothing is read before the stream is. */
export function textStream(text: AsyncIterator<string>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await text.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        await text.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

interface Event {
  text: string
  isLast: boolean
}

/**
 * Server-sent events: each part as a message, then `event: result` with everything of the result
 * but text and tokens, which the parts have. A failure is `event: error` with `code` and `message`.
 * Comments keep the connection open while nothing comes.
 */
export function eventStream(
  parts: AsyncIterator<Part>,
  result: PromiseLike<Result>,
  pingMs = PING_MS,
): ReadableStream<Uint8Array> {
  let waiting: Promise<Event> | undefined
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        waiting ??= nextEvent(parts, result)
        const { promise: idle, resolve } = Promise.withResolvers<undefined>()
        const timer = setTimeout(resolve, pingMs, undefined)
        const event = await Promise.race([waiting, idle])
        clearTimeout(timer)
        if (event !== undefined) waiting = undefined
        controller.enqueue(encoder.encode(event?.text ?? ': still at work\n\n'))
        if (event?.isLast) controller.close()
      },
      async cancel() {
        await parts.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

async function nextEvent(parts: AsyncIterator<Part>, result: PromiseLike<Result>): Promise<Event> {
  try {
    const { done, value } = await parts.next()
    if (!done) return { text: message(value), isLast: false }
    const { text: _text, tokens: _tokens, seed, ...rest } = await result
    return { text: message({ ...rest, seed: String(seed) }, 'result'), isLast: true }
  } catch (error) {
    return { text: message(describe(error), 'error'), isLast: true }
  }
}

const message = (data: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`

const describe = (error: unknown): { code: string; message: string } => {
  if (error instanceof LeavenError) return { code: error.code, message: error.message }
  if (error instanceof Error) return { code: error.name, message: error.message }
  return { code: 'Error', message: String(error) }
}
