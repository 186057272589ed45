// From the start of a program to its first token: its model inside it, against beside it.
//
//   bun bench/bundle.ts [MODEL.gguf] [--runs 15] [--json]
//
// Compiles examples/bundle twice, once by `leaven bundle` and once without the model, and starts
// the two in turn, first the one and then the other. Prints medians in milliseconds and their
// ratio; files are in the page cache after the first run, which does not count.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dir, '..')
const source = join(root, 'examples/bundle/main.ts')
const prompt = 'Once upon a time'

/** What examples/bundle loads when its model is not inside. */
const modelBeside = 'models/stories-tiny-q8_0.gguf'

export interface BundleTimes {
  /** Milliseconds from start to the first token, sorted. */
  readonly inside: readonly number[]
  readonly beside: readonly number[]
}

/** Runs both programs `runs` times and once more before. */
export const measureBundle = async (model: string, runs: number): Promise<BundleTimes> => {
  const folder = mkdtempSync(join(tmpdir(), 'leaven-bench-'))
  try {
    const [inside, beside] = [join(folder, 'inside'), join(folder, 'beside')]
    const cli = join(root, 'src/cli/main.ts')
    compile([cli, 'bundle', source, model, '-o', inside])
    compile(['build', '--compile', source, '--outfile', beside])
    mkdirSync(join(folder, 'models'))
    copyFileSync(model, join(folder, modelBeside))
    const times = { inside: [] as number[], beside: [] as number[] }
    for (let run = 0; run <= runs; run++) {
      const first = await firstToken(inside, folder)
      const second = await firstToken(beside, folder)
      if (run === 0) continue
      times.inside.push(first)
      times.beside.push(second)
    }
    for (const list of Object.values(times)) list.sort((a, b) => a - b)
    return times
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const compile = (args: string[]) => {
  const { success, stderr } = Bun.spawnSync([process.execPath, ...args])
  if (!success) throw new Error(stderr.toString())
}

/** Milliseconds until something stands behind the prompt. */
const firstToken = async (program: string, folder: string): Promise<number> => {
  const start = performance.now()
  const child = Bun.spawn([program, prompt], {
    cwd: folder,
    env: { LEAVEN_CACHE: join(folder, 'cache') },
    stderr: 'inherit',
  })
  let length = 0
  let time = Number.NaN
  for await (const bytes of child.stdout) {
    length += bytes.length
    if (length > prompt.length && Number.isNaN(time)) time = performance.now() - start
  }
  if ((await child.exited) !== 0) throw new Error(`${program} failed`)
  return time
}

const middle = (sorted: readonly number[]): number => sorted[sorted.length >> 1]!

const main = async () => {
  const { values, positionals } = parseArgs({
    options: { runs: { type: 'string', default: '15' }, json: { type: 'boolean' } },
    allowPositionals: true,
  })
  const model = positionals[0] ?? join(root, modelBeside)
  const { inside, beside } = await measureBundle(model, Number(values.runs))
  const medians = { inside: middle(inside), beside: middle(beside) }
  const ratio = medians.inside / medians.beside
  if (values.json) {
    console.log(JSON.stringify({ unit: 'ms', model, ...medians, ratio }))
    return
  }
  console.log(`model inside  ${medians.inside.toFixed(1)} ms to the first token`)
  console.log(`model beside  ${medians.beside.toFixed(1)} ms`)
  console.log(`ratio         ${ratio.toFixed(3)}`)
}

if (import.meta.main) await main()
