// Golden part `cases`, section A: the GGUF files of the folder by its manifest, and those that our
// own table builds (tests/files/hostile_files.ts); then a file beyond 4 GiB, and one that shrinks.
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GgufError } from '../../src/errors/index.ts'
import { type Gguf, openGguf, writeGguf } from '../../src/files/index.ts'
import { hostileFiles } from '../../tests/files/hostile_files.ts'
import { raw } from '../../tests/files/raw_gguf.ts'
import { openBothWays } from './gguf.ts'
import { type Report, type Run, selects } from './report.ts'

type Expectation = 'accept' | 'reject' | 'either' | 'reject-when-data-used'

interface Case {
  id: string
  expect: Expectation
  why: string
}

export const run: Run = async (folder, report, { only }) => {
  const cases: Case[] = await Bun.file(join(folder, 'gguf', 'manifest.json')).json()
  for (const { id, expect, why } of cases) {
    if (!selects(only, id)) continue
    const problem = await verdictProblem(join(folder, 'gguf', `${id}.gguf`), expect)
    settle(report, id, problem && `${why}: ${problem}`)
  }
  const temporary = mkdtempSync(join(tmpdir(), 'leaven-cases-'))
  try {
    await runBuilt(temporary, report, only)
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

const settle = (report: Report, name: string, problem: string | undefined): void => {
  if (problem === undefined) report.pass(name)
  else report.fail(name, problem)
}

const dataError = (gguf: Gguf): GgufError | undefined => {
  try {
    gguf.checkData()
  } catch (error) {
    if (error instanceof GgufError) return error
    throw error
  }
  return undefined
}

const verdictProblem = async (path: string, expect: Expectation): Promise<string | undefined> => {
  const { outcome, problem } = await openBothWays(path)
  if (problem !== undefined || expect === 'either') return problem
  if (outcome instanceof GgufError) {
    return expect === 'reject' ? undefined : `rejected: ${outcome.message}`
  }
  if (expect === 'reject') return 'it was accepted'
  const cut = dataError(outcome)
  if (expect === 'accept') return cut && `its data were rejected: ${cut.message}`
  return cut ? undefined : 'its data were accepted'
}

const expectations = { accept: 'accept', reject: 'reject', cut: 'reject-when-data-used' } as const

const runBuilt = async (temporary: string, report: Report, only?: string): Promise<void> => {
  const path = join(temporary, 'case.gguf')
  for (const { id, bytes, verdict, holds } of hostileFiles) {
    if (!selects(only, id)) continue
    await Bun.write(path, bytes())
    const problem = await verdictProblem(path, expectations[verdict])
    const isRight = problem !== undefined || !holds || holds(openGguf(path))
    settle(report, id, isRight ? problem : 'it was read wrongly')
  }
  if (selects(only, 'A27')) settle(report, 'A27 shrunk after opening', await shrunk(path))
  if (selects(only, 'A28')) settle(report, 'A28 beyond 4 GiB', beyond4GiB(path))
}

const shrunk = async (path: string): Promise<string | undefined> => {
  const data = new Float32Array(1024)
  await writeGguf(path, {
    metadata: {},
    tensors: [{ name: 't', type: 'f32', shape: [1024], data }],
  })
  const gguf = openGguf(path)
  if (dataError(gguf)) return 'its data were rejected while they were there'
  truncateSync(path, 128)
  return dataError(gguf) ? undefined : 'its data were accepted when they were gone'
}

const beyond4GiB = (path: string): string | undefined => {
  const size = 2 ** 32 + 4096
  const file = openSync(path, 'w')
  writeSync(
    file,
    raw()
      .header(1, 0)
      .tensor('t', [1024], 0, size - 4096 - 64)
      .pad()
      .bytes(),
  )
  ftruncateSync(file, size)
  closeSync(file)
  const gguf = openGguf(path)
  const offset = gguf.tensors[0]?.offset
  return offset === 2 ** 32 ? dataError(gguf)?.message : `its tensor is at ${offset}, not 2^32`
}
