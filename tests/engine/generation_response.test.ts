// Generations as Web streams and responses, also over a real connection.
import { describe, expect, test } from 'bun:test'
import type { Result } from '../../src/engine/generation.ts'
import { eventStream } from '../../src/engine/generation_response.ts'
import { LeavenError } from '../../src/errors/index.ts'
import { ScriptedModel } from './scripted_model.ts'

const slowly = { beforeStep: () => Bun.sleep(1) }

/** The events of a body, their data parsed. */
const eventsOf = (body: string): { event: string; data: unknown }[] =>
  body
    .split('\n\n')
    .filter((text) => text.includes('data: '))
    .map((text) => ({
      event: /^event: (.*)$/m.exec(text)?.[1] ?? 'message',
      data: JSON.parse(/^data: (.*)$/m.exec(text)![1]!),
    }))

describe('toReadableStream', () => {
  test('streams UTF-8 text', async () => {
    const stream = new ScriptedModel(['a', [0xc3], [0xa9]]).generate().toReadableStream()
    expect(await new Response(stream).text()).toBe('aé')
  })

  test('cancelling stops decoding', async () => {
    const model = new ScriptedModel(['a'], { repeat: true, ...slowly })
    const reader = model.generate().toReadableStream().getReader()
    await reader.read()
    await reader.cancel()
    await Bun.sleep(5)
    expect(model.releaseCount).toBe(1)
    expect(model.steps.length).toBeLessThan(5)
  })

  test('a failure is the stream’s', async () => {
    const stream = new ScriptedModel(['a']).generate('').toReadableStream()
    const error = await new Response(stream).text().catch((reason) => reason)
    expect(error).toBeInstanceOf(LeavenError)
  })
})

describe('toResponse', () => {
  test('as text is the text alone', async () => {
    const response = new ScriptedModel(['a', 'b']).generate().toResponse({ format: 'text' })
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(await response.text()).toBe('ab')
  })

  test('as events has the parts and then the result', async () => {
    const model = new ScriptedModel(['a\n', 'b', 'stop'])
    const response = model.generate('xy', { stop: ['stop'], seed: 7 }).toResponse()
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const events = eventsOf(await response.text())
    const usage = { promptTokens: 2, completionTokens: 3 }
    expect(events.slice(0, -1)).toEqual([
      { event: 'message', data: { type: 'text', text: 'a\n', tokens: [1] } },
      { event: 'message', data: { type: 'text', text: 'b', tokens: [2] } },
      { event: 'message', data: { type: 'text', text: '', tokens: [3] } },
      { event: 'message', data: { type: 'usage', usage } },
    ])
    const { event, data } = events.at(-1)!
    expect(event).toBe('result')
    expect(data).toMatchObject({
      finishReason: 'stop-string',
      stopString: 'stop',
      usage,
      seed: '7',
    })
    expect(data).not.toHaveProperty('text')
  })

  test('a failure is an event with its code', async () => {
    const events = eventsOf(await new ScriptedModel(['a']).generate('').toResponse().text())
    expect(events).toEqual([
      { event: 'error', data: { code: 'EMPTY_PROMPT', message: expect.any(String) } },
    ])
  })

  test('comments keep the connection open while nothing comes', async () => {
    const parts = new ScriptedModel(['a'], { beforeStep: () => Bun.sleep(20) }).generate()
    const result: PromiseLike<Result> = parts
    const body = await new Response(eventStream(parts[Symbol.asyncIterator](), result, 2)).text()
    expect(body.match(/^: still at work\n\n/g)).not.toBeNull()
    expect(eventsOf(body).map(({ event }) => event)).toEqual(['message', 'message', 'result'])
  })

  test('another format is refused', () => {
    const generation = new ScriptedModel(['a']).generate()
    expect(() => generation.toResponse({ format: 'xml' as 'sse' })).toThrow(RangeError)
  })

  test('a client that goes away stops decoding', async () => {
    const model = new ScriptedModel(['a'], { repeat: true, contextSize: 100_000, ...slowly })
    using server = Bun.serve({ port: 0, fetch: () => model.generate().toResponse() })
    const controller = new AbortController()
    const response = await fetch(server.url, { signal: controller.signal })
    await response.body!.getReader().read()
    controller.abort()
    for (let i = 0; i < 200 && model.releaseCount === 0; i++) await Bun.sleep(5)
    expect(model.releaseCount).toBe(1)
  })
})
