// A model file that is not valid GGUF.
import { LeavenError } from './leaven_error.ts'

/** Names the file, the field, the byte offset where it lies, and the offending value. */
export class GgufError extends LeavenError {
  readonly file: string
  readonly field: string
  readonly offset: number
  readonly value: unknown

  constructor(
    place: { file: string; field: string; offset: number; value: unknown },
    problem: string,
    options?: ErrorOptions,
  ) {
    super(
      'GGUF_INVALID',
      `${place.file}: ${place.field} at byte ${place.offset}: ${problem}`,
      options,
    )
    this.file = place.file
    this.field = place.field
    this.offset = place.offset
    this.value = place.value
  }
}
