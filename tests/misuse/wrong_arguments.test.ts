// Wrong arguments in every place of every public function: an error that names the mistake, or
// none; never a crash, a hang, or memory that stays.
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LeavenError } from '../../src/index.ts'
import { nativeCounters } from '../../src/native/devices.ts'
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
  if (error instanceof LeavenError) return error.message !== ''
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
  const before = nativeCounters()
  const problems: string[] = []
  let count = 0
  {
    // Some take a string for a path, and may write there.
    using _ = elsewhere()
    await using bench = await openBench()
    for (const subject of bench.subjects) {
      for (const place of placesIn(subject.args)) {
        for (const [name, wrong] of Object.entries(wrongValues)) {
          count++
          const error = await attempt(subject, withWrong(subject.args, place, wrong()))
          if (error === undefined || isTyped(error, subject)) continue
          const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
          problems.push(`${subject.name} [${place.join('.')}] ${name}: ${what}`)
        }
      }
    }
  }
  expect(problems).toEqual([])
  expect(count).toBeGreaterThan(4000)
  // Threads of queues end by themselves.
  expect(await comesBackTo(before)).toBe(true)
  expect(nativeCounters().mappedBytes).toBeLessThanOrEqual(before.mappedBytes)
}, 300_000)
