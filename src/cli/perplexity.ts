// leaven perplexity: how well a model predicts a text.
import type { Perplexity, PerplexityOptions } from '../index.ts'
import type { Command } from './command.ts'
import { INTERRUPTED, Interrupt } from './interrupt.ts'
import { readStdin } from './stdin.ts'
import { Progress, print, printJson } from './terminal.ts'

export const perplexityCommand: Command = {
  name: 'perplexity',
  summary: 'measure how well a model predicts a text',
  operands: ['MODEL', '[TEXTFILE]'],
  details: [
    'The text is cut into runs. Each is read afresh behind the beginning-of-sequence token, and\n' +
      'every token of it is scored; what is left at the end is dropped. Without TEXTFILE the\n' +
      'text is read from stdin.',
  ],
  options: {
    runs: { value: 'N', short: 'n', help: 'score the first N runs only' },
    'run-length': { value: 'N', short: 'c', help: 'tokens of a run (512)' },
    threads: { value: 'N', short: 't', help: 'CPU threads' },
    quiet: { short: 'q', help: 'nothing on stderr but errors' },
  },
  examples: [
    'leaven perplexity model.gguf heldout.txt',
    'leaven perplexity model.gguf heldout.txt --runs 8 --json',
  ],
  async run(args) {
    const runLength = args.count('run-length', 2) ?? 512
    const runsMax = args.count('runs')
    const threads = args.count('threads')
    const [path, file] = args.operands
    const text = file === undefined ? await readStdin('TEXTFILE') : await Bun.file(file).text()
    const { load, measurePerplexity } = await import('../index.ts')
    using interrupt = new Interrupt()
    using progress = new Progress(!args.has('quiet') && !args.has('json'))
    const options: PerplexityOptions = {
      runLength,
      ...(runsMax !== undefined && { runsMax }),
      signal: interrupt.signal,
      onProgress: ({ run, runs, perplexity }) =>
        progress.show(`run ${run} of ${runs}: ${perplexity.toFixed(4)}`),
    }
    try {
      await using model = await load(path!, {
        contextSize: runLength,
        ...(threads !== undefined && { threads }),
        signal: interrupt.signal,
      })
      const result = await measurePerplexity(model, text, options)
      if (args.has('json')) await printJson({ ...result, runLength, model: model.info })
      else await print(`${asText(result)}\n`)
    } catch (error) {
      if (!interrupt.isRequested) throw error
      return INTERRUPTED
    }
    return undefined
  },
}

const asText = (found: Perplexity): string =>
  [
    `perplexity     ${found.perplexity.toFixed(4)} ± ${found.standardError.toFixed(4)}`,
    `nll            ${found.nll.toFixed(6)} nats a token`,
    `bits per byte  ${found.bitsPerByte.toFixed(4)}`,
    `scored         ${found.tokens} tokens in ${found.runs} runs`,
  ].join('\n')
