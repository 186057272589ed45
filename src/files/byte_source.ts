// Where the bytes of a file come from: a path read with positioned reads, a Blob, or the caller.
// Headers are read, never mapped: a file that shrinks under a map kills the process with SIGBUS.
import { closeSync, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { GgufError } from '../errors/index.ts'
import { FileSlice } from './file_slice.ts'

/** Random access to the bytes of one file. Sizes and offsets are bytes. */
export interface ByteSource {
  /** Shown in errors. */
  readonly name: string
  readonly size: number
  /** Exactly `length` bytes from `offset`; fewer mean that the file ended early. */
  read(offset: number, length: number): Uint8Array | Promise<Uint8Array>
}

/** A source that is read at once and must be closed. */
export interface SyncByteSource extends ByteSource, Disposable {
  read(offset: number, length: number): Uint8Array
}

/** What a GGUF file can be read from. A URL must be a `file:` URL. */
export type GgufSource = string | URL | Blob | FileSlice | ByteSource

/** Bytes that lie in a file of this machine: a whole one, by its path, or a part of one. */
export type FilePlace = string | FileSlice

export const isFilePlace = (source: unknown): source is FilePlace =>
  typeof source === 'string' || source instanceof FileSlice

const unreadable = (path: string, cause: unknown): GgufError => {
  const code = (cause as { code?: unknown }).code ?? 'unknown'
  const message = cause instanceof Error ? cause.message : String(cause)
  const place = { file: path, field: 'file', offset: 0, value: code }
  return new GgufError(place, `cannot be read: ${message}`, { cause })
}

// Opening a pipe would wait for a writer, perhaps for ever: look before opening.
const checkRegular = (path: string, stats: Stats): void => {
  if (stats.isFile()) return
  const what = stats.isDirectory() ? 'a directory' : 'not a regular file'
  throw new GgufError({ file: path, field: 'file', offset: 0, value: what }, `it is ${what}`)
}

/** Bytes of `place` that are there at present; throws a GgufError when its file is gone. */
export const presentSize = (place: FilePlace): number => {
  const { path, offset, size } = rangeOf(place)
  try {
    return sizeWithin(statSync(path).size, offset, size)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

const rangeOf = (place: FilePlace) =>
  typeof place === 'string'
    ? { path: place, offset: 0, size: Number.POSITIVE_INFINITY, name: place }
    : place

const sizeWithin = (fileBytes: number, offset: number, size: number): number =>
  Math.max(0, Math.min(size, fileBytes - offset))

/** Opens `place` for positioned reads on this thread; throws a GgufError when it cannot be read. */
export const openFileSync = (place: FilePlace): SyncByteSource => {
  const { path, offset, size, name } = rangeOf(place)
  let file: number | undefined
  try {
    checkRegular(path, statSync(path))
    file = openSync(path, 'r')
    const stats = fstatSync(file)
    checkRegular(path, stats)
    return syncSource(name, file, offset, sizeWithin(stats.size, offset, size))
  } catch (cause) {
    if (file !== undefined) closeSync(file)
    throw cause instanceof GgufError ? cause : unreadable(path, cause)
  }
}

const syncSource = (name: string, file: number, base: number, size: number): SyncByteSource => ({
  name,
  size,
  read(offset, length) {
    const bytes = new Uint8Array(length)
    let filled = 0
    while (filled < length) {
      let count: number
      try {
        count = readSync(file, bytes, filled, length - filled, base + offset + filled)
      } catch (cause) {
        throw unreadable(name, cause)
      }
      if (count === 0) break
      filled += count
    }
    return bytes.subarray(0, filled)
  },
  [Symbol.dispose]: () => closeSync(file),
})

/** Opens `place` for reads off this thread; throws a GgufError when it cannot be read. */
export const openFile = async (place: FilePlace): Promise<ByteSource & AsyncDisposable> => {
  const { path, offset, size, name } = rangeOf(place)
  let file: FileHandle | undefined
  try {
    checkRegular(path, statSync(path))
    file = await open(path, 'r')
    const stats = await file.stat()
    checkRegular(path, stats)
    return handleSource(name, file, offset, sizeWithin(stats.size, offset, size))
  } catch (cause) {
    await file?.close()
    throw cause instanceof GgufError ? cause : unreadable(path, cause)
  }
}

const handleSource = (
  name: string,
  file: FileHandle,
  base: number,
  size: number,
): ByteSource & AsyncDisposable => ({
  name,
  size,
  async read(offset, length) {
    const bytes = new Uint8Array(length)
    let filled = 0
    while (filled < length) {
      const at = base + offset + filled
      let count: number
      try {
        count = (await file.read(bytes, filled, length - filled, at)).bytesRead
      } catch (cause) {
        throw unreadable(name, cause)
      }
      if (count === 0) break
      filled += count
    }
    return bytes.subarray(0, filled)
  },
  [Symbol.asyncDispose]: () => file.close(),
})

/** A Blob as a source: only the slices that are asked for are read. */
export const blobSource = (blob: Blob, name = 'blob'): ByteSource => ({
  name,
  size: blob.size,
  async read(offset, length) {
    try {
      return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer())
    } catch (cause) {
      throw unreadable(name, cause)
    }
  },
})

/** Where `source` lies in a file; undefined for Blobs and for the caller's own sources. */
export const placeOf = (source: GgufSource): FilePlace | undefined => {
  if (isFilePlace(source)) return source
  if (source instanceof URL) {
    if (source.protocol === 'file:') return fileURLToPath(source)
    throw new TypeError(`a GGUF file is opened by a file: URL or a path, not by ${source.href}`)
  }
  if (!(source instanceof Blob) || source instanceof File) return undefined
  // Of the other Blobs only a BunFile has a name; a slice of one keeps it, and is read as a Blob.
  const name = (source as { name?: unknown }).name
  if (typeof name !== 'string') return undefined
  try {
    const stats = statSync(name)
    return stats.isFile() && stats.size !== source.size ? undefined : name
  } catch {
    // Opening it will tell what is wrong.
    return name
  }
}
