// Runs one task of package.json: sets the toolchain up, builds, then starts the pinned bun.
// Needs node 20 (or bun) and nothing else: `node scripts/run.mjs TASK [argument ...]`.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { root, toolchain } from './toolchain.mjs'

const story = ['--temperature', '0.8', '--top-k', '40', '--top-p', '0.95', '--max-tokens', '220']
const demo = ['src/cli/main.ts', 'generate', 'models/stories-tiny-q8_0.gguf', 'Once upon a time']

/**
 * What each task starts, in order. `bun` and `zig` name executables; the arguments of the command
 * line go to the last step. `tier` chooses how much the tests do (tests/tier.ts).
 */
const tasks = {
  setup: { steps: [] },
  build: { steps: [['zig', 'build']] },
  demo: {
    steps: [
      ['zig', 'build'],
      ['bun', ...demo, ...story],
    ],
  },
  test: {
    steps: [
      ['zig', 'build'],
      ['bun', 'test', '--timeout=60000'],
    ],
  },
  'test:full': {
    tier: 'full',
    steps: [
      ['zig', 'build'],
      ['zig', 'build', 'test'],
      ['bun', 'test', '--timeout=36000000'],
    ],
  },
  check: { steps: [['bun', 'scripts/check.ts']] },
  golden: {
    steps: [
      ['zig', 'build'],
      ['bun', 'scripts/golden.ts'],
    ],
  },
  bench: {
    steps: [
      ['zig', 'build'],
      ['bun', 'bench/main.ts'],
    ],
  },
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

const main = async ([name, ...rest]) => {
  const task = tasks[name]
  if (task === undefined) {
    console.error(`usage: node scripts/run.mjs ${Object.keys(tasks).join('|')} [argument ...]`)
    return 2
  }
  const major = Number.parseInt(process.versions.node, 10)
  if (major < 20) {
    console.error(`set-up: node ${process.versions.node} is too old, 20 or later is needed`)
    return 1
  }
  const { environment, ...executables } = toolchain()
  if (task.tier !== undefined) environment.LEAVEN_TIER ??= task.tier
  for (const [index, [executable, ...args]] of task.steps.entries()) {
    const last = index === task.steps.length - 1
    const status = await start(
      executables[executable],
      last ? [...args, ...rest] : args,
      environment,
    )
    if (status !== 0) return status
  }
  return 0
}

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(error.cause ? `${error.message}: ${error.cause.message}` : error.message)
  return 1
})
