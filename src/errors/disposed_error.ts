// Use of an object after its dispose().
import { LeavenError } from './leaven_error.ts'

/** `what` names the kind of object, for example `model`. */
export class DisposedError extends LeavenError {
  readonly what: string

  constructor(what: string) {
    super('DISPOSED', `this ${what} was disposed of`)
    this.what = what
  }
}
