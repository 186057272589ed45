// A grammar or JSON schema that cannot be compiled or satisfied.
import { LeavenError } from './leaven_error.ts'

/**
 * `keyword` is the schema keyword or grammar rule, `path` where it stands (a JSON pointer or
 * line:column).
 */
export class GrammarError extends LeavenError {
  readonly keyword: string
  readonly path: string

  constructor(keyword: string, path: string, problem: string, options?: ErrorOptions) {
    super('GRAMMAR_INVALID', `${path || '/'}: ${keyword}: ${problem}`, options)
    this.keyword = keyword
    this.path = path
  }
}
