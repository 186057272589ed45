// Checks leaven against golden data of the reference: `bun run golden [PART ...] [options]`.
//
//   PART           quant ops archs vocab extra gguf models cases; without one, all that exist
//   --dir FOLDER   a folder of the layout of ../shared/golden (tests/golden/README.md)
//   --only NAME    one case, model or vocabulary, or a family of them by its first words
//   --json         {passed, failed, failures: [{part, name, problem}]} on standard output
//
// Exits 1 on any failure, and when nothing was checked: a run that finds no data proves nothing.
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import type { Report, Run } from './golden/report.ts'

/** The parts and the modules of scripts/golden that check each; a test holds the list complete. */
export const parts: Record<string, string[]> = {
  quant: ['quant'],
  ops: ['ops'],
  archs: ['archs'],
  vocab: ['vocab'],
  extra: ['extra', 'extra_grammar', 'extra_samplers'],
  gguf: ['gguf'],
  models: ['models'],
  cases: ['cases_files', 'cases_constraints', 'cases_templates', 'cases_tokens'],
}

interface Failure {
  part: string
  name: string
  problem: string
}

interface PartOptions {
  tally: Tally
  /** The part was named on the command line. */
  asked: boolean
  only: string | undefined
}

/** Counts what the parts report; failures are kept, and said as they come. */
class Tally {
  passed = 0
  readonly failures: Failure[] = []
  readonly say: (line: string) => void

  constructor(say: (line: string) => void) {
    this.say = say
  }

  report(part: string): Report {
    return {
      pass: () => {
        this.passed += 1
      },
      fail: (name, problem) => {
        this.failures.push({ part, name, problem })
        this.say(`${part}: ${name}: ${problem.replaceAll('\n', ' ')}`)
      },
    }
  }
}

const readOptions = () => {
  const { values, positionals } = parseArgs({
    options: { dir: { type: 'string' }, only: { type: 'string' }, json: { type: 'boolean' } },
    allowPositionals: true,
  })
  const unknown = positionals.filter((name) => !Object.hasOwn(parts, name))
  if (unknown.length > 0) {
    throw new Error(`no part ${unknown.join(', ')}; the parts are ${Object.keys(parts).join(' ')}`)
  }
  return { ...values, asked: new Set(positionals) }
}

/** The data that lies beside a checkout, too large to be part of it. */
const shared = relative(process.cwd(), join(import.meta.dir, '../../shared'))

/** Where a part's data lies; `--dir` itself may be the folder of cases, when they are asked for. */
const folderOf = (part: string, dir: string | undefined, asked: boolean): string => {
  if (part !== 'cases') return join(dir ?? join(shared, 'golden'), part)
  if (dir === undefined) return join(shared, 'cases')
  return asked && !existsSync(join(dir, 'cases')) ? dir : join(dir, 'cases')
}

const moduleFile = (name: string): string => join(import.meta.dir, 'golden', `${name}.ts`)

/** A module that throws has failed once; those after it still run. */
const runModule = async (name: string, folder: string, report: Report, only?: string) => {
  try {
    const { run }: { run: Run } = await import(moduleFile(name))
    await run(folder, report, { only })
  } catch (error) {
    const place = error instanceof Error ? error.stack?.split('\n')[1]?.trim() : undefined
    report.fail(name, `${error} ${place ?? ''}`.trim())
  }
}

/** Runs what can be checked; for a part that was asked for, what cannot is a failure. */
const runPart = async (part: string, folder: string, options: PartOptions) => {
  const { tally, asked, only } = options
  const started = performance.now()
  const before = { passed: tally.passed, failed: tally.failures.length }
  const obstacle = (problem: string): void => {
    if (asked) tally.report(part).fail(folder, problem)
    else tally.say(`${part}: skipped, ${problem}`)
  }
  if (!existsSync(folder)) return obstacle('there is no such folder')
  const missing = parts[part]!.filter((name) => !existsSync(moduleFile(name)))
  if (missing.length > 0) obstacle(`leaven cannot check ${missing.join(', ')} yet`)
  for (const name of parts[part]!) {
    if (!missing.includes(name)) await runModule(name, folder, tally.report(part), only)
  }
  if (asked && tally.passed + tally.failures.length === before.passed + before.failed) {
    obstacle('no case ran')
  }
  const passed = tally.passed - before.passed
  const failed = tally.failures.length - before.failed
  if (passed + failed === 0) return
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  tally.say(`${part}: ${passed} passed, ${failed} failed (${seconds} s)`)
}

/** Exit status: 0 all passed, 1 a failure or nothing checked. */
const main = async (): Promise<number> => {
  const { asked, dir, only, json } = readOptions()
  const tally = new Tally(json ? () => {} : console.log)
  for (const part of Object.keys(parts)) {
    if (asked.size > 0 && !asked.has(part)) continue
    const named = asked.has(part)
    await runPart(part, folderOf(part, dir, named), { tally, asked: named, only })
  }
  const { passed, failures } = tally
  if (json) console.log(JSON.stringify({ passed, failed: failures.length, failures }))
  else console.log(`${passed} passed, ${failures.length} failed`)
  if (passed + failures.length === 0) console.error('golden: no case ran')
  return failures.length === 0 && passed > 0 ? 0 : 1
}

if (import.meta.main) {
  process.exitCode = await main().catch((error: Error) => {
    console.error(`golden: ${error.message}`)
    return 2
  })
}
