// Opens GGUF files: at once, or in slices that never hold up the event loop.
import { checkObject, checkSignal } from '../errors/arguments.ts'
import { GgufError } from '../errors/index.ts'
import {
  type ByteSource,
  blobSource,
  type FilePlace,
  type GgufSource,
  isFilePlace,
  openFile,
  openFileSync,
  placeOf,
} from './byte_source.ts'
import type { FileSlice } from './file_slice.ts'
import { Gguf, type GgufPart } from './gguf.ts'
import { parseHeader } from './gguf_parse.ts'
import { checkParts, missingPart, otherPartPaths } from './gguf_split.ts'
import { runNow, runSliced } from './slices.ts'

export interface OpenGgufOptions {
  /** Opens the other parts of a split file too (default). False: only the file that is named. */
  split?: boolean
}

/** What can be read on this thread; of the Blobs only a whole BunFile. */
type OpenSource = string | URL | Blob | FileSlice

export interface ReadGgufOptions extends OpenGgufOptions {
  signal?: AbortSignal
}

/**
 * Reads the header of a GGUF file on this thread. Tensor data are not read, and may be cut off or
 * absent: see `Gguf.checkData`. Opening the first part of a split file opens them all.
 *
 * @param source a path, a file: URL, a BunFile or a FileSlice; all parts of a split file, when in
 *   an array
 * @throws GgufError {file, field, offset, value} when it cannot be read or is not valid GGUF;
 *   TypeError for a Blob, which can only be read asynchronously: use `readGguf`
 * @example
 * using gguf = openGguf('model.gguf')
 * console.log(gguf.metadata.get('general.name'), gguf.tensors.length)
 */
export const openGguf = (
  source: OpenSource | readonly OpenSource[],
  options: OpenGgufOptions = {},
): Gguf => {
  checkObject('options', options)
  const places = sourceList(source).map((each) => {
    const place = checkSource(each) && placeOf(each)
    if (place !== undefined) return place
    throw new TypeError('openGguf takes paths, file: URLs and BunFiles; readGguf takes any Blob')
  })
  const parts = places.map(parsePlace)
  const first = parts[0]!
  if (options.split !== false && parts.length === 1) {
    otherPartPaths(first).forEach((path, index) => {
      try {
        parts.push(parsePlace(path))
      } catch (cause) {
        throw isMissing(cause) ? missingPart(first, path, index + 1, cause) : cause
      }
    })
  }
  return assemble(parts, options)
}

/**
 * Reads the header of a GGUF file without holding up the event loop: in slices of about a
 * millisecond, whatever its size. Of a Blob or a ByteSource (perhaps over HTTP) only the header is
 * fetched.
 *
 * @param source a path, a file: URL, a Blob, a BunFile, a FileSlice or a ByteSource; or all parts
 *   of a split file in an array
 * @throws GgufError as `openGguf`; rejects with `signal.reason` when aborted
 * @example const gguf = await readGguf(file, { signal: AbortSignal.timeout(500) })
 */
export const readGguf = async (
  source: GgufSource | readonly GgufSource[],
  options: ReadGgufOptions = {},
): Promise<Gguf> => {
  checkObject('options', options)
  const { signal } = options
  checkSignal(signal)
  const parts: GgufPart[] = []
  for (const each of sourceList(source)) {
    checkSource(each)
    const place = placeOf(each)
    parts.push(
      place === undefined
        ? await parseSource(toSource(each, parts.length), signal)
        : await parseFile(place, signal),
    )
  }
  const first = parts[0]!
  if (options.split !== false && parts.length === 1) {
    for (const [index, path] of otherPartPaths(first).entries()) {
      try {
        parts.push(await parseFile(path, signal))
      } catch (cause) {
        throw isMissing(cause) ? missingPart(first, path, index + 1, cause) : cause
      }
    }
  }
  return assemble(parts, options)
}

const sourceList = <T>(source: T | readonly T[]): readonly T[] => {
  const list: readonly T[] = Array.isArray(source) ? source : [source as T]
  if (list.length === 0) throw new TypeError('an empty array of parts was given')
  return list
}

const isByteSource = (source: object): source is ByteSource =>
  typeof (source as ByteSource).read === 'function' &&
  Number.isSafeInteger((source as ByteSource).size)

const checkSource = (source: unknown): true => {
  if (isFilePlace(source) || source instanceof URL || source instanceof Blob) return true
  if (typeof source === 'object' && source !== null && isByteSource(source)) return true
  throw new TypeError(`a GGUF file is a path, a URL, a Blob or a ByteSource, not ${typeof source}`)
}

const toSource = (source: GgufSource, index: number): ByteSource => {
  if (!(source instanceof Blob)) return source as ByteSource
  const { name } = source as { name?: unknown }
  return blobSource(source, typeof name === 'string' ? name : `blob ${index + 1}`)
}

const parsePlace = (place: FilePlace): GgufPart => {
  using source = openFileSync(place)
  return { header: runNow(parseHeader(source.name, source.size), source), source: place }
}

const parseFile = async (place: FilePlace, signal?: AbortSignal): Promise<GgufPart> => {
  await using source = await openFile(place)
  const header = await runSliced(parseHeader(source.name, source.size), source, signal)
  return { header, source: place }
}

const parseSource = async (source: ByteSource, signal?: AbortSignal): Promise<GgufPart> => {
  const header = await runSliced(parseHeader(source.name, source.size), source, signal)
  return { header, source }
}

// The file itself could not be read, as against one that is there but not valid.
const isMissing = (cause: unknown): boolean =>
  cause instanceof GgufError && cause.offset === 0 && cause.field === 'file'

const assemble = (list: readonly GgufPart[], { split }: OpenGgufOptions): Gguf => {
  const parts = list as readonly [GgufPart, ...GgufPart[]]
  if (split !== false || parts.length > 1) checkParts(parts)
  return new Gguf(parts)
}
