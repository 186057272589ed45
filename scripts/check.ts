// Everything CI runs, stage by stage, with one count at the end: `bun run check`.
//
// Each stage counts as one pass or failure; the Zig and bun test stages add what their reports say.
// Every test file runs in a process of its own, so that a crash in native code costs that file
// alone, and is counted. The last line is exactly `N passed, N failed`; the exit status is 1 on any
// failure and when no test ran.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Count, junitCount, zigCount } from './check/counts.ts'

const root = join(import.meta.dir, '..')
const bun = process.execPath
const biome = 'node_modules/@biomejs/biome/bin/biome'
const tsc = 'node_modules/typescript/bin/tsc'
const minutes = 60_000
const environment = { ...process.env, LEAVEN_TIER: process.env.LEAVEN_TIER || 'ci' }

interface Stage {
  name: string
  command: string[]
  /** Tests that the output of the command tells of, beyond the stage itself. */
  count?: (output: string) => Count
  /** Output that a success must have; shown. */
  expect?: RegExp
}

/** The parts of ../shared/golden that must pass in full, as arguments of the golden command. */
const sharedGolden: string[][] = [['gguf'], ['cases'], ['models'], ['archs', '--only', 'llama']]

const golden = (name: string, args: string[]): Stage => ({
  name: `golden: ${name}`,
  command: [bun, 'scripts/golden.ts', ...args],
})

const before: Stage[] = [
  { name: 'build', command: ['zig', 'build'] },
  { name: 'format and lint', command: [bun, biome, 'ci', '--error-on-warnings', '--colors=off'] },
  { name: 'types', command: [bun, tsc, '--noEmit', '-p', '.'] },
  { name: 'zig format', command: ['zig', 'fmt', '--check', 'build.zig', 'zig'] },
  { name: 'generated files', command: ['zig', 'build', 'check-gen'] },
  {
    name: 'zig tests',
    command: ['zig', 'build', 'test', '--summary', 'all'],
    count: zigCount,
  },
]

const story = /(?:[\w']+\W{1,6}){30}/

/** The first TypeScript block of README, as it stands; `leaven` resolves to this repository. */
const readmeExample = (): string =>
  /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1] ?? ''

const after: Stage[] = [
  // Whether a story is good is for the eye; that there is one, thirty words in a row say.
  { name: 'demo', command: [bun, 'run', 'demo'], expect: story },
  { name: 'README example', command: [bun, '-e', readmeExample()], expect: story },
  golden('of this repository', ['--dir', 'tests/golden']),
  ...(existsSync(join(root, '../shared/golden'))
    ? sharedGolden.map((args) => golden(args.join(' '), args))
    : []),
]

const total: Count = { passed: 0, failed: 0 }

const add = (count: Count): void => {
  total.passed += count.passed
  total.failed += count.failed
}

/** Runs a command to its end; `problem` says why it failed, if it did. */
const execute = async (command: string[], limitMs: number) => {
  const child = Bun.spawn(command, {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  })
  const output = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  const status = await child.exited
  // What a killed command started may live on and hold the pipes open.
  const cut = Bun.sleep(5_000).then(() => ['', 'a process that it started did not end'])
  const texts = await Promise.race([output, cut])
  let problem: string | undefined
  if (child.signalCode !== null) problem = `ended by ${child.signalCode}`
  else if (status !== 0) problem = `exit status ${status}`
  return { output: texts.join(''), problem }
}

/** One line a step; what a failed one printed follows it. */
const say = (name: string, started: number, note: string, output?: string): void => {
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6)
  console.log(`${seconds} s  ${name}: ${note}`)
  if (output !== undefined) console.log(output.trimEnd().replace(/^/gm, '          | '))
}

const runStage = async (stage: Stage): Promise<void> => {
  const started = performance.now()
  const result = await execute(stage.command, 15 * minutes)
  let problem = result.problem
  if (problem === undefined && stage.expect?.test(result.output) === false) {
    problem = `its output lacks ${stage.expect}`
  }
  const tests = stage.count?.(result.output) ?? { passed: 0, failed: 0 }
  add(tests)
  add(problem === undefined ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 })
  const shown = problem !== undefined || stage.expect !== undefined ? result.output : undefined
  const counted = stage.count === undefined ? '' : `, ${tests.passed} tests passed`
  say(stage.name, started, (problem === undefined ? 'ok' : `FAILED, ${problem}`) + counted, shown)
}

/** The counts of one test file; dying without a report is a failure of its own. */
const runTestFile = async (file: string, folder: string): Promise<Count> => {
  const started = performance.now()
  const report = join(folder, `${file.replaceAll(/\W/g, '_')}.xml`)
  const reporter = ['--reporter=junit', `--reporter-outfile=${report}`]
  const options = ['--timeout=300000', '--no-orphans', ...reporter]
  const result = await execute([bun, 'test', ...options, `./${file}`], 15 * minutes)
  const count = existsSync(report)
    ? junitCount(readFileSync(report, 'utf8'))
    : { passed: 0, failed: 0 }
  if (result.problem !== undefined && count.failed === 0) count.failed = 1
  const note = count.failed === 0 ? `${count.passed} passed` : `FAILED, ${result.problem}`
  say(file, started, note, count.failed === 0 ? undefined : result.output)
  return count
}

const runTests = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'leaven-check-'))
  const files = readdirSync(join(root, 'tests'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('tests', name))
    .sort()
  const sum: Count = { passed: 0, failed: 0 }
  try {
    for (const file of files) {
      const count = await runTestFile(file, folder)
      sum.passed += count.passed
      sum.failed += count.failed
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  add(sum)
  const ok = sum.failed === 0 && sum.passed > 0
  add(ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 })
  if (sum.passed + sum.failed === 0) console.log('bun tests: FAILED, no test ran')
}

for (const stage of before) await runStage(stage)
await runTests()
for (const stage of after) await runStage(stage)
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1)
