// An opened GGUF file, or the parts of a split one: metadata, and where each tensor's bytes lie.
import { checkWhole } from '../errors/arguments.ts'
import { DisposedError, GgufError } from '../errors/index.ts'
import {
  type ByteSource,
  type FilePlace,
  isFilePlace,
  openFile,
  presentSize,
} from './byte_source.ts'
import { shorten } from './gguf_cursor.ts'
import { GgufMetadata } from './gguf_metadata.ts'
import type { ParsedHeader } from './gguf_parse.ts'
import type { TensorInfo } from './gguf_parse_tensors.ts'

/** A tensor, and where its bytes lie. */
export interface GgufTensor extends TensorInfo {
  /** Outermost first, as NumPy has it: `ne` reversed. */
  readonly shape: readonly number[]
  /** Which of `Gguf.files` holds it. */
  readonly fileIndex: number
}

/** One file of a GGUF; only split ones have more than one. */
export interface GgufFile {
  readonly name: string
  /** The path or FileSlice, which can be mapped; or what the file was read from. */
  readonly source: FilePlace | ByteSource
  /** Bytes of the file when it was opened; those of the slice, of a FileSlice. */
  readonly size: number
  /** Where tensor data begin. */
  readonly dataOffset: number
}

/** A parsed file and where it came from. */
export interface GgufPart {
  readonly header: ParsedHeader
  readonly source: FilePlace | ByteSource
}

/**
 * The header of a GGUF file in memory. No file stays open; `using` frees the memory early.
 *
 * @example
 * using gguf = openGguf('model.gguf')
 * gguf.metadata.string('general.architecture')    // 'llama'
 * gguf.tensorsByName.get('token_embd.weight')?.shape   // [32000, 4096]
 */
export class Gguf implements Disposable {
  /** 2 or 3; they differ in nothing but the number. */
  readonly version: number
  /** Tensor data begin at multiples of this many bytes, a power of two. */
  readonly alignment: number
  /** Where tensor data begin in the (first) file. */
  readonly dataOffset: number
  readonly files: readonly GgufFile[]
  #contents:
    | {
        metadata: GgufMetadata
        tensors: readonly GgufTensor[]
        byName: ReadonlyMap<string, GgufTensor>
      }
    | undefined

  /** For `openGguf` and `readGguf`: metadata are those of the first part. */
  constructor(parts: readonly [GgufPart, ...GgufPart[]]) {
    const { header } = parts[0]
    this.version = header.version
    this.alignment = header.alignment
    this.dataOffset = header.dataOffset
    this.files = parts.map(({ header: { file, fileBytes, dataOffset }, source }) => ({
      name: file,
      source,
      size: fileBytes,
      dataOffset,
    }))
    const tensors = parts.flatMap((part, fileIndex) =>
      part.header.tensors.map((tensor) => ({
        ...tensor,
        shape: tensor.ne.toReversed(),
        fileIndex,
      })),
    )
    const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]))
    this.#contents = { metadata: new GgufMetadata(header), tensors, byName }
  }

  get metadata(): GgufMetadata {
    return this.#live.metadata
  }

  /** In the order of the file; of all parts, when split. */
  get tensors(): readonly GgufTensor[] {
    return this.#live.tensors
  }

  get tensorsByName(): ReadonlyMap<string, GgufTensor> {
    return this.#live.byName
  }

  /**
   * Checks that every file still holds the data of its tensors, as loading a model must before it
   * touches a mapped page. Throws a GgufError naming the first tensor that is cut off, its offset
   * and the size of the file.
   */
  checkData(): void {
    const sizes = this.files.map(({ source, size }) =>
      isFilePlace(source) ? presentSize(source) : size,
    )
    const isWhole = ({ fileIndex, offset, sizeBytes }: GgufTensor) =>
      sizeBytes === 0 || offset + sizeBytes <= sizes[fileIndex]!
    const cut = this.tensors.find((tensor) => !isWhole(tensor))
    if (cut === undefined) return
    const { name, fileIndex, offset, sizeBytes } = cut
    const size = sizes[fileIndex]!
    const whole = this.tensors.filter(isWhole).length
    throw new GgufError(
      {
        file: this.files[fileIndex]!.name,
        field: `tensor '${shorten(name)}' data`,
        offset,
        value: size,
      },
      `it takes the bytes up to ${offset + sizeBytes}, but the file ends at ${size} ` +
        `(${whole} of ${this.tensors.length} tensors are whole): an unfinished download?`,
    )
  }

  /**
   * Reads bytes `start` to `end` of a tensor's data off this thread, where mapping is not wanted or
   * not possible (Blobs).
   *
   * @throws RangeError when the tensor has no such bytes, GgufError when the file has not
   * @example const rows = await gguf.readData(tensor, 0, 4 * rowBytes)
   */
  async readData(tensor: GgufTensor, start = 0, end = tensor.sizeBytes): Promise<Uint8Array> {
    const own = this.tensorsByName.get(tensor?.name)
    if (own === undefined || own !== tensor)
      throw new TypeError('the tensor is not one of this file')
    checkWhole('end', end, 0, tensor.sizeBytes)
    checkWhole('start', start, 0, end)
    const { name, source } = this.files[tensor.fileIndex]!
    const [from, length] = [tensor.offset + start, end - start]
    const read = async (file: ByteSource) => {
      // Before the file's size is known to suffice, nothing is allocated for the bytes.
      const bytes = from + length <= file.size ? await file.read(from, length) : undefined
      if (bytes?.length === length) return bytes
      const field = `tensor '${shorten(tensor.name)}' data`
      const problem = `its ${length} bytes are not there: the file ends at ${file.size}`
      throw new GgufError({ file: name, field, offset: from, value: file.size }, problem)
    }
    if (!isFilePlace(source)) return read(source)
    await using file = await openFile(source)
    return await read(file)
  }

  /** Frees the header. Values that were taken from it before stay valid. */
  dispose(): void {
    this.#contents = undefined
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  get #live() {
    if (this.#contents === undefined) throw new DisposedError('Gguf')
    return this.#contents
  }
}
