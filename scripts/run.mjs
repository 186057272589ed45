// Runs one task of package.json: sets the toolchain up, builds, then starts the pinned bun.
// Needs node 20 (or bun) and nothing else: `node scripts/run.mjs TASK [argument ...]`.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { root, toolchain } from './toolchain.mjs'

const model = 'models/stories-tiny-q8_0.gguf'
const story = ['--temperature', '0.8', '--top-k', '40', '--top-p', '0.95', '--max-tokens', '220']
const build = ['zig', 'build']

/** What each task starts, in order; `bun` and `zig` name executables, `args` the user's own. */
const tasks = {
  setup: () => [],
  build: (args) => [[...build, ...args]],
  demo: (args) => [
    build,
    ['bun', 'src/cli/main.ts', 'generate', model, 'Once upon a time', ...story, ...args],
  ],
  test: (args) => [build, ['bun', 'test', '--timeout=60000', ...args]],
  'test:full': (args) => [
    build,
    ['zig', 'build', 'test'],
    ['bun', 'test', '--timeout=36000000', ...args],
  ],
  check: (args) => [['bun', 'scripts/check.ts', ...args]],
  golden: (args) => [build, ['bun', 'scripts/golden.ts', ...args]],
  conformance: (args) => [build, ['bun', 'scripts/conformance.ts', ...args]],
  bench: ([name = 'generate', ...args]) => [build, ['bun', `bench/${name}.ts`, ...args]],
}

/** Exit status of a child; a death by signal is a failure and is named. */
const start = (command, args, env) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', env })
    // A terminal sends Ctrl-C to the whole group, so the child has it already: only stay alive
    // until it has ended. From elsewhere the signal reaches this process alone.
    const forward = (signal) => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, forward)
    child.on('error', reject)
    child.on('exit', (status, signal) => {
      for (const name of signals) process.off(name, forward)
      if (signal !== null) console.error(`${command} was ended by ${signal}`)
      resolve(signal === null ? status : 128 + constants.signals[signal])
    })
  })

const main = async ([name, ...args]) => {
  if (!Object.hasOwn(tasks, name ?? '')) {
    console.error(`usage: node scripts/run.mjs ${Object.keys(tasks).join('|')} [argument ...]`)
    return 2
  }
  const major = Number.parseInt(process.versions.node, 10)
  if (major < 20) {
    console.error(`set-up: node ${process.versions.node} is too old, 20 or later is needed`)
    return 1
  }
  const { environment, ...executables } = toolchain()
  // How much the tests do (tests/tier.ts).
  if (name === 'test:full') environment.LEAVEN_TIER ??= 'full'
  for (const [executable, ...rest] of tasks[name](args)) {
    const status = await start(executables[executable], rest, environment)
    if (status !== 0) return status
  }
  return 0
}

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(error.cause ? `${error.message}: ${error.cause.message}` : error.message)
  return 1
})
