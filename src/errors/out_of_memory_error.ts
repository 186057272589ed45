// A device has less memory than was asked for.
import { LeavenError } from './leaven_error.ts'

/** Sizes are bytes; `suggestion` says what would help. */
export class OutOfMemoryError extends LeavenError {
  readonly device: string
  readonly needed: number
  readonly free: number
  readonly suggestion: string

  constructor(at: { device: string; needed: number; free: number; suggestion: string }) {
    super(
      'OUT_OF_MEMORY',
      `${at.device}: ${at.needed} bytes needed, ${at.free} free; ${at.suggestion}`,
    )
    this.device = at.device
    this.needed = at.needed
    this.free = at.free
    this.suggestion = at.suggestion
  }
}
