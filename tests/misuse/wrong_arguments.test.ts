// Wrong arguments in every place of every public function: an error that names the mistake, or
// none; never a crash, a hang, or memory that stays.
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as files from '../../src/files/index.ts'
import * as leaven from '../../src/index.ts'
import { nativeCounters } from '../../src/native/devices.ts'
import * as tensor from '../../src/tensor.ts'
import { comesBackTo } from '../device/settle.ts'
import { openBench, type Subject } from './subjects.ts'
import { placesIn, withWrong, wrongValues } from './wrong_values.ts'

/** What JavaScript itself says about code that did not check: no message for a user. */
const fromEngine = new RegExp(
  [
    /is not an? (object|function|constructor|iterable)/,
    /evaluating|In '|symbol to|BigInt|destructured|Type error|spread|Spread/,
    /detached|Array (length|size)|array length|Invalid argument|out of memory/,
    /must be of type|cannot be parsed|Illegal constructor|non-iterable|primitive value/,
  ]
    .map(({ source }) => source)
    .join('|'),
)

/** Ops check their operands in one place, but not that there are options where they need some. */
const isOp = ({ name }: Subject): boolean => name.startsWith('tensor.')

const isTyped = (error: unknown, subject: Subject): boolean => {
  if (error instanceof leaven.LeavenError) return error.message !== ''
  if (!(error instanceof TypeError || error instanceof RangeError)) return false
  return isOp(subject) || !fromEngine.test(error.message)
}

/** Calls and waits for what comes of it, and gives it back. */
const attempt = async (subject: Subject, args: readonly unknown[]): Promise<unknown> => {
  try {
    let result = subject.call(...(args as never[]))
    if (typeof (result as PromiseLike<unknown>)?.then === 'function') {
      result = await Promise.race([result, timeOut()])
    }
    const resource = result as Partial<Disposable & AsyncDisposable> | undefined | null
    if (typeof resource === 'object' && resource !== null) {
      if (resource[Symbol.asyncDispose]) await resource[Symbol.asyncDispose]!()
      else resource[Symbol.dispose]?.()
    }
    return undefined
  } catch (error) {
    return error
  }
}

/** A folder that is the current one until the end of the block. */
const elsewhere = (): Disposable => {
  const before = process.cwd()
  const folder = mkdtempSync(join(tmpdir(), 'leaven-misuse-'))
  process.chdir(folder)
  return {
    [Symbol.dispose]: () => {
      process.chdir(before)
      rmSync(folder, { recursive: true })
    },
  }
}

const timeOut = async (): Promise<never> => {
  await Bun.sleep(20_000)
  throw new Error('it hangs')
}

test('wrong arguments give typed errors, and leave nothing behind', async () => {
  // Some take a string for a path, and may write there.
  using _ = elsewhere()
  expect(await callAll(rightArguments)).toEqual([])
  // The library keeps tables and threads that it has made for the first calls.
  const before = nativeCounters()
  expect(await callAll(wrongArguments)).toEqual([])
  // Threads of queues end by themselves.
  expect(await comesBackTo(before)).toBe(true)
  expect(nativeCounters().mappedBytes).toBeLessThanOrEqual(before.mappedBytes)
}, 300_000)

test('the table has every function that the package exports', async () => {
  await using bench = await openBench()
  const names = bench.subjects.map(({ name }) => name)
  // Takes nothing.
  const known = new Set(['devices', ...names])
  const exported = [leaven, files, tensor].flatMap((entry) => Object.entries(entry))
  const isClass = (value: unknown) => /^class\b/.test(String(value))
  const functions = exported.filter(([, each]) => typeof each === 'function' && !isClass(each))
  expect(functions.map(([name]) => name).filter((name) => !known.has(name))).toEqual([])
})

interface Call {
  /** What is wrong with the arguments. */
  readonly name: string
  readonly args: readonly unknown[]
}

const rightArguments = (subject: Subject): Call[] =>
  isOp(subject) ? [] : [{ name: 'right arguments', args: subject.args }]

const wrongArguments = ({ args }: Subject): Call[] =>
  placesIn(args).flatMap((place) =>
    Object.entries(wrongValues).map(([name, wrong]) => ({
      name: `[${place.join('.')}] ${name}`,
      args: withWrong(args, place, wrong()),
    })),
  )

/** The calls that ended otherwise than they should; right arguments should give no error at all. */
const callAll = async (callsOf: (subject: Subject) => Call[]): Promise<string[]> => {
  await using bench = await openBench()
  const problems: string[] = []
  for (const subject of bench.subjects) {
    for (const { name, args } of callsOf(subject)) {
      const error = await attempt(subject, args)
      const isFine = callsOf === wrongArguments && isTyped(error, subject)
      if (error === undefined || isFine) continue
      const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      problems.push(`${subject.name} ${name}: ${what}`)
    }
  }
  return problems
}
