// A part of a file that is a file of its own, as a model inside an executable is.
import { fileURLToPath } from 'node:url'
import { checkString, checkWhole } from '../errors/arguments.ts'

/**
 * Bytes [offset, offset + size) of a file. Unlike a slice of a Blob it says where it lies, so that
 * `load` maps it in place. Nothing is opened or checked before it is read.
 *
 * @throws TypeError and RangeError for a bad path, offset or size
 * @example const gguf = openGguf(new FileSlice('models.tar', 1536, 2_927_616, 'stories.gguf'))
 */
export class FileSlice {
  readonly path: string
  /** Where it begins in the file, in bytes. */
  readonly offset: number
  /** Bytes. */
  readonly size: number
  /** Shown in errors. */
  readonly name: string

  constructor(path: string | URL, offset: number, size: number, name?: string) {
    if (!(path instanceof URL)) checkString('path', path)
    checkWhole('offset', offset)
    checkWhole('size', size)
    checkWhole('offset + size', offset + size)
    if (name !== undefined) checkString('name', name)
    this.path = typeof path === 'string' ? path : fileURLToPath(path)
    this.offset = offset
    this.size = size
    this.name = name ?? `${this.path} from byte ${offset}`
  }
}
