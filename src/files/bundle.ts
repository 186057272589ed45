// Bundles: model files appended to an executable, or in a file beside it.
//
//   executable │ pad │ file │ pad │ file │ … │ directory │ footer
//
// Files begin at multiples of 16 KiB, so that they can be mapped in place whatever the page size
// (4 KiB on x86-64, 16 KiB on Apple silicon; where pages are larger a map begins in front of them).
// The directory is JSON. The footer is the last 64 bytes, little-endian:
//
//    0  magic, 8 bytes
//    8  u32  version, 1
//   12  u32  directory bytes
//   16  u64  offset of the directory, up to which files may lie
//   24  u64  bytes of the whole file, footer included
//   32  SHA-256 of the directory followed by bytes 0 to 31 of the footer
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { BundleError } from '../errors/index.ts'
import { FileSlice } from './file_slice.ts'

/** A model of a bundle, under the name of its file; a split one has several parts. */
export interface BundledFile {
  readonly name: string
  readonly parts: readonly FileSlice[]
}

/** A model to put into a bundle: its name, and the paths of its parts in order. */
export interface BundleInput {
  readonly name: string
  readonly paths: readonly string[]
}

const magic = new Uint8Array([0x4c, 0x65, 0x61, 0x76, 0x65, 0x6e, 0x1a, 0x0a])
const version = 1
const footerBytes = 64
const checkedBytes = 32
const alignment = 16 << 10
const directoryBytesMax = 16 << 20
const chunkBytes = 8 << 20

/** What the directory says of a model; offsets are of the whole file. */
interface Entry {
  name: string
  parts: { offset: number; size: number }[]
}

/**
 * Appends models to the file at `path`, which is created when it does not exist.
 *
 * @throws BundleError when a model's file changes its size meanwhile
 * @example await appendBundle('app', [{ name: 'm.gguf', paths: ['models/m.gguf'] }])
 */
export const appendBundle = async (
  path: string,
  inputs: readonly BundleInput[],
  options: { onProgress?: (bytes: number) => void; signal?: AbortSignal } = {},
): Promise<void> => {
  await using file = await open(path, 'a')
  const written = { at: (await file.stat()).size }
  const write = async (bytes: Uint8Array) => {
    options.signal?.throwIfAborted()
    await file.writeFile(bytes)
    written.at += bytes.length
    options.onProgress?.(bytes.length)
  }
  const entries: Entry[] = []
  for (const { name, paths } of inputs) {
    const entry: Entry = { name, parts: [] }
    for (const part of paths) {
      await write(new Uint8Array(-written.at & (alignment - 1)))
      const offset = written.at
      await copyFile(part, write)
      entry.parts.push({ offset, size: written.at - offset })
    }
    entries.push(entry)
  }
  const directory = new TextEncoder().encode(JSON.stringify(entries))
  const offset = written.at
  await write(directory)
  await write(footerOf(directory, offset))
}

const copyFile = async (path: string, write: (bytes: Uint8Array) => Promise<void>) => {
  await using from: FileHandle = await open(path, 'r')
  const { size } = await from.stat()
  const chunk = new Uint8Array(Math.min(chunkBytes, size))
  for (let at = 0; at < size; ) {
    const { bytesRead } = await from.read(chunk, 0, Math.min(chunk.length, size - at), at)
    if (bytesRead === 0) throw new BundleError(path, `it ended at byte ${at} of ${size}`)
    await write(chunk.subarray(0, bytesRead))
    at += bytesRead
  }
}

const footerOf = (directory: Uint8Array, offset: number): Uint8Array => {
  const footer = new Uint8Array(footerBytes)
  const view = new DataView(footer.buffer)
  footer.set(magic)
  view.setUint32(8, version, true)
  view.setUint32(12, directory.length, true)
  view.setBigUint64(16, BigInt(offset), true)
  view.setBigUint64(24, BigInt(offset + directory.length + footerBytes), true)
  footer.set(digestOf(directory, footer), checkedBytes)
  return footer
}

const digestOf = (directory: Uint8Array, footer: Uint8Array): Uint8Array =>
  createHash('sha256').update(directory).update(footer.subarray(0, checkedBytes)).digest()

/**
 * The models at the end of a file; undefined when it has no bundle. Only the footer and the
 * directory are read: what is in the models is checked when they are loaded.
 *
 * @throws BundleError when there is a bundle, but not a whole one
 * @example readBundle(process.execPath)?.[0]?.name // 'm.gguf'
 */
export const readBundle = (path: string): BundledFile[] | undefined => {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const footer = readAt(file, size - footerBytes, footerBytes)
    if (footer === undefined || !magic.every((byte, i) => footer[i] === byte)) return undefined
    const { found, offset, length, fileBytes } = fieldsOf(footer)
    if (found !== version) {
      throw new BundleError(path, `its bundle is of version ${found}, not ${version}`)
    }
    if (fileBytes !== size || offset + length + footerBytes !== size) {
      throw new BundleError(path, `it has ${size} bytes, but its bundle ends at ${fileBytes}`)
    }
    const directory = length > directoryBytesMax ? undefined : readAt(file, offset, length)
    if (directory === undefined || !isDigest(digestOf(directory, footer), footer)) {
      throw new BundleError(path, 'the directory of its bundle is damaged')
    }
    const entries = JSON.parse(new TextDecoder().decode(directory)) as Entry[]
    return entries.map(({ name, parts }) => ({
      name,
      parts: parts.map((part) => new FileSlice(path, part.offset, part.size, name)),
    }))
  } finally {
    closeSync(file)
  }
}

const fieldsOf = (footer: Uint8Array) => {
  const view = new DataView(footer.buffer, footer.byteOffset, footer.length)
  return {
    found: view.getUint32(8, true),
    length: view.getUint32(12, true),
    offset: Number(view.getBigUint64(16, true)),
    fileBytes: Number(view.getBigUint64(24, true)),
  }
}

const isDigest = (digest: Uint8Array, footer: Uint8Array): boolean =>
  digest.every((byte, i) => footer[checkedBytes + i] === byte)

/** Bytes of an open file; undefined when they are not all there. */
const readAt = (file: number, offset: number, length: number): Uint8Array | undefined => {
  if (offset < 0) return undefined
  const bytes = new Uint8Array(length)
  let filled = 0
  while (filled < length) {
    const count = readSync(file, bytes, filled, length - filled, offset + filled)
    if (count === 0) return undefined
    filled += count
  }
  return bytes
}
