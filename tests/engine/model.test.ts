// The public API on the demo model: load, generate, evaluate, and what each refuses.
import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ContextOverflowError,
  DisposedError,
  EmptyPromptError,
  FileSlice,
  GgufError,
  LeavenError,
  load,
  UnsupportedModelError,
} from '../../src/index.ts'
import { nativeCounters } from '../../src/native/devices.ts'
import { type Alteration, alteredModel, demoModel } from './altered_model.ts'
import { splitModel } from './split_model.ts'

const greedy = { temperature: 0, maxTokens: 24 }
const prompt = 'Once upon a time there was a little girl'

test('the demo model continues a story', async () => {
  await using model = await load(demoModel)
  const { text, tokens, usage, finishReason } = await model.generate(prompt, greedy)
  expect(text).toStartWith(' who had a')
  expect(tokens.length).toBe(24)
  expect(usage).toEqual({ promptTokens: 10, completionTokens: 24 })
  expect(finishReason).toBe('length')
})

test('the pieces of a stream add up to the text, and a seed repeats it', async () => {
  await using model = await load(demoModel)
  const options = { maxTokens: 40, seed: 42 }
  let streamed = ''
  for await (const piece of model.generate(prompt, options).text) streamed += piece
  expect((await model.generate(prompt, options)).text).toBe(streamed)
  expect((await model.generate(prompt, { ...options, seed: 43 })).text).not.toBe(streamed)
})

test('a model may be given as a path, a file URL, Bun.file or bytes', async () => {
  const sources = [
    demoModel,
    Bun.pathToFileURL(demoModel),
    Bun.file(demoModel),
    new Blob([new Uint8Array(readFileSync(demoModel))]),
  ]
  const texts = []
  for (const source of sources) {
    await using model = await load(source)
    texts.push((await model.generate(prompt, greedy)).text)
  }
  expect(new Set(texts).size).toBe(1)
})

test('a model may be a part of a file, wherever it begins, and is mapped there', async () => {
  const bytes = readFileSync(demoModel)
  const folder = mkdtempSync(join(tmpdir(), 'leaven-'))
  try {
    await using whole = await load(demoModel)
    const { text } = await whole.generate(prompt, greedy)
    // On a page, on a multiple of four, and where no number is aligned.
    for (const offset of [16_384, 12, 4099]) {
      const path = join(folder, `from ${offset}`)
      writeFileSync(path, Buffer.concat([Buffer.alloc(offset), bytes, Buffer.alloc(99)]))
      const { mappedBytes } = nativeCounters()
      await using model = await load(new FileSlice(path, offset, bytes.length))
      expect(nativeCounters().mappedBytes - mappedBytes).toBeGreaterThanOrEqual(bytes.length)
      expect((await model.generate(prompt, greedy)).text).toBe(text)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a split model is loaded by its first part, or by all of them', async () => {
  await using whole = await load(demoModel)
  const { text } = await whole.generate(prompt, greedy)
  using split = await splitModel(3)
  const blobs = split.paths.map((path) => new Blob([new Uint8Array(readFileSync(path))]))
  for (const source of [split.paths[0]!, split.paths, blobs]) {
    for (const mmap of [true, false]) {
      await using model = await load(source, { mmap })
      expect(model.info.parameterCount).toBe(whole.info.parameterCount)
      expect((await model.generate(prompt, greedy)).text).toBe(text)
    }
  }
  await expect(load(split.paths[1]!)).rejects.toThrow(/part 2 of 3: open the first/)
  rmSync(split.paths[2]!)
  const missing = load(split.paths[0]!)
  await expect(missing).rejects.toThrow(GgufError)
  await expect(missing).rejects.toThrow(/part 3 of the split file/)
})

test('a file that vanishes or is replaced while it is mapped changes nothing', async () => {
  await using whole = await load(demoModel)
  const { text } = await whole.generate(prompt, greedy)
  using copy = await alteredModel({})
  await using model = await load(copy.path)
  unlinkSync(copy.path)
  writeFileSync(copy.path, 'something else')
  expect((await model.generate(prompt, greedy)).text).toBe(text)
})

test('a file that was read, not mapped, may shrink', async () => {
  using copy = await alteredModel({})
  await using model = await load(copy.path, { mmap: false })
  truncateSync(copy.path, 0)
  const { text } = await model.generate(prompt, greedy)
  expect(text).toStartWith(' who had a')
})

test('reading the file instead of mapping it changes nothing', async () => {
  await using mapped = await load(demoModel)
  await using read = await load(demoModel, { mmap: false })
  const { text } = await mapped.generate(prompt, greedy)
  expect((await read.generate(prompt, greedy)).text).toBe(text)
})

test('evaluate gives logits of every position in any batch size and thread count', async () => {
  await using model = await load(demoModel)
  const tokens = model.tokenizer.encode(prompt)
  const { shape, data } = await model.evaluate(tokens)
  expect(shape).toEqual([10, 3072])
  for (const options of [{ batchSize: 1 }, { batchSize: 3 }, { threads: 1 }]) {
    await using other = await load(demoModel, options)
    const { data: found } = await other.evaluate(tokens)
    const worst = Math.max(...found.map((value, i) => Math.abs(value - data[i]!)))
    expect(worst).toBeLessThan(1e-3)
  }
})

test('generations side by side are what they are alone', async () => {
  await using model = await load(demoModel)
  const prompts = ['Once', 'The king', 'There was once a poor', prompt]
  const alone = []
  for (const p of prompts) alone.push((await model.generate(p, greedy)).text)
  const together = await Promise.all(prompts.map((p) => model.generate(p, greedy)))
  expect(together.map(({ text }) => text)).toEqual(alone)
})

test('an aborted generation rejects with the reason and the next one works', async () => {
  await using model = await load(demoModel)
  const controller = new AbortController()
  const reason = new Error('enough')
  const generation = model.generate(prompt, { maxTokens: 400, signal: controller.signal })
  const iterator = generation.text[Symbol.asyncIterator]()
  await iterator.next()
  controller.abort(reason)
  expect(
    await generation.then(
      () => undefined,
      (error) => error,
    ),
  ).toBe(reason)
  expect((await model.generate(prompt, greedy)).text).toStartWith(' who had a')
})

test('leaving a stream early ends the generation', async () => {
  await using model = await load(demoModel)
  for await (const _ of model.generate(prompt, { maxTokens: 400 }).text) break
  expect((await model.generate(prompt, greedy)).text).toStartWith(' who had a')
})

test('a prompt must fit, and exactly fitting is enough for one token', async () => {
  await using model = await load(demoModel, { contextSize: 32 })
  const tokens = new Int32Array(32).fill(300)
  const { finishReason } = await model.generate(tokens, { maxTokens: 1 })
  expect(finishReason).toBe('length')
  const tooLong = new Int32Array(33).fill(300)
  const error = await model.generate(tooLong).then(
    () => undefined,
    (e) => e,
  )
  expect(error).toBeInstanceOf(ContextOverflowError)
  expect(error).toMatchObject({ needed: 33, available: 32 })
})

test('no tokens, wrong tokens and disposed models give typed errors', async () => {
  const model = await load(demoModel)
  const failure = (promise: PromiseLike<unknown>) =>
    promise.then(
      () => undefined,
      (e) => e,
    )
  expect(await failure(model.evaluate(new Int32Array(0)))).toBeInstanceOf(EmptyPromptError)
  expect(await failure(model.evaluate(Int32Array.of(3072)))).toBeInstanceOf(RangeError)
  expect(await failure(model.evaluate([1] as never))).toBeInstanceOf(TypeError)
  model.dispose()
  model.dispose()
  expect(await failure(model.evaluate(Int32Array.of(1)))).toBeInstanceOf(DisposedError)
  expect(() => model.generate('Once')).toThrow(DisposedError)
})

test('options are checked before the file is read', async () => {
  const failure = (options: object) =>
    load('no-such-file', options).then(
      () => undefined,
      (e) => e,
    )
  expect(await failure({ threads: 0 })).toBeInstanceOf(RangeError)
  expect(await failure({ contextSize: 1.5 })).toBeInstanceOf(RangeError)
  expect(await failure({ batchSize: '8' })).toBeInstanceOf(TypeError)
  expect(await failure({ gpuLayers: -1 })).toBeInstanceOf(RangeError)
  expect(await failure({ kv: { type: 'q2_K' } })).toBeInstanceOf(RangeError)
  expect(await failure({})).toMatchObject({ code: 'FILE_UNREADABLE' })
  expect(
    await load(7 as never).then(
      () => undefined,
      (e) => e,
    ),
  ).toBeInstanceOf(TypeError)
})

const u32 = (value: number) => ({ type: 'u32' as const, value })

const wrongFiles: [string, Alteration, new (...args: never[]) => LeavenError][] = [
  ['513 layers', { metadata: { 'llama.block_count': u32(513) } }, GgufError],
  ['2^31 layers', { metadata: { 'llama.block_count': u32(2 ** 31) } }, GgufError],
  ['no heads', { metadata: { 'llama.attention.head_count': u32(0) } }, GgufError],
  [
    'kv heads that do not divide',
    { metadata: { 'llama.attention.head_count_kv': u32(4) } },
    GgufError,
  ],
  ['an odd rotation', { metadata: { 'llama.rope.dimension_count': u32(7) } }, GgufError],
  ['no epsilon', { metadata: { 'llama.attention.layer_norm_rms_epsilon': undefined } }, GgufError],
  ['another width', { metadata: { 'llama.embedding_length': u32(96) } }, LeavenError],
  [
    'a tensor too few',
    { tensor: (t) => (t.name === 'output_norm.weight' ? undefined : t) },
    UnsupportedModelError,
  ],
  [
    'more layers than tensors',
    { metadata: { 'llama.block_count': u32(7) } },
    UnsupportedModelError,
  ],
  [
    'an unknown architecture',
    { metadata: { 'general.architecture': { type: 'string', value: 'lama' } } },
    UnsupportedModelError,
  ],
]

test.each(wrongFiles)(
  'a model with %s is refused with a typed error',
  async (_, alteration, kind) => {
    using file = await alteredModel(alteration)
    const error = await load(file.path)
      .then((model) => model.generate('Once', { maxTokens: 1 }))
      .then(
        () => undefined,
        (e) => e,
      )
    expect(error).toBeInstanceOf(kind)
  },
)
