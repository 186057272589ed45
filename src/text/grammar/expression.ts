// What grammars are made of before they become automata: expressions over bytes and code points.
import type { CodePoints } from './code_points.ts'

/** How code points of a class are written as bytes. */
export type Encoding =
  /** UTF-8. */
  | 'utf8'
  /**
   * UTF-8 as the reference's grammars read it: any lead byte from C2 to FF and any continuation
   * bytes count, with the value that their bits make; byte 0 never counts.
   */
  | 'loose'

/** An expression; its language is a set of byte strings (and of tokens, for `token`). */
export type Expression =
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'class'; points: CodePoints; encoding: Encoding }
  | { kind: 'sequence'; items: readonly Expression[] }
  | { kind: 'choice'; items: readonly Expression[] }
  /** `max` may be Infinity. */
  | { kind: 'repeat'; item: Expression; min: number; max: number }
  | { kind: 'rule'; name: string }
  /**
   * One token by id, or with `negated` any token that is not listed and does not end generation.
   */
  | { kind: 'token'; ids: readonly number[]; negated: boolean }
  | Graph

/** An expression as a finite automaton whose edges carry expressions; state 0 is the start. */
export interface Graph {
  kind: 'graph'
  edges: readonly { from: number; to: number; label: Expression }[]
  /** Whether each state accepts. */
  accepting: readonly boolean[]
}

/** Rules by name; one of them is the start. */
export interface Rules {
  start: string
  rules: ReadonlyMap<string, Expression>
}

const encoder = new TextEncoder()

/** The empty string. */
export const empty: Expression = { kind: 'sequence', items: [] }

/** A string, as its UTF-8 bytes. */
export function text(value: string): Expression {
  return { kind: 'bytes', bytes: encoder.encode(value) }
}

/** Any of the code points, in strict UTF-8. */
export function oneOf(points: CodePoints): Expression {
  return { kind: 'class', points, encoding: 'utf8' }
}

export function sequence(...items: Expression[]): Expression {
  return items.length === 1 ? items[0]! : { kind: 'sequence', items }
}

/** One of the items; with none, nothing matches. */
export function choice(...items: Expression[]): Expression {
  return items.length === 1 ? items[0]! : { kind: 'choice', items }
}

export function repeat(item: Expression, min: number, max = Number.POSITIVE_INFINITY): Expression {
  return min === 1 && max === 1 ? item : { kind: 'repeat', item, min, max }
}

export function optional(item: Expression): Expression {
  return repeat(item, 0, 1)
}

export function rule(name: string): Expression {
  return { kind: 'rule', name }
}
