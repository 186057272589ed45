// A prompt that does not fit the context.
import { LeavenError } from './leaven_error.ts'

/** Both counts are tokens. */
export class ContextOverflowError extends LeavenError {
  readonly needed: number
  readonly available: number

  constructor(needed: number, available: number) {
    super('CONTEXT_OVERFLOW', `the prompt needs ${needed} tokens, the context holds ${available}`)
    this.needed = needed
    this.available = available
  }
}
