// Regular expressions as grammar expressions, without making them deterministic first.
import { allScalars, type CodePoints, intersect } from '../code_points.ts'
import { choice, type Expression, repeat, sequence } from '../expression.ts'
import type { Dfa } from './automaton.ts'
import type { Regex } from './syntax.ts'

/** How one character of a class is written in the grammar. */
export type WriteCharacter = (points: CodePoints) => Expression

/**
 * The strings that contain a match, or undefined when an anchor stands where only an automaton can
 * heed it: inside a group, or in the middle of a sequence.
 */
export function translateSearch(regex: Regex, write: WriteCharacter): Expression | undefined {
  const branches = regex.kind === 'choice' ? regex.items : [regex]
  const translated = branches.map((branch) => translateBranch(branch, write))
  if (translated.includes(undefined)) return undefined
  return choice(...(translated as Expression[]))
}

function translateBranch(branch: Regex, write: WriteCharacter): Expression | undefined {
  let items = branch.kind === 'sequence' ? [...branch.items] : [branch]
  const anything = repeat(write(allScalars), 0)
  let before: Expression[] = [anything]
  let after: Expression[] = [anything]
  while (items[0]?.kind === 'start') {
    before = []
    items = items.slice(1)
  }
  while (items[items.length - 1]?.kind === 'end') {
    after = []
    items = items.slice(0, -1)
  }
  if (items.some(hasAnchor)) return undefined
  return sequence(...before, ...items.map((item) => translate(item, write)), ...after)
}

function hasAnchor(regex: Regex): boolean {
  switch (regex.kind) {
    case 'class':
      return false
    case 'repeat':
      return hasAnchor(regex.item)
    case 'sequence':
    case 'choice':
      return regex.items.some(hasAnchor)
  }
  return true
}

function translate(regex: Regex, write: WriteCharacter): Expression {
  switch (regex.kind) {
    case 'class':
      return write(intersect(regex.points, allScalars))
    case 'sequence':
      return sequence(...regex.items.map((item) => translate(item, write)))
    case 'choice':
      return choice(...regex.items.map((item) => translate(item, write)))
    case 'repeat':
      return repeat(translate(regex.item, write), regex.min, regex.max)
  }
  throw new Error(`an anchor was overlooked: ${regex.kind}`)
}

/** A class that comes `min` to `max` times. */
interface Run {
  points: CodePoints
  min: number
  max: number
}

/**
 * The strings that the expression matches whole and that have `min` to `max` code points, where
 * that can be told by counting: for a sequence of classes of which one at most varies in number, as
 * in `^[a-z][a-z0-9-]*$`. Undefined for other expressions.
 */
export function translateWithLength(
  regex: Regex,
  min: number,
  max: number,
  write: WriteCharacter,
): Expression | undefined {
  if (regex.kind !== 'sequence') return undefined
  const { items } = regex
  if (items[0]?.kind !== 'start' || items[items.length - 1]?.kind !== 'end') return undefined
  const runs = items.slice(1, -1).map(asRun)
  if (runs.includes(undefined)) return undefined
  const fixed = (runs as Run[]).filter((run) => run.min === run.max)
  if (runs.length - fixed.length > 1) return undefined
  const length = fixed.reduce((sum, run) => sum + run.min, 0)
  if (runs.length === fixed.length && (length < min || length > max)) return choice()
  const parts = (runs as Run[]).map((run) => {
    const isFixed = run.min === run.max
    const low = isFixed ? run.min : Math.max(run.min, min - length)
    const high = isFixed ? run.max : Math.min(run.max, max - length)
    return low > high ? choice() : repeat(write(intersect(run.points, allScalars)), low, high)
  })
  return sequence(...parts)
}

function asRun(item: Regex): Run | undefined {
  if (item.kind === 'class') return { points: item.points, min: 1, max: 1 }
  if (item.kind !== 'repeat' || item.item.kind !== 'class') return undefined
  return { points: item.item.points, min: item.min, max: item.max }
}

/** An automaton as a graph. */
export function dfaGraph(dfa: Dfa, write: WriteCharacter): Expression {
  const edges = dfa.edges.flatMap((list, from) =>
    list.map(({ points, to }) => ({ from, to, label: write(points) })),
  )
  return { kind: 'graph', edges, accepting: dfa.accepting }
}
