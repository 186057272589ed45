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

/**
 * `C{min,max}` when the whole text consists of one class, as in `^[a-z]+$`: such patterns can be
 * combined with lengths by counting alone.
 */
export function asRepeatedClass(
  regex: Regex,
): { points: CodePoints; min: number; max: number } | undefined {
  if (regex.kind !== 'sequence' || regex.items.length !== 3) return undefined
  const [first, middle, last] = regex.items as [Regex, Regex, Regex]
  if (first.kind !== 'start' || last.kind !== 'end' || middle.kind !== 'repeat') return undefined
  const { item, min, max } = middle
  return item.kind === 'class' ? { points: item.points, min, max } : undefined
}

/** An automaton as a graph. */
export function dfaGraph(dfa: Dfa, write: WriteCharacter): Expression {
  const edges = dfa.edges.flatMap((list, from) =>
    list.map(({ points, to }) => ({ from, to, label: write(points) })),
  )
  return { kind: 'graph', edges, accepting: dfa.accepting }
}
