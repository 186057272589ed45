// An error inside a render that does not know its place yet; the template adds line and column.

/** Thrown by values, filters and operators; `ChatTemplate` turns it into a `TemplateError`. */
export class Fault extends Error {
  /** Text given to `raise_exception`, when that is where the fault comes from. */
  readonly raised: string | undefined

  constructor(problem: string, raised?: string) {
    super(problem)
    this.name = 'Fault'
    this.raised = raised
  }
}

/** A fault of the source itself, at a known offset (UTF-16 units into the normalised source). */
export class SyntaxFault extends Fault {
  readonly at: number

  constructor(at: number, problem: string) {
    super(problem)
    this.name = 'SyntaxFault'
    this.at = at
  }
}
