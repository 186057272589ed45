// Golden part `models`: trained models; ids, best logits and greedy text from f32 arithmetic.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Context } from '../../src/engine/context.ts'
import { type LoadedModel, loadModel } from '../../src/engine/load.ts'
import { load } from '../../src/engine/model.ts'
import { measurePerplexity } from '../../src/engine/perplexity.ts'
import { argmax, unload } from '../recorded.ts'
import { type Report, type Run, selects } from './report.ts'

interface Prompt {
  prompt: string
  ids: number[]
  top5: { id: number; logit: number }[]
  greedy64: number[]
  greedy64_text: string
  min_margin: number
}

interface Entry {
  model: string
  prompts: Prompt[]
}

/** f32 sums in another order differ by about 1e-5 here; a wrong op by far more. */
const logitTolerance = 1e-3

export const run: Run = async (folder, report, options) => {
  await checkPrompts(folder, report, options)
  await checkPerplexities(folder, report, options)
}

const checkPrompts: Run = async (folder, report, { only }) => {
  const { models } = JSON.parse(readFileSync(join(folder, 'golden.json'), 'utf8')) as {
    models: Entry[]
  }
  for (const entry of models) {
    const name = `stories-${entry.model}-f16`
    const path = join(folder, `${name}.gguf`)
    if (!selects(only, name) || !existsSync(path)) continue
    const model = await loadModel(path, {})
    try {
      await checkModel(name, entry, model, report)
    } catch (error) {
      report.fail(name, String(error))
    } finally {
      unload(model)
    }
  }
}

/** Of the recorded perplexities of the reference, whose activations are rounded otherwise. */
const perplexityTolerance = 0.002

const checkPerplexities: Run = async (folder, report, { only }) => {
  const record = join(folder, 'ppl.json')
  const text = join(folder, 'heldout.txt')
  if (!existsSync(record) || !existsSync(text)) return
  const { llama_cpp: recorded } = JSON.parse(readFileSync(record, 'utf8')) as {
    llama_cpp: Record<string, { ppl: number; chunks: number }>
  }
  for (const [file, wanted] of Object.entries(recorded)) {
    const path = join(folder, file)
    const name = file.replace('.gguf', '')
    if (!selects(only, name) || !existsSync(path)) continue
    try {
      await using model = await load(path)
      const found = await measurePerplexity(model, readFileSync(text, 'utf8'))
      const error = Math.abs(found.perplexity / wanted.ppl - 1)
      const label = `${name}/perplexity`
      if (found.runs !== wanted.chunks) report.fail(label, `${found.runs} runs of ${wanted.chunks}`)
      else if (error <= perplexityTolerance) report.pass(label)
      else report.fail(label, `${found.perplexity}, ${wanted.ppl} was recorded`)
    } catch (error) {
      report.fail(name, String(error))
    }
  }
}

const checkModel = async (name: string, entry: Entry, model: LoadedModel, report: Report) => {
  using context = new Context(model, {
    size: 512,
    batchSize: 128,
    kv: { keys: 'f32', values: 'f32' },
  })
  for (const [i, prompt] of entry.prompts.entries()) {
    const label = `${name}/prompt ${i}`
    const ids = Array.from(model.tokenizer.encode(prompt.prompt))
    check(report, `${label}/ids`, ids.join(' '), prompt.ids.join(' '))
    const rows = prompt.ids.map((token, position) => ({
      token,
      sequence: 0,
      position,
      output: position === prompt.ids.length - 1,
    }))
    let decoded = await context.decode(rows)
    checkTop(report, `${label}/top5`, decoded.values, prompt)
    const found: number[] = []
    for (const wanted of prompt.greedy64) {
      found.push(argmax(decoded.values))
      decoded.release()
      const position = prompt.ids.length + found.length - 1
      decoded = await context.decode([{ token: wanted, sequence: 0, position, output: true }])
    }
    decoded.release()
    check(report, `${label}/greedy`, found.join(' '), prompt.greedy64.join(' '))
    const text = model.tokenizer.decode([...prompt.ids, ...prompt.greedy64])
    check(report, `${label}/text`, text, prompt.prompt + prompt.greedy64_text)
    await context.clear()
  }
}

const checkTop = (report: Report, label: string, logits: Float32Array, prompt: Prompt) => {
  const order = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!)
  const ids = prompt.top5.map(({ id }) => id)
  const worst = Math.max(...prompt.top5.map(({ id, logit }) => Math.abs(logits[id]! - logit)))
  if (worst > logitTolerance) report.fail(label, `a logit differs by ${worst}`)
  else check(report, label, order.slice(0, ids.length).join(' '), ids.join(' '))
}

const check = (report: Report, label: string, found: string, wanted: string) => {
  if (found === wanted) report.pass(label)
  else report.fail(label, `${found}, wanted ${wanted}`)
}
