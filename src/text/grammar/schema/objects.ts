// Objects of a schema: properties in the order of their declaration, then additional ones.
import { allScalars, type CodePoints, codePoints, difference } from '../code_points.ts'
import { type Expression, empty, type Graph, repeat, rule, sequence, text } from '../expression.ts'
import {
  additionalGoal,
  declaredNames,
  largest,
  propertyGoal,
  requiredNames,
  smallest,
} from './constraints.ts'
import { bracketed, jsonRule, quoted, stringCharacter } from './json_text.ts'
import type { Atom, KeywordPolicy, Located } from './keywords.ts'

/** Most states of the count of properties. */
const countStateMax = 50_000

/** Makes the expression for what all of the goal allow. */
export type CompileGoal = (goal: readonly Located[]) => Expression

/**
 * The objects that meet a conjunction.
 *
 * Properties come in the order of `properties`, additional ones last. Names that no part of the
 * schema declares are written only where `additionalProperties` allows them in so many words, or
 * where the schema says nothing of properties at all.
 */
export function objectExpression(
  atoms: readonly Atom[],
  compile: CompileGoal,
  policy: KeywordPolicy,
): Expression {
  const space = rule(jsonRule.space)
  const names = declaredNames(atoms)
  const required = requiredNames(atoms)
  const allowed = names.filter(
    (name) =>
      required.has(name) || propertyGoal(atoms, name).every(({ schema }) => schema !== false),
  )
  const properties = allowed.map((name) => ({
    isRequired: required.has(name),
    pair: sequence(text(`${JSON.stringify(name)}:`), space, compile(propertyGoal(atoms, name))),
  }))
  let additional: Expression | undefined
  if (isOpen(atoms)) {
    const key = names.length === 0 ? rule(jsonRule.string) : nameExcept(names)
    additional = sequence(key, text(':'), space, compile(additionalGoal(atoms)))
  }
  const counts = countLimits(atoms, allowed.length, additional !== undefined, policy)
  return bracketed('{', propertyGraph(properties, additional, counts), '}')
}

function isOpen(atoms: readonly Atom[]): boolean {
  const goal = additionalGoal(atoms)
  if (goal.some(({ schema }) => schema === false)) return false
  return (
    goal.length > 0 ||
    atoms.every(({ schema }) => !('properties' in schema || 'required' in schema))
  )
}

interface Property {
  isRequired: boolean
  /** Name, colon and value. */
  pair: Expression
}

/** How many properties there must and may be; undefined when the properties see to that. */
type CountLimits = { min: number; max: number } | undefined

function countLimits(
  atoms: readonly Atom[],
  nameCount: number,
  isOpen: boolean,
  policy: KeywordPolicy,
): CountLimits {
  const min = largest(atoms, 'minProperties', 0)
  const max = smallest(atoms, 'maxProperties', Number.POSITIVE_INFINITY)
  const needsMin = min > requiredNames(atoms).size
  if (!needsMin && max === Number.POSITIVE_INFINITY) return undefined
  const states = nameCount * Math.min(nameCount, max === Number.POSITIVE_INFINITY ? min : max)
  if (!isOpen && states <= countStateMax) return { min, max }
  const keyword = needsMin ? 'minProperties' : 'maxProperties'
  const holder = atoms.find(({ schema }) => keyword in schema)!
  // An additional name may come twice, which counts once.
  const problem = isOpen ? 'additional properties' : `${nameCount} properties`
  policy.refuse(keyword, holder.path, `with ${problem} it is not supported`)
  return undefined
}

/**
 * A state for each property and the number of properties before it, as far as that counts: for the
 * comma it is whether there was one.
 */
function propertyGraph(
  properties: readonly Property[],
  additional: Expression | undefined,
  counts: CountLimits,
): Graph {
  const comma = sequence(text(','), rule(jsonRule.space))
  const min = counts?.min ?? 0
  const max = counts?.max ?? Number.POSITIVE_INFINITY
  // Beyond this all counts are alike.
  const top = Math.min(max === Number.POSITIVE_INFINITY ? Math.max(1, min) : max, properties.length)
  const width = Math.max(1, top) + 1
  const edges: { from: number; to: number; label: Expression }[] = []
  const accepting: boolean[] = []
  const stateOf = (index: number, count: number) => index * width + Math.min(count, width - 1)
  for (const [index, { isRequired, pair }] of properties.entries()) {
    for (let count = 0; count < width; count++) {
      const from = stateOf(index, count)
      if (!isRequired) edges.push({ from, to: stateOf(index + 1, count), label: empty })
      if (count >= max) continue
      const label = count === 0 ? pair : sequence(comma, pair)
      edges.push({ from, to: stateOf(index + 1, count + 1), label })
    }
  }
  for (let index = 0; index <= properties.length; index++) {
    for (let count = 0; count < width; count++) {
      accepting.push(index === properties.length && count >= min && count <= max)
    }
  }
  if (additional !== undefined) {
    const more = repeat(sequence(comma, additional), 0)
    const last = accepting.push(true) - 1
    edges.push({ from: stateOf(properties.length, 0), to: last, label: sequence(additional, more) })
    edges.push({ from: stateOf(properties.length, 1), to: last, label: more })
  }
  return { kind: 'graph', edges, accepting }
}

interface NameNode {
  children: Map<number, NameNode>
  isName: boolean
  state: number
}

/** A quoted name other than those given. */
function nameExcept(names: readonly string[]): Expression {
  const accepting = [true, true]
  const anyOther = 1
  const edges = [{ from: anyOther, to: anyOther, label: stringCharacter(allScalars) }]
  const root: NameNode = { children: new Map(), isName: false, state: 0 }
  for (const name of names) {
    let node = root
    for (const char of name) {
      const point = char.codePointAt(0)!
      let child = node.children.get(point)
      if (child === undefined) {
        child = { children: new Map(), isName: false, state: accepting.push(true) - 1 }
        node.children.set(point, child)
      }
      node = child
    }
    accepting[node.state] = false
  }
  const nodes = [root]
  for (const node of nodes) {
    const taken: CodePoints = codePoints(
      [...node.children.keys()].flatMap((point) => [point, point]),
    )
    const others = difference(allScalars, taken)
    edges.push({ from: node.state, to: anyOther, label: stringCharacter(others) })
    for (const [point, child] of node.children) {
      edges.push({ from: node.state, to: child.state, label: stringCharacter([point, point]) })
      nodes.push(child)
    }
  }
  return quoted({ kind: 'graph', edges, accepting })
}
