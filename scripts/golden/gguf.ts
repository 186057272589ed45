// Golden part `gguf`: for each file the verdict of the reference, and the layout that it read.
//
// Where leaven's verdict may or must differ, the manifest itself shows it:
// - Sizes that overflow (A15): the reference wraps to a tensor of no or absurd size and accepts.
// - A last tensor without padding (A21): the reference rejects data that are all there.
// - Holes, and tensors out of order (A23): the reference rejects; ours must not overlap.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { GgufError } from '../../src/errors/index.ts'
import { type Gguf, ggufTensorTypes, openGguf, readGguf } from '../../src/files/index.ts'
import { type Run, selects } from './report.ts'

interface ReferenceTensor {
  name: string
  type: number
  /** From the beginning of the data. */
  offset: number
  size: number
}

interface Entry {
  file: string
  accepted_no_alloc: boolean
  accepted_with_data: boolean
  log: string
  version?: number
  alignment?: number
  data_offset?: number
  n_kv?: number
  tensors?: ReferenceTensor[]
}

const openLimitMs = 100

export const run: Run = async (folder, report, { only }) => {
  const { files }: { files: Entry[] } = await Bun.file(join(folder, 'manifest.json')).json()
  for (const entry of files) {
    const name = entry.file.replace(/\.gguf$/, '')
    if (!selects(only, name)) continue
    const problem = await check(entry, join(folder, entry.file))
    if (problem === undefined) report.pass(name)
    else report.fail(name, problem)
  }
}

/** Opens at once and from a Blob in slices; both must end alike, in time and with a GgufError. */
export const openBothWays = async (
  path: string,
): Promise<{ outcome: Gguf | GgufError; problem?: string }> => {
  const started = performance.now()
  const outcome = await attempt(() => openGguf(path))
  const elapsed = performance.now() - started
  if (elapsed > openLimitMs) return { outcome, problem: `opening took ${elapsed.toFixed()} ms` }
  const bytes = await Bun.file(path).arrayBuffer()
  const sliced = await attempt(() => readGguf(new Blob([bytes])))
  if (outcome instanceof GgufError && outcome.file !== path) {
    return { outcome, problem: `the error names ${outcome.file}` }
  }
  const [whole, parts] = [outcome, sliced].map(placeOf)
  if (whole !== parts) return { outcome, problem: `from a Blob: ${parts}; from a path: ${whole}` }
  return { outcome }
}

const attempt = async (open: () => Gguf | Promise<Gguf>): Promise<Gguf | GgufError> => {
  try {
    return await open()
  } catch (error) {
    if (error instanceof GgufError) return error
    throw error
  }
}

const placeOf = (outcome: Gguf | GgufError): string =>
  outcome instanceof GgufError ? `${outcome.field} at ${outcome.offset}` : 'accepted'

const check = async (entry: Entry, path: string): Promise<string | undefined> => {
  const { outcome, problem } = await openBothWays(path)
  if (problem !== undefined) return problem
  if (outcome instanceof GgufError) {
    if (!entry.accepted_no_alloc || overflowed(entry, outcome)) return undefined
    return `rejected, but the reference accepts it: ${outcome.message}`
  }
  if (entry.accepted_no_alloc) return checkLayout(entry, outcome) ?? checkData(entry, outcome, path)
  const mayAccept = /has offset \d+, expected \d+/.test(entry.log)
  if (!mayAccept) return `accepted, but the reference rejects it: ${entry.log.trim()}`
  return checkRanges(outcome, statSync(path).size)
}

const overflowed = ({ tensors = [] }: Entry, error: GgufError): boolean =>
  / dimension \d| type$/.test(error.field) &&
  tensors.some(({ size }) => size <= 0 || !Number.isSafeInteger(size))

const checkLayout = (entry: Entry, gguf: Gguf): string | undefined => {
  const found: [string, unknown, unknown][] = [
    ['version', gguf.version, entry.version],
    ['alignment', gguf.alignment, entry.alignment],
    ['data offset', gguf.dataOffset, entry.data_offset],
    ['keys', gguf.metadata.size, entry.n_kv],
    ['tensors', JSON.stringify(gguf.tensors.map(asReference(gguf))), JSON.stringify(entry.tensors)],
  ]
  const differs = found.find(([, ours, theirs]) => ours !== theirs)
  return differs && `${differs[0]}: ${differs[1]} instead of ${differs[2]}`
}

const asReference =
  ({ dataOffset }: Gguf) =>
  ({ name, type, offset, sizeBytes }: Gguf['tensors'][number]): ReferenceTensor => ({
    // The reference's names are C strings.
    name: name.split('\0', 1)[0]!,
    type: ggufTensorTypes[type].id,
    offset: offset - dataOffset,
    size: sizeBytes,
  })

// By the ranges that the manifest gives, since the reference wants padding after the last tensor.
const checkData = (entry: Entry, gguf: Gguf, path: string): string | undefined => {
  const fileBytes = statSync(path).size
  const isWhole = (entry.tensors ?? []).every(
    ({ offset, size }) => size === 0 || entry.data_offset! + offset + size <= fileBytes,
  )
  try {
    gguf.checkData()
  } catch (error) {
    if (!(error instanceof GgufError)) throw error
    return isWhole ? `its data are all there, but: ${error.message}` : undefined
  }
  return isWhole ? undefined : 'its data are cut off, but checkData accepts them'
}

const checkRanges = ({ tensors, alignment, dataOffset }: Gguf, fileBytes: number) => {
  const sorted = tensors.toSorted((a, b) => a.offset - b.offset || a.sizeBytes - b.sizeBytes)
  let end = dataOffset
  for (const { name, offset, sizeBytes } of sorted) {
    if ((offset - dataOffset) % alignment !== 0) return `tensor '${name}' is not aligned`
    if (offset < end) return `tensor '${name}' overlaps another`
    end = offset + sizeBytes
  }
  return end > fileBytes ? `the data reach to ${end}, the file to ${fileBytes}` : undefined
}
