// What parsers of model output produce, and what they may know.

/** A piece of an answer, in the order in which the model wrote it. */
export type ParsedPart = { readonly type: 'text' | 'reasoning'; readonly text: string } | ParsedCall

/** A whole tool call; `args` is what the model wrote, not yet checked against the tool's schema. */
export interface ParsedCall {
  readonly type: 'tool-call'
  readonly id: string
  readonly name: string
  readonly args: unknown
}

/** A tool as parsers and constraints need it. */
export interface ToolSpec {
  readonly name: string
  /** JSON Schema of the arguments. */
  readonly parameters?: unknown
}

export interface ParserOptions {
  /** Tools of this answer; formats without begin marks look for calls only where there are some. */
  readonly tools?: readonly ToolSpec[] | undefined
  /** The prompt ended inside of a reasoning block; see `promptOpensReasoning`. */
  readonly startsInReasoning?: boolean | undefined
  /** Makes ids of calls that have none of their own. Default: nine random letters and digits. */
  readonly newId?: (() => string) | undefined
}

/**
 * Turns the deltas of an answer into parts. Text is held back only while it may still turn out to
 * be a mark of the format, or while a call is incomplete. Whatever is not a valid call comes out as
 * text; no input throws.
 */
export interface OutputParser {
  /** Parts that are decided now. */
  push(delta: string): ParsedPart[]
  /** What was held back; call it once, at the end of the answer. */
  end(): ParsedPart[]
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Mistral's templates take exactly nine letters and digits; nobody else minds. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(9))
  return Array.from(bytes, (byte) => alphabet[byte % alphabet.length]).join('')
}
