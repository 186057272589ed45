// Writes GGUF files: the header, then each tensor's data as they come, however large.
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { checkCallback, checkObject, checkSignal, checkString, shown } from '../errors/arguments.ts'
import { GgufError } from '../errors/index.ts'
import { checkMetadata, encodeHeader, placeTensors, type TensorShape } from './gguf_encode.ts'
import { GgufMetadata } from './gguf_metadata.ts'
import { alignUp } from './gguf_types.ts'
import type { GgufValueInput } from './gguf_values.ts'
import { runSliced } from './slices.ts'

/**
 * Bytes of a tensor: whole, in pieces, or a function that gives either when it is the tensor's
 * turn. A piece may be reused for the next once that is asked for.
 */
export type GgufData =
  | ArrayBufferView
  | Iterable<ArrayBufferView>
  | AsyncIterable<ArrayBufferView>
  | (() => ArrayBufferView | Iterable<ArrayBufferView> | AsyncIterable<ArrayBufferView>)

/** A tensor to be written; `shape` is outermost first. */
export interface GgufTensorInput extends TensorShape {
  readonly data: GgufData
}

/** What a GGUF file holds. */
export interface GgufContents {
  /** Metadata of an opened file are repeated exactly. Plain numbers must name their type. */
  readonly metadata:
    | GgufMetadata
    | Iterable<readonly [string, GgufValueInput]>
    | Readonly<Record<string, GgufValueInput>>
  readonly tensors?: Iterable<GgufTensorInput>
  /** A power of two; default: the key `general.alignment`, or else 32. */
  readonly alignment?: number
}

export interface WriteGgufOptions {
  signal?: AbortSignal
  /** Bytes written so far, of all. */
  onProgress?(progress: { written: number; total: number }): void
}

/**
 * Writes a GGUF file of version 3. It is written under another name and renamed when it is whole
 * and on the disk: what was at `path` stays until then, and stays for good if writing fails.
 *
 * @throws TypeError or RangeError, before anything is written, for contents that are not valid;
 *   RangeError when a tensor gives more or fewer bytes than its shape needs; GgufError when the
 *   file system refuses; `signal.reason` when aborted
 * @example
 * await writeGguf('half.gguf', {
 *   metadata: { 'general.architecture': 'llama', 'llama.block_count': { type: 'u32', value: 6 } },
 *   tensors: [{ name: 'norm.weight', type: 'f32', shape: [2], data: new Float32Array([1, 1]) }],
 * })
 */
export const writeGguf = async (
  path: string,
  contents: GgufContents,
  options: WriteGgufOptions = {},
): Promise<void> => {
  checkString('path', path)
  checkObject('contents', contents)
  checkObject('options', options)
  const { signal, onProgress } = options
  checkSignal(signal)
  checkCallback('onProgress', onProgress)
  const tensors = [...checkTensors(contents.tensors ?? [])]
  const metadata = checkMetadata(metadataEntries(contents.metadata), contents.alignment)
  const placed = placeTensors(tensors, metadata.alignment)
  tensors.forEach(({ name, data }, index) => {
    checkData(name, data, placed[index]!.sizeBytes)
  })
  const header = await runSliced(encodeHeader(metadata, placed), undefined, signal)
  const last = placed.at(-1)
  const dataBytes = last ? alignUp(last.offset + last.sizeBytes, metadata.alignment) : 0
  const total = header.sizeBytes + dataBytes

  await replaceFile(path, async (output) => {
    const write = async (bytes: Uint8Array) => {
      signal?.throwIfAborted()
      await output.write(bytes)
      onProgress?.({ written: output.position, total })
    }
    for (const chunk of header.chunks) await write(chunk)
    for (const [index, { name, data }] of tensors.entries()) {
      const { offset, sizeBytes } = placed[index]!
      await output.skipTo(header.sizeBytes + offset)
      let given = 0
      for await (const piece of pieces(name, data)) {
        given += piece.length
        if (given > sizeBytes) checkSize(name, given, sizeBytes)
        await write(piece)
      }
      checkSize(name, given, sizeBytes)
    }
    await output.skipTo(total)
  })
}

const metadataEntries = (
  metadata: GgufContents['metadata'],
): Iterable<readonly [string, GgufValueInput]> => {
  if (metadata instanceof GgufMetadata) return metadata.typedEntries()
  if (typeof metadata !== 'object' || metadata === null || ArrayBuffer.isView(metadata)) {
    throw new TypeError(`metadata are a record, entries or GgufMetadata, not ${shown(metadata)}`)
  }
  return Symbol.iterator in metadata ? metadata : Object.entries(metadata)
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  Symbol.iterator in value &&
  !ArrayBuffer.isView(value)

const checkTensors = (tensors: unknown): Iterable<GgufTensorInput> => {
  if (isIterable(tensors)) return tensors as Iterable<GgufTensorInput>
  throw new TypeError(`tensors must be an array or another iterable, not ${shown(tensors)}`)
}

const isPieces = (data: unknown): boolean =>
  isIterable(data) || (typeof data === 'object' && data !== null && Symbol.asyncIterator in data)

const checkData = (name: string, data: GgufData, sizeBytes: number): void => {
  if (ArrayBuffer.isView(data)) {
    checkSize(name, data.byteLength, sizeBytes)
  } else if (typeof data !== 'function' && !isPieces(data)) {
    const given = shown(data)
    throw new TypeError(`tensor '${name}': its data are bytes, pieces or a function, not ${given}`)
  }
}

const checkSize = (name: string, given: number, needed: number): void => {
  if (given === needed) return
  throw new RangeError(`tensor '${name}': its shape needs ${needed} bytes, ${given} were given`)
}

const pieceBytes = 2 ** 24

// Large pieces are written in parts, so that an abort takes effect and progress is seen.
async function* pieces(name: string, data: GgufData): AsyncGenerator<Uint8Array> {
  const source = typeof data === 'function' ? data() : data
  const views = ArrayBuffer.isView(source) ? [source] : source
  if (!isPieces(views)) {
    throw new TypeError(`tensor '${name}': its function gave ${shown(views)}, not bytes or pieces`)
  }
  for await (const view of views) {
    if (!ArrayBuffer.isView(view)) {
      throw new TypeError(`tensor '${name}': its data are typed arrays, not ${typeof view}`)
    }
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      yield bytes.subarray(start, start + pieceBytes)
    }
  }
}

const bufferBytes = 2 ** 20

/** Writes in order, small pieces gathered in a buffer. Errors of the file system name the file. */
class Output {
  /** Bytes given so far. */
  position = 0
  readonly #path: string
  readonly #file: FileHandle
  readonly #buffer = new Uint8Array(bufferBytes)
  #buffered = 0

  constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#buffered + bytes.length > bufferBytes) await this.flush()
    this.position += bytes.length
    if (bytes.length >= bufferBytes) {
      await this.#writeAt(bytes, this.position - bytes.length)
    } else {
      this.#buffer.set(bytes, this.#buffered)
      this.#buffered += bytes.length
    }
  }

  /** Leaves zeros up to `position`. */
  async skipTo(position: number): Promise<void> {
    const zeros = position - this.position
    if (this.#buffered + zeros <= bufferBytes) {
      this.#buffer.fill(0, this.#buffered, this.#buffered + zeros)
      this.#buffered += zeros
      this.position = position
    } else {
      await this.flush()
      // What is skipped over reads as zeros; a skip at the end needs the size to be set.
      this.position = position
      await refusal(this.#path, position, this.#file.truncate(position))
    }
  }

  async flush(): Promise<void> {
    const bytes = this.#buffer.subarray(0, this.#buffered)
    this.#buffered = 0
    await this.#writeAt(bytes, this.position - bytes.length)
  }

  async #writeAt(bytes: Uint8Array, position: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const write = this.#file.write(bytes, done, bytes.length - done, position + done)
      done += (await refusal(this.#path, position + done, write)).bytesWritten
    }
  }
}

// Turns an error of the file system into one that names file, offset and code.
const refusal = async <T>(path: string, offset: number, work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (cause) {
    const value = (cause as { code?: unknown }).code ?? 'unknown'
    const message = cause instanceof Error ? cause.message : String(cause)
    const place = { file: path, field: 'file', offset, value }
    throw new GgufError(place, `cannot be written: ${message}`, { cause })
  }
}

/** Runs `fill` on a new file that takes the place of `path` once everything is on the disk. */
const replaceFile = async (
  path: string,
  fill: (output: Output) => Promise<void>,
): Promise<void> => {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await refusal(path, 0, open(temporary, 'wx'))
  try {
    try {
      const output = new Output(path, file)
      await fill(output)
      await output.flush()
      await refusal(path, output.position, file.sync())
    } finally {
      await file.close()
    }
    await refusal(path, 0, rename(temporary, path))
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncFolder(dirname(path))
}

// A rename is on the disk when its folder is. Windows cannot open folders, and needs no such step.
const syncFolder = async (folder: string): Promise<void> => {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
