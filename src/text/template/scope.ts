// Names and what they stand for, in nested scopes.
import type { Value } from './values.ts'

/**
 * Loops, macros, `with` and block assignments open a scope; `if` does not. Assignments stay in the
 * innermost scope, which is why templates carry values out of loops in a namespace.
 */
export class Scope {
  readonly #names = new Map<string, Value>()
  readonly #parent: Scope | undefined

  constructor(parent?: Scope) {
    this.#parent = parent
  }

  /** `undefined` when no scope has the name. */
  get(name: string): Value | undefined {
    for (let scope: Scope | undefined = this; scope; scope = scope.#parent) {
      const value = scope.#names.get(name)
      if (value !== undefined) return value
    }
    return undefined
  }

  set(name: string, value: Value): void {
    this.#names.set(name, value)
  }
}
