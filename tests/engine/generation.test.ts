// Generations over a scripted model: what comes out, when it ends, and who is told.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ContextOverflowError, EmptyPromptError } from '../../src/errors/index.ts'
import { sample } from '../tier.ts'
import { ScriptedModel } from './scripted_model.ts'

const unhandled: unknown[] = []
const note = (reason: unknown) => unhandled.push(reason)
beforeAll(() => process.on('unhandledRejection', note))
afterAll(async () => {
  await Bun.sleep(10)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

const all = async <T>(values: AsyncIterable<T>): Promise<T[]> => {
  const list: T[] = []
  for await (const value of values) list.push(value)
  return list
}

const failure = async (promise: PromiseLike<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  )

/** Lets other work go on between steps, as a device does. */
const slowly = { beforeStep: () => new Promise<void>((resolve) => setImmediate(resolve)) }

describe('text', () => {
  test('characters cut between tokens come whole', async () => {
    const model = new ScriptedModel([[0xf0, 0x9f], [0xa6], [0x99, 0x21]])
    expect(await all(model.generate().text)).toEqual(['🦙!'])
  })

  test('a character cut by the end shows as U+FFFD, and its bytes are in the tokens', async () => {
    const model = new ScriptedModel([[0x61, 0xf0, 0x9f], 'b'])
    const generation = model.generate('x', { maxTokens: 1 })
    expect(await all(generation.text)).toEqual(['a', '\ufffd'])
    const { text, tokens, finishReason } = await generation
    expect({ text, tokens, finishReason }).toEqual({
      text: 'a\ufffd',
      tokens: [1],
      finishReason: 'length',
    })
  })

  test('a byte order mark is text', async () => {
    expect((await new ScriptedModel([[0xef, 0xbb, 0xbf, 0x41]]).generate()).text).toBe('\ufeffA')
  })

  test('parts carry every token once, and end with the usage', async () => {
    const model = new ScriptedModel(['a', [0xc3], [0xa9], 'c'])
    const parts = await all(model.generate('abc', { stop: ['c!'] }))
    expect(parts).toEqual([
      { type: 'text', text: 'a', tokens: [1] },
      { type: 'text', text: 'é', tokens: [2, 3] },
      { type: 'text', text: 'c', tokens: [4] },
      { type: 'usage', usage: { promptTokens: 3, completionTokens: 4 } },
    ])
  })

  test('tokens beyond the vocabulary have no text', async () => {
    const model = new ScriptedModel(['a', 'b', 'c'], { vocabularySize: 2 })
    const { text, tokens } = await model.generate()
    expect({ text, tokens }).toEqual({ text: 'a', tokens: [1, 2, 3] })
  })
})

describe('stop strings', () => {
  const stopped = async (stop: string[], pieces: string[]) => {
    const generation = new ScriptedModel(pieces).generate('x', { stop })
    const streamed = await all(generation.text)
    const { text, finishReason, stopString } = await generation
    expect(streamed.join('')).toBe(text)
    return { text, finishReason, stopString }
  }

  test('are held back until they are decided', async () => {
    expect(await stopped(['O P Q'], [' L', ' M', ' N', ' O', ' P', ' Q', ' R'])).toEqual({
      text: ' L M N ',
      finishReason: 'stop-string',
      stopString: 'O P Q',
    })
  })

  test('leave what stands in front of them in the same token', async () => {
    const { text, stopString } = await stopped(['\n'], [' Mars', '?\n'])
    expect([text, stopString]).toEqual([' Mars?', '\n'])
  })

  test('that do not come give back what was held, once', async () => {
    expect(await stopped(['\n', 'Alice:'], [' Alice', '!', ' x'])).toEqual({
      text: ' Alice! x',
      finishReason: 'stop',
      stopString: undefined,
    })
    expect((await stopped(['abc'], ['ab'])).text).toBe('ab')
  })

  test('end decoding at once, and their tokens are counted', async () => {
    const model = new ScriptedModel(['a', '\n', 'b', 'c'])
    const { tokens, usage } = await model.generate('x', { stop: ['\n'] })
    expect(tokens).toEqual([1, 2])
    expect(usage.completionTokens).toBe(2)
    expect(model.steps).toHaveLength(2)
  })

  test('what is streamed is what is awaited, however the bytes are cut', async () => {
    const letters = fc.array(fc.constantFrom('a', 'b', 'é', '🦙'), { maxLength: 12 })
    const stops = fc.array(
      letters.filter((list) => list.length > 0 && list.length < 4).map((list) => list.join('')),
      { maxLength: 3 },
    )
    const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(letters, stops, sizes, async (list, stop, lengths) => {
        const whole = list.join('')
        const bytes = [...new TextEncoder().encode(whole)]
        const pieces: number[][] = []
        for (let i = 0; bytes.length > 0; i++) {
          pieces.push(bytes.splice(0, lengths[i % lengths.length]!))
        }
        const generation = new ScriptedModel(pieces).generate('x', { stop })
        const [streamed, parts, result] = await Promise.all([
          all(generation.text),
          all(generation),
          generation,
        ])
        const ends = stop.flatMap((s) => (whole.includes(s) ? [whole.indexOf(s) + s.length] : []))
        const end = Math.min(...ends)
        const longest = stop
          .filter((s) => whole.slice(0, end).endsWith(s))
          .sort((a, b) => b.length - a.length)[0]
        const expected = longest === undefined ? whole : whole.slice(0, end - longest.length)
        expect(result.text).toBe(expected)
        expect(result.stopString).toBe(longest as string)
        expect(streamed.join('')).toBe(expected)
        expect(parts.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe(expected)
        expect(parts.flatMap((part) => (part.type === 'text' ? part.tokens : []))).toEqual(
          result.tokens,
        )
      }),
      { numRuns: sample({ test: 300, ci: 3_000, full: 100_000 }) },
    )
  }, 1_200_000)
})

describe('ends', () => {
  test('the end token ends it, and is not one of the tokens', async () => {
    const model = new ScriptedModel(['a', 'b'])
    const { text, tokens, finishReason, usage } = await model.generate('xyz')
    expect({ text, tokens, finishReason, usage }).toEqual({
      text: 'ab',
      tokens: [1, 2],
      finishReason: 'stop',
      usage: { promptTokens: 3, completionTokens: 2 },
    })
    expect(model.steps).toEqual([[1, 1, 1], [1], [2]])
    expect(model.releaseCount).toBe(1)
  })

  test('maxTokens ends it without a step for the last token', async () => {
    const model = new ScriptedModel(['a'], { repeat: true })
    const { text, finishReason } = await model.generate('x', { maxTokens: 3 })
    expect([text, finishReason]).toEqual(['aaa', 'length'])
    expect(model.steps).toHaveLength(3)
  })

  test('maxTokens 0 runs the prompt alone', async () => {
    const model = new ScriptedModel(['a'])
    const { text, finishReason } = await model.generate('x', { maxTokens: 0 })
    expect([text, finishReason, model.steps.length]).toEqual(['', 'length', 1])
  })

  test('a prompt that fills the context gives one token', async () => {
    const model = new ScriptedModel(['a'], { repeat: true, contextSize: 4 })
    const { text, finishReason } = await model.generate('full')
    expect([text, finishReason]).toEqual(['a', 'length'])
  })

  test('without maxTokens it ends where the context does', async () => {
    const model = new ScriptedModel(['a'], { repeat: true, contextSize: 6 })
    const { text, finishReason } = await model.generate('full')
    expect([text, finishReason]).toEqual(['aaa', 'length'])
  })

  test('a prompt longer than the context is refused with both numbers', async () => {
    const model = new ScriptedModel(['a'], { contextSize: 4 })
    const error = (await failure(model.generate('fuller'))) as ContextOverflowError
    expect(error).toBeInstanceOf(ContextOverflowError)
    expect([error.needed, error.available]).toEqual([6, 4])
    expect([model.steps.length, model.releaseCount]).toEqual([0, 1])
    expect((await model.generate('x')).text).toBe('a')
  })

  test('an empty prompt is refused before a sequence is asked for', async () => {
    const model = new ScriptedModel(['a'])
    expect(await failure(model.generate(''))).toBeInstanceOf(EmptyPromptError)
    expect(model.openCount).toBe(0)
    expect((await model.generate('x')).text).toBe('a')
  })

  test('timings and seed are told', async () => {
    const release = () => Bun.sleep(400)
    const model = new ScriptedModel(['a', 'b'], { ...slowly, release })
    const { timings, seed } = await model.generate('x', { seed: 2n ** 53n + 1n })
    expect(seed).toBe(9007199254740993n)
    expect(timings.promptMs).toBeGreaterThan(0)
    // Giving the sequence back is not part of it.
    expect(timings.generateMs).toBeLessThan(400)
    expect(timings.promptTokensPerSecond).toBeCloseTo(1000 / timings.promptMs)
    expect(timings.tokensPerSecond).toBeCloseTo(1000 / timings.generateMs)
    expect(timings.timeToFirstTokenMs).toBeGreaterThanOrEqual(timings.promptMs)
  })
})

describe('one run, many readers', () => {
  test('nothing is done before someone reads or awaits', async () => {
    const model = new ScriptedModel(['a'])
    const generation = model.generate()
    generation.toReadableStream()
    generation.toResponse()
    generation.text[Symbol.asyncIterator]()
    await Bun.sleep(2)
    expect(model.openCount).toBe(0)
    expect((await generation).text).toBe('a')
  })

  test('each gets everything, also the one who comes late', async () => {
    const model = new ScriptedModel(['a', 'b', 'c'], slowly)
    const generation = model.generate()
    const [first, second, result] = await Promise.all([
      all(generation.text),
      all(generation.text),
      generation,
    ])
    expect(first).toEqual(['a', 'b', 'c'])
    expect(second).toEqual(first)
    expect(result.text).toBe('abc')
    expect(await all(generation.text)).toEqual(first)
    expect(await generation).toBe(result)
    expect(model.openCount).toBe(1)
  })

  test('requests made at once are answered in order', async () => {
    const texts = new ScriptedModel(['a', 'b'], slowly).generate().text[Symbol.asyncIterator]()
    const answers = await Promise.all([texts.next(), texts.next(), texts.next()])
    expect(answers.map(({ value }) => value)).toEqual(['a', 'b', undefined])
  })
})

describe('ending early', () => {
  const endless = () =>
    new ScriptedModel(['ab '], { repeat: true, contextSize: 100_000, ...slowly })

  test('breaking out of a loop stops decoding and frees the sequence', async () => {
    const model = endless()
    let count = 0
    for await (const _ of model.generate().text) if (++count === 2) break
    await Bun.sleep(5)
    expect(model.steps.length).toBeLessThanOrEqual(4)
    expect(model.releaseCount).toBe(1)
    const { finishReason } = await model.generate('x', { maxTokens: 2 })
    expect(finishReason).toBe('length')
  })

  test('after a break there is still a result', async () => {
    const generation = endless().generate()
    for await (const _ of generation) break
    const { finishReason, text, tokens } = await generation
    expect(finishReason).toBe('abort')
    expect(text).toBe('ab '.repeat(tokens.length))
  })

  test('a reader who goes does not stop what another awaits', async () => {
    const generation = endless().generate('x', { maxTokens: 5 })
    const result = generation.then((r) => r)
    for await (const _ of generation.text) break
    expect((await result).tokens).toHaveLength(5)
  })

  test('an error in the loop body stops decoding', async () => {
    const model = endless()
    const loop = async () => {
      for await (const _ of model.generate().text) throw new Error('mine')
    }
    expect(await failure(loop())).toEqual(new Error('mine'))
    await Bun.sleep(5)
    expect(model.releaseCount).toBe(1)
  })

  test('dispose ends quietly for everyone', async () => {
    const model = endless()
    const generation = model.generate()
    const texts = all(generation.text)
    const result = generation.then((r) => r)
    await Bun.sleep(3)
    generation.dispose()
    expect((await result).finishReason).toBe('abort')
    expect((await texts).join('')).toBe((await result).text)
    expect(model.releaseCount).toBe(1)
  })

  test('disposed of before its start, it does nothing', async () => {
    const model = endless()
    using generation = model.generate()
    generation.dispose()
    const { text, finishReason, usage } = await generation
    expect({ text, finishReason, usage }).toEqual({
      text: '',
      finishReason: 'abort',
      usage: { promptTokens: 0, completionTokens: 0 },
    })
    expect(model.openCount).toBe(0)
  })

  test('returning while the next part is awaited takes effect at once', async () => {
    const { promise: never } = Promise.withResolvers<void>()
    const model = new ScriptedModel(['a'], { beforeStep: () => never })
    const iterator = model.generate()[Symbol.asyncIterator]()
    const waiting = iterator.next()
    await iterator.return!()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })
})

describe('AbortSignal', () => {
  test('aborted before, it rejects with the reason before any work', async () => {
    const model = new ScriptedModel(['a'])
    const reason = new Error('never mind')
    const generation = model.generate('x', { signal: AbortSignal.abort(reason) })
    expect(await failure(generation)).toBe(reason)
    expect(await failure(all(generation.text))).toBe(reason)
    expect(model.openCount).toBe(0)
  })

  test('aborted in the prompt, the step is told and everyone gets the reason', async () => {
    const controller = new AbortController()
    const model = new ScriptedModel(['a'], {
      beforeStep: (_, signal) =>
        new Promise((_, reject) => {
          signal!.addEventListener('abort', () => reject(new Error('the device says so')))
          queueMicrotask(() => controller.abort('enough'))
        }),
    })
    const generation = model.generate('x', { signal: controller.signal })
    const [awaited, read] = await Promise.all([failure(generation), failure(all(generation))])
    expect([awaited, read]).toEqual(['enough', 'enough'])
    expect(model.releaseCount).toBe(1)
  })

  test('aborted midway, readers get what there is and then the reason', async () => {
    const controller = new AbortController()
    const model = new ScriptedModel(['a', 'b', 'c', 'd'], slowly)
    const generation = model.generate('x', { signal: controller.signal })
    const seen: string[] = []
    const loop = async () => {
      for await (const text of generation.text) {
        seen.push(text)
        if (seen.length === 2) controller.abort()
      }
    }
    const error = (await failure(loop())) as DOMException
    expect(error).toBe(controller.signal.reason)
    expect(error.name).toBe('AbortError')
    expect(seen).toEqual(['a', 'b'])
    expect(await failure(generation)).toBe(error)
    expect(model.releaseCount).toBe(1)
  })

  test('aborted while waiting for a sequence, the sequence is given back', async () => {
    const controller = new AbortController()
    const model = new ScriptedModel(['a'], { open: () => controller.abort('late') })
    expect(await failure(model.generate('x', { signal: controller.signal }))).toBe('late')
    expect([model.steps.length, model.releaseCount]).toEqual([0, 1])
  })

  test('aborted after the end, nothing happens, and no listener is left', async () => {
    const controller = new AbortController()
    let listeners = 0
    const { signal } = controller
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (...args: unknown[]) => {
      listeners++
      Reflect.apply(addEventListener, signal, args)
    }
    signal.removeEventListener = (...args: unknown[]) => {
      listeners--
      Reflect.apply(removeEventListener, signal, args)
    }
    const generation = new ScriptedModel(['a']).generate('x', { signal })
    expect((await generation).text).toBe('a')
    expect(listeners).toBe(0)
    controller.abort()
    expect(await all(generation.text)).toEqual(['a'])
  })
})

describe('failures', () => {
  test('of a step reject, are thrown by streams, and free the sequence', async () => {
    const broken = new Error('device lost')
    const model = new ScriptedModel(['a', 'b'], {
      beforeStep: (tokens) => {
        if (tokens[0] === 1 && model.steps.length > 0) throw broken
      },
    })
    const generation = model.generate()
    expect(await failure(generation)).toBe(broken)
    const seen: string[] = []
    const loop = async () => {
      for await (const text of generation.text) seen.push(text)
    }
    expect(await failure(loop())).toBe(broken)
    expect(seen).toEqual(['a'])
    expect(model.releaseCount).toBe(1)
  })

  test('of releasing are not hidden', async () => {
    const model = new ScriptedModel(['a'], {
      release: () => {
        throw new Error('stuck')
      },
    })
    expect(await failure(model.generate())).toEqual(new Error('stuck'))
  })

  test('that nobody waits for disturb nobody', async () => {
    const model = new ScriptedModel(['a', 'b'], {
      beforeStep: async () => {
        await Bun.sleep(2)
        throw new Error('device lost')
      },
    })
    const iterator = model.generate().text[Symbol.asyncIterator]()
    const waiting = iterator.next()
    await Bun.sleep(0)
    expect(model.openCount).toBe(1)
    await iterator.return!()
    expect(await waiting).toEqual({ done: true, value: undefined })
    await Bun.sleep(5)
    expect(model.releaseCount).toBe(1)
  })
})
