// A chat template that cannot be parsed or rendered.
import { LeavenError } from './leaven_error.ts'

/** `line` and `column` count from 1 in the template's source. */
export class TemplateError extends LeavenError {
  readonly line: number
  readonly column: number

  constructor(line: number, column: number, problem: string, options?: ErrorOptions) {
    super('TEMPLATE_INVALID', `chat template ${line}:${column}: ${problem}`, options)
    this.line = line
    this.column = column
  }
}
