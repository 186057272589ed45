// A valid file whose model leaven cannot run.
import { LeavenError } from './leaven_error.ts'

/** Names what is unsupported (an architecture, a metadata key, a tensor type) and its value. */
export class UnsupportedModelError extends LeavenError {
  readonly feature: string
  readonly value: unknown

  constructor(feature: string, value: unknown, problem: string, options?: ErrorOptions) {
    super('MODEL_UNSUPPORTED', `${feature}: ${problem}`, options)
    this.feature = feature
    this.value = value
  }
}
