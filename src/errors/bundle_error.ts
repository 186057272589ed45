// A program whose bundled model is missing or damaged.
import { LeavenError } from './leaven_error.ts'

/** Names the file that holds the models, or should. */
export class BundleError extends LeavenError {
  readonly file: string

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super('BUNDLE_DAMAGED', `${file}: ${problem}`, options)
    this.file = file
  }
}
