// The base of every error that leaven throws for something the caller can act on.

/** Every error leaven throws carries a stable `code`; subclasses add the values involved. */
export class LeavenError extends Error {
  /**
   * Stable, upper-case identifier, for example `GGUF_INVALID`; messages may change, codes do not.
   */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}
