// leaven generate: continues a prompt, streaming text as it comes.
import { checkGenerateOptions } from '../engine/generate_options.ts'
import type { GenerateOptions, LoadOptions, Model, Result } from '../index.ts'
import { checkSamplingOptions } from '../text/sampling/index.ts'
import { type Arguments, type Command, UsageError } from './command.ts'
import { INTERRUPTED, Interrupt } from './interrupt.ts'
import { readStdin } from './stdin.ts'
import { note, Progress, print, printJson } from './terminal.ts'

export const generateCommand: Command = {
  name: 'generate',
  summary: 'continue a prompt with a model',
  operands: ['MODEL', '[PROMPT]'],
  details: [
    'Without PROMPT it is read from stdin. The text goes to stdout as it comes; progress and\n' +
      'speed go to stderr. Ctrl-C ends with the text that there is.',
  ],
  options: {
    'max-tokens': { value: 'N', short: 'n', help: 'end after N tokens; else when the model ends' },
    temperature: { value: 'T', help: 'above 1 wilder, below 1 tamer, 0 the likeliest (0.8)' },
    'top-k': { value: 'K', help: 'only the K likeliest tokens, 0 for all (40)' },
    'top-p': { value: 'P', help: 'only the likeliest tokens that make up P (0.95)' },
    'min-p': { value: 'P', help: 'only tokens at least P times as likely as the likeliest (0.05)' },
    seed: { value: 'S', short: 's', help: 'the same seed gives the same text' },
    stop: { value: 'TEXT', repeatable: true, help: 'end in front of TEXT; may be given again' },
    'parse-special': { help: 'read control tokens such as <|im_end|> in the prompt as tokens' },
    context: { value: 'N', short: 'c', help: 'tokens that prompt and text may have together' },
    threads: { value: 'N', short: 't', help: 'CPU threads' },
    'gpu-layers': { value: 'N|fit|all', help: 'layers on a GPU; all are on the CPU without one' },
    'no-mmap': { help: 'read the file into memory instead of mapping it' },
    'no-echo': { help: 'print the continuation without the prompt' },
    quiet: { short: 'q', help: 'nothing on stderr but errors' },
  },
  examples: [
    'leaven generate model.gguf "Once upon a time" --max-tokens 100',
    'leaven generate model.gguf "The answer is" --temperature 0 --stop . --stop !',
    'echo "Dear diary," | leaven generate model.gguf --seed 7 --json',
  ],
  async run(args) {
    const loadOptions = readLoadOptions(args)
    const options = readGenerateOptions(args)
    const [path, given] = args.operands
    const prompt = given ?? (await readStdin('PROMPT'))
    const isQuiet = args.has('quiet') || args.has('json')
    using interrupt = new Interrupt()
    try {
      await using model = await loadModel(path!, loadOptions, interrupt.signal, isQuiet)
      if (!isQuiet) await explainLayers(loadOptions, model)
      const result = await generate(model, prompt, options, args, interrupt.signal)
      if (args.has('json')) await printJson({ ...result, model: model.info })
      else if (!isQuiet) note(speed(result))
    } catch (error) {
      if (!interrupt.isRequested) throw error
    }
    return interrupt.isRequested ? INTERRUPTED : undefined
  },
}

async function loadModel(
  path: string,
  options: LoadOptions,
  signal: AbortSignal,
  isQuiet: boolean,
): Promise<Model> {
  const { load } = await import('../index.ts')
  using progress = new Progress(!isQuiet)
  progress.show('loading')
  return await load(path, {
    ...options,
    signal,
    onProgress: ({ loaded, total }) => {
      progress.show(`loading ${Math.floor((100 * loaded) / Math.max(1, total))} %`)
    },
  })
}

/** Streams the text, unless it is to be printed as JSON. */
async function generate(
  model: Model,
  prompt: string,
  options: GenerateOptions,
  args: Arguments,
  signal: AbortSignal,
): Promise<Result> {
  using generation = model.generate(prompt, options)
  const stop = () => generation.dispose()
  signal.addEventListener('abort', stop, { once: true })
  if (args.has('json')) return await generation
  try {
    if (!args.has('no-echo')) await print(prompt)
    for await (const text of generation.text) await print(text)
    return await generation
  } finally {
    await print('\n')
  }
}

const speed = ({ usage, timings, finishReason }: Result): string => {
  const per = (count: number, perSecond: number) =>
    `${count} tokens${perSecond > 0 ? ` (${perSecond.toFixed(1)} tokens/s)` : ''}`
  const prompt = per(usage.promptTokens, timings.promptTokensPerSecond)
  const text = per(usage.completionTokens, timings.tokensPerSecond)
  return `prompt ${prompt}, text ${text}, ended by ${finishReason}`
}

/** Says what became of --gpu-layers where there is no GPU to take them. */
async function explainLayers({ gpuLayers }: LoadOptions, model: Model): Promise<void> {
  if (gpuLayers === undefined) return
  const { devices } = await import('../tensor.ts')
  if (devices().some(({ type }) => type !== 'cpu')) return
  note(`no GPU here that leaven can use: all ${model.info.layers} layers run on the CPU`)
}

function readLoadOptions(args: Arguments): LoadOptions {
  const contextSize = args.count('context')
  const threads = args.count('threads')
  const layers = args.text('gpu-layers')
  const gpuLayers = layers === 'fit' || layers === 'all' ? layers : args.count('gpu-layers', 0)
  return {
    ...(contextSize === undefined ? {} : { contextSize }),
    ...(threads === undefined ? {} : { threads }),
    ...(gpuLayers === undefined ? {} : { gpuLayers }),
    ...(args.has('no-mmap') ? { mmap: false } : {}),
  }
}

/** Checked here, so that no model is loaded in vain. */
function readGenerateOptions(args: Arguments): GenerateOptions {
  const options: GenerateOptions = {
    maxTokens: args.count('max-tokens', 0),
    temperature: args.number('temperature'),
    topK: args.number('top-k'),
    topP: args.number('top-p'),
    minP: args.number('min-p'),
    seed: args.bigint('seed'),
    stop: args.texts('stop'),
    parseSpecial: args.has('parse-special'),
  }
  if (options.stop?.includes('')) throw new UsageError('--stop takes a text that is not empty')
  try {
    checkGenerateOptions(options)
    checkSamplingOptions(options, 1)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  return options
}
