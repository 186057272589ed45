// What a golden part reports to: each case once, passed or failed with what was wrong.

export interface Report {
  /** `name` identifies the case within its part, for example `llama-f16/prompt 1/logits`. */
  pass(name: string): void
  /** `problem` says in one line what was expected and what was found. */
  fail(name: string, problem: string): void
}

export interface RunOptions {
  /** Check this case, model or vocabulary alone; what a name selects is `selects`. */
  only?: string | undefined
}

/** One part of the golden data; `folder` is the part's own folder, which holds its manifest. */
export type Run = (folder: string, report: Report, options: RunOptions) => Promise<void>

/**
 * True when `--only` leaves `name` in: no option, the name itself, or a family of it.
 *
 * @example selects('llama', 'llama-256-q8_0') // true
 */
export const selects = (only: string | undefined, name: string): boolean => {
  if (only === undefined || name === only) return true
  return name.startsWith(only) && /^[-_.:/ ]/.test(name.slice(only.length))
}
