// Perplexity: how well a model predicts a text.
import {
  checkCallback,
  checkInstance,
  checkObject,
  checkSignal,
  checkString,
  checkWhole,
} from '../errors/arguments.ts'
import { Model } from './model.ts'

export interface PerplexityOptions {
  /** Tokens of a run, BOS included: each run is a fresh context. Default 512. */
  runLength?: number
  /** Runs to score; all by default. */
  runsMax?: number
  signal?: AbortSignal
  /** Called after each run. */
  onProgress?(progress: { run: number; runs: number; perplexity: number }): void
}

export interface Perplexity {
  /** Mean negative log likelihood of a token, in nats. */
  readonly nll: number
  readonly perplexity: number
  /** Standard error of the perplexity. */
  readonly standardError: number
  readonly bitsPerByte: number
  readonly tokens: number
  readonly runs: number
}

/**
 * Scores `text`, tokenised without BOS, in runs of `runLength - 1` tokens that do not overlap; what
 * is left at the end is dropped. Each run is read as BOS and its tokens but the last, and every
 * token of it is scored.
 *
 * ```ts
 * const { perplexity } = await measurePerplexity(model, await Bun.file('heldout.txt').text())
 * ```
 *
 * Throws RangeError when the text is shorter than one run.
 */
export const measurePerplexity = async (
  model: Model,
  text: string,
  options: PerplexityOptions = {},
): Promise<Perplexity> => {
  checkInstance('model', model, Model, 'a Model')
  checkString('text', text)
  checkObject('options', options)
  const { runLength = 512, runsMax = Number.MAX_SAFE_INTEGER, signal, onProgress } = options
  checkWhole('runLength', runLength, 2)
  checkWhole('runsMax', runsMax, 1)
  checkSignal(signal)
  checkCallback('onProgress', onProgress)
  const { tokenizer } = model
  const all = await tokenizer.encodeAsync(text, { addSpecial: false, ...(signal && { signal }) })
  const length = runLength - 1
  const runs = Math.min(Math.floor(all.length / length), runsMax)
  if (runs === 0) throw new RangeError(`${all.length} tokens are less than one run of ${length}`)
  const bos = tokenizer.ids.bos
  let sum = 0
  let squares = 0
  const input = new Int32Array(length)
  for (let run = 0; run < runs; run++) {
    const tokens = all.subarray(run * length, (run + 1) * length)
    // Without a BOS the first token of a run is context only.
    input[0] = bos >= 0 ? bos : tokens[0]!
    input.set(tokens.subarray(0, length - 1), 1)
    const { data, shape } = await model.evaluate(input, signal ? { signal } : {})
    for (let i = bos >= 0 ? 0 : 1; i < length; i++) {
      const nll = negativeLogLikelihood(data.subarray(i * shape[1], (i + 1) * shape[1]), tokens[i]!)
      sum += nll
      squares += nll * nll
    }
    const scored = (run + 1) * (bos >= 0 ? length : length - 1)
    onProgress?.({ run: run + 1, runs, perplexity: Math.exp(sum / scored) })
  }
  const scored = runs * (bos >= 0 ? length : length - 1)
  const nll = sum / scored
  const variance = Math.max(0, squares / scored - nll * nll) / Math.max(1, scored - 1)
  const perplexity = Math.exp(nll)
  const bytes = new TextEncoder().encode(text).length
  return {
    nll,
    perplexity,
    standardError: perplexity * Math.sqrt(variance),
    bitsPerByte: (nll / Math.LN2) * (all.length / bytes),
    tokens: scored,
    runs,
  }
}

/** -log softmax(logits)[token], summed in double. */
const negativeLogLikelihood = (logits: Float32Array, token: number): number => {
  let max = Number.NEGATIVE_INFINITY
  for (let i = 0; i < logits.length; i++) if (logits[i]! > max) max = logits[i]!
  let total = 0
  for (let i = 0; i < logits.length; i++) total += Math.exp(logits[i]! - max)
  return Math.log(total) + max - logits[token]!
}
