// Golden part `archs`: logits and greedy tokens of small models with random weights.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Context, type Row } from '../../src/engine/context.ts'
import type { LoadedModel } from '../../src/engine/load.ts'
import { argmax, loadCompressed, nmse, Recorded, unload } from '../recorded.ts'
import { type Report, type Run, selects } from './report.ts'

interface Prompt {
  tokens: number[]
  text?: string
  rows: number
  cols: number
  logits_offset?: number
  embd_offset?: number
  greedy?: number[]
  greedy_min_margin?: number
  final_logits_offset?: number
}

interface Entry {
  arch: string
  weights: string
  model: string
  data: string
  pooling: number
  prompts: Prompt[]
  noise: Record<string, { max_abs: number; nmse: number }>
}

/**
 * The tolerances that the data's README suggests, by type of weights. For bf16 weights the
 * reference rounds activations to bf16 as well, an error of 2^-9 in each that leaven does not make.
 */
const tolerance = ({ weights, noise }: Entry): number => {
  if (weights === 'f32') return 1e-9
  if (weights === 'f16') return 1e-5
  if (weights === 'bf16') return 4e-5
  return Math.max(1e-3, 3 * Math.max(...noiseOf({ weights, noise }).map((n) => n.nmse)))
}

/**
 * How far other runs of the reference are from the recorded one. Its default mode (another
 * attention, f16 cache, repacked weights) tells nothing of float weights; for quantized ones it is
 * the run that shows what rounding activations in another way costs, which is what every
 * implementation differs in.
 */
const noiseOf = ({ weights, noise }: Pick<Entry, 'weights' | 'noise'>) => {
  const isFloat = /^b?f\d+$/.test(weights)
  return Object.entries(noise).flatMap(([name, n]) =>
    isFloat && name.includes('default') ? [] : [n],
  )
}

export const run: Run = async (folder, report, { only }) => {
  const { models } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
    models: Record<string, Entry>
  }
  for (const [name, entry] of Object.entries(models)) {
    if (!selects(only, name)) continue
    let model: LoadedModel | undefined
    try {
      model = await loadCompressed(join(folder, entry.model))
      await checkModel(name, entry, model, new Recorded(folder, entry.data), report)
    } catch (error) {
      report.fail(name, String(error))
    } finally {
      if (model) unload(model)
    }
  }
}

const checkModel = async (
  name: string,
  entry: Entry,
  model: LoadedModel,
  data: Recorded,
  report: Report,
) => {
  const batchSize = 256
  using context = new Context(model, {
    size: 256,
    batchSize,
    kv: { keys: 'f32', values: 'f32' },
  })
  for (const [i, prompt] of entry.prompts.entries()) {
    const label = `${name}/prompt ${i}`
    checkTokens(`${label}/tokens`, prompt, model, report)
    const isLogits = prompt.logits_offset !== undefined
    const wanted = data.at((prompt.logits_offset ?? prompt.embd_offset)!, prompt.rows * prompt.cols)
    if (!isLogits && entry.pooling > 0) {
      report.fail(label, `pooling ${entry.pooling} is not supported yet`)
      continue
    }
    let decoded = await context.decode(rowsOf(prompt.tokens), {
      kind: isLogits ? 'logits' : 'hidden',
    })
    const error = nmse(decoded.values, wanted)
    const limit = tolerance(entry)
    if (error <= limit) report.pass(`${label}/${isLogits ? 'logits' : 'hidden'}`)
    else report.fail(label, `NMSE ${error.toExponential(2)}, at most ${limit} is allowed`)
    if (prompt.greedy !== undefined) {
      let last = decoded.values.slice(-prompt.cols)
      decoded.release()
      const found: number[] = []
      for (const wantedToken of prompt.greedy) {
        found.push(argmax(last))
        // The recorded token goes in, so that one difference does not make all others.
        const position = prompt.tokens.length + found.length - 1
        decoded = await context.decode([
          { token: wantedToken, sequence: 0, position, output: true },
        ])
        last = decoded.values.slice()
        decoded.release()
      }
      checkGreedy(label, prompt, entry, found, report)
      const final = nmse(last, data.at(prompt.final_logits_offset!, prompt.cols))
      if (final <= limit) report.pass(`${label}/final`)
      else report.fail(`${label}/final`, `NMSE ${final.toExponential(2)}, at most ${limit}`)
    } else {
      decoded.release()
    }
    await context.clear()
  }
}

const rowsOf = (tokens: readonly number[]): Row[] =>
  tokens.map((token, position) => ({ token, sequence: 0, position, output: true }))

const checkTokens = (label: string, prompt: Prompt, model: LoadedModel, report: Report) => {
  if (prompt.text === undefined) return
  const found = Array.from(model.tokenizer.encode(prompt.text))
  if (found.join() === prompt.tokens.join()) report.pass(label)
  else report.fail(label, `${found.join(' ')}, wanted ${prompt.tokens.join(' ')}`)
}

/** Tokens must agree wherever the closest decision was wider than the recorded noise. */
const checkGreedy = (
  label: string,
  prompt: Prompt,
  entry: Entry,
  found: readonly number[],
  report: Report,
) => {
  const noise = Math.max(...noiseOf(entry).map((n) => n.max_abs))
  if (prompt.greedy_min_margin! <= noise) return
  if (found.join() === prompt.greedy!.join()) report.pass(`${label}/greedy`)
  else report.fail(`${label}/greedy`, `${found.join(' ')}, wanted ${prompt.greedy!.join(' ')}`)
}
