// leaven bundle: makes a program one file, with the native library and its models inside.
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { type BundlePlace, modelsBeside } from '../engine/bundled_model.ts'
import { LeavenError } from '../errors/index.ts'
import { appendBundle, type BundleInput } from '../files/bundle.ts'
import { openGguf } from '../files/index.ts'
import { libraryFor, type Platform, platformOf, platforms } from '../native/platforms.ts'
import { type Arguments, type Command, UsageError } from './command.ts'
import { INTERRUPTED, Interrupt } from './interrupt.ts'
import { inBytes, Progress, print, printJson } from './terminal.ts'

export const bundleCommand: Command = {
  name: 'bundle',
  summary: 'make a program one executable with its model inside',
  operands: ['APP', 'MODEL', '[MODEL...]'],
  details: [
    'APP is the TypeScript file that bun would run. In it, bundledModel() of leaven is the\n' +
      'model: load(bundledModel() ?? "model.gguf") works from source as well. Of a split model,\n' +
      'name the first part.',
    'A Linux executable maps the model inside itself. Signatures of macOS and Windows forbid\n' +
      'that: there, and with --sidecar, the model is OUTPUT.models, which must stay beside it.',
  ],
  options: {
    output: { value: 'FILE', short: 'o', help: 'the executable to write (APP without .ts)' },
    target: { value: 'TARGET', help: 'another platform, as bun-linux-arm64 or bun-darwin-arm64' },
    sidecar: { help: 'put the model beside the executable on Linux too' },
    minify: { help: 'make the code of APP smaller' },
  },
  examples: [
    'leaven bundle app.ts model.gguf -o app',
    'leaven bundle app.ts model.gguf -o app --target bun-windows-x64',
  ],
  async run(args) {
    const plan = planOf(args)
    using interrupt = new Interrupt()
    try {
      const report = await bundle(plan, args, interrupt.signal)
      if (args.has('json')) await printJson(report)
      else await print(`${report.files.map(describe).join('\n')}\n`)
    } catch (error) {
      if (!interrupt.isRequested) throw error
      return INTERRUPTED
    }
    return undefined
  },
}

interface Plan {
  readonly app: string
  readonly models: readonly BundleInput[]
  readonly output: string
  readonly target: string | undefined
  /** The platform to take the library of; undefined for the one of this machine. */
  readonly platform: Platform | undefined
  readonly place: BundlePlace
}

function planOf(args: Arguments): Plan {
  const [app, ...paths] = args.operands as [string, ...string[]]
  if (!existsSync(app)) throw new LeavenError('FILE_UNREADABLE', `${app}: no such file`)
  const target = args.text('target')
  const platform = target === undefined ? undefined : platformOf(target)
  if (target !== undefined && platform === undefined) {
    const known = platforms.map((each) => `bun-${each}`).join(', ')
    throw new UsageError(`--target takes one of ${known}, not ${JSON.stringify(target)}`)
  }
  const os = platform?.split('-')[0] ?? process.platform.replace('win32', 'windows')
  const output = args.text('output') ?? basename(app, extname(app))
  const isNamed = os !== 'windows' || /\.exe$/i.test(output)
  return {
    app,
    models: paths.map(modelOf),
    output: resolve(isNamed ? output : `${output}.exe`),
    target,
    platform,
    place: os === 'linux' && !args.has('sidecar') ? 'inside' : 'beside',
  }
}

/** Checks that the model is whole, since whoever gets the program cannot mend it. */
function modelOf(path: string, index: number, paths: readonly string[]): BundleInput {
  using gguf = openGguf(path)
  gguf.checkData()
  const name = basename(path)
  if (paths.findIndex((each) => basename(each) === name) !== index) {
    throw new UsageError(`two models are named ${name}`)
  }
  return { name, paths: gguf.files.map((file) => file.name) }
}

interface Report {
  target: string
  files: { path: string; bytes: number }[]
  models: string[]
}

/** Everything is made in a folder beside the output and appears by renaming. */
async function bundle(plan: Plan, args: Arguments, signal: AbortSignal): Promise<Report> {
  const { output, models, place } = plan
  const folder = await mkdtemp(join(dirname(output), '.leaven-'))
  using progress = new Progress(!args.has('json'))
  try {
    progress.show('compiling')
    const executable = join(folder, basename(output))
    await compile(plan, executable, args.has('minify'))
    signal.throwIfAborted()
    let copied = 0
    const onProgress = (bytes: number) => {
      copied += bytes
      progress.show(`copying models: ${inBytes(copied)}`)
    }
    const holder = place === 'inside' ? executable : modelsBeside(executable)
    await appendBundle(holder, models, { onProgress, signal })
    const paths = [output]
    if (place === 'beside') {
      paths.push(modelsBeside(output))
      await rename(holder, modelsBeside(output))
    }
    await rename(executable, output)
    const files = []
    for (const path of paths) files.push({ path, bytes: (await stat(path)).size })
    return { target: plan.target ?? 'this machine', files, models: models.map(({ name }) => name) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function compile(plan: Plan, outfile: string, minify: boolean): Promise<void> {
  const { app, target, platform, place } = plan
  const library = platform && libraryFor(platform)
  if (library !== undefined && !existsSync(library)) {
    throw new LeavenError(
      'LIBRARY_MISSING',
      `the native library for ${platform} is not built: run \`npm run build -- cross\``,
    )
  }
  const result = await Bun.build({
    entrypoints: [resolve(app)],
    compile: { outfile, ...(target && { target: target as Bun.Build.CompileTarget }) },
    minify,
    define: { LEAVEN_BUNDLE: JSON.stringify(place) },
    plugins: library === undefined ? [] : [libraryPlugin(library)],
    throw: false,
  })
  if (result.success) return
  const problems = result.logs.map(({ message, position }) =>
    position ? `${position.file}:${position.line}: ${message}` : message,
  )
  throw new LeavenError('COMPILE_FAILED', `${app} cannot be compiled: ${problems.join('; ')}`)
}

/** Embeds another platform's library where src/native/library.ts names the one of this machine. */
const libraryPlugin = (path: string): Bun.BunPlugin => ({
  name: 'leaven library',
  setup(build) {
    const filter = /zig-out[\\/](?:lib|bin)[\\/](?:libleaven\.(?:so|dylib)|leaven\.dll)$/
    build.onResolve({ filter }, () => ({ path }))
  },
})

const describe = ({ path, bytes }: { path: string; bytes: number }): string =>
  `${path} (${inBytes(bytes)})`
