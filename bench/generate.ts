// Tokens per second of reading a prompt and of writing, against what the memory of this machine
// allows, measured in the same run. Medians of interleaved repeats.
//
//   bun run bench generate [MODEL.gguf ...] [--shape 135m] [--types q4_0,q8_0,f16] [--threads 1,2]
//                          [--prompt 512] [--tokens 32] [--repeats 5] [--json]
//
// Without a model file, random ones of the shape are written to the temporary folder first.
import { existsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Context, type Row } from '../src/engine/context.ts'
import { loadModel } from '../src/engine/load.ts'
import { Readers } from './bandwidth.ts'
import { modelShapes, type ShapeName, writeRandomModel } from './random_model.ts'

interface Setting {
  threads: number
  prompt: number
  tokens: number
  repeats: number
}

interface Measured {
  model: string
  threads: number
  promptTokensPerSecond: number
  tokensPerSecond: number
  /** Weight bytes read per second while writing, and the memory's own rate. */
  bytesPerSecond: number
  readBytesPerSecond: number
  /** Median over repeats of the one by the other. */
  share: number
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    shape: { type: 'string', default: '135m' },
    types: { type: 'string', default: 'q4_0,q8_0,f16' },
    threads: { type: 'string', default: [...new Set([1, availableParallelism()])].join() },
    prompt: { type: 'string', default: '512' },
    tokens: { type: 'string', default: '32' },
    repeats: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
})

const numbers = (text: string) => text.split(',').map(Number)

const median = (list: number[]) => list.toSorted((a, b) => a - b)[list.length >> 1]!

const randomModels = async (): Promise<string[]> => {
  if (!Object.hasOwn(modelShapes, values.shape)) throw new RangeError(`no shape ${values.shape}`)
  const shape = values.shape as ShapeName
  const paths = []
  for (const type of values.types.split(',')) {
    const path = join(tmpdir(), `leaven-bench-${shape}-${type}.gguf`)
    if (!existsSync(path)) await writeRandomModel(path, { shape, type: type as 'q4_0' })
    paths.push(path)
  }
  return paths
}

const rowsAt = (position: number, count: number): Row[] =>
  Array.from({ length: count }, (_, i) => ({
    token: 300 + ((position + i) % 1000),
    sequence: 0,
    position: position + i,
    output: i === count - 1,
  }))

const measure = async (path: string, setting: Setting): Promise<Measured> => {
  const { threads, prompt, tokens, repeats } = setting
  const model = await loadModel(path, {})
  // Every weight but the rows of the token embedding, which are looked up, unless it is the output.
  const tied = !model.weights.has('output.weight')
  const weightBytes = model.gguf.tensors
    .filter(({ name }) => tied || name !== 'token_embd.weight')
    .reduce((sum, tensor) => sum + tensor.sizeBytes, 0)
  using readers = await Readers.start(threads)
  using context = new Context(model, { size: prompt + tokens, batchSize: 512, threads })
  const rates = { prompt: [] as number[], write: [] as number[], read: [] as number[] }
  for (let repeat = -1; repeat < repeats; repeat++) {
    let start = performance.now()
    for (let at = 0; at < prompt; at += context.batchSize) {
      const rows = rowsAt(at, Math.min(context.batchSize, prompt - at))
      ;(await context.decode(rows)).release()
    }
    const reading = performance.now() - start
    start = performance.now()
    for (let i = 0; i < tokens; i++) (await context.decode(rowsAt(prompt + i, 1))).release()
    const writing = performance.now() - start
    await context.clear()
    const read = await readers.measure()
    if (repeat < 0) continue // The first one compiles and touches the file.
    rates.prompt.push((prompt / reading) * 1000)
    rates.write.push((tokens / writing) * 1000)
    rates.read.push(read)
  }
  for (const buffer of model.buffers) buffer.dispose()
  return {
    model: basename(path, '.gguf'),
    threads,
    promptTokensPerSecond: median(rates.prompt),
    tokensPerSecond: median(rates.write),
    bytesPerSecond: median(rates.write) * weightBytes,
    readBytesPerSecond: median(rates.read),
    share: median(rates.write.map((rate, i) => (rate * weightBytes) / rates.read[i]!)),
  }
}

const results: Measured[] = []
for (const path of positionals.length > 0 ? positionals : await randomModels()) {
  for (const threads of numbers(values.threads)) {
    const [prompt, tokens, repeats] = [values.prompt, values.tokens, values.repeats].map(Number)
    const result = await measure(path, {
      threads,
      prompt: prompt!,
      tokens: tokens!,
      repeats: repeats!,
    })
    results.push(result)
    if (values.json) continue
    const { model, promptTokensPerSecond: pp, tokensPerSecond: tg } = result
    const giga = (rate: number) => (rate / 1e9).toFixed(1)
    console.log(
      `${model}, ${threads} threads: prompt ${pp.toFixed(0)} tokens/s, writing ${tg.toFixed(1)} ` +
        `tokens/s = ${giga(result.bytesPerSecond)} GB/s of weights, memory reads ` +
        `${giga(result.readBytesPerSecond)} GB/s: ${(result.share * 100).toFixed(0)} %`,
    )
  }
}
if (values.json) console.log(JSON.stringify(results, null, 2))
process.exit(0)
