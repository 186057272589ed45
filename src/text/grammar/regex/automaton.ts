// Finite automata over code points: from regular expressions, their products, and as graphs.
import {
  allScalars,
  type CodePoints,
  codePoints,
  contains,
  difference,
  intersect,
} from '../code_points.ts'
import { type Regex, RegexProblem } from './syntax.ts'

/** Most states of an automaton. */
const stateMax = 20_000

/** Most parts a regular expression may have once its counts are written out. */
const nodeMax = 50_000

/** Most nodes in all sets of an automaton that is made deterministic. */
const workMax = 4_000_000

/** A deterministic automaton over code points; state 0 is the start, no edge means no match. */
export interface Dfa {
  edges: { points: CodePoints; to: number }[][]
  accepting: boolean[]
}

/** All strings that contain a match of the expression, as JSON Schema's `pattern` means it. */
export function searchDfa(regex: Regex): Dfa {
  return new Determiniser(new RegexNfa(regex)).run()
}

/** All strings of a length in [min, max] code points; `max` may be Infinity. */
export function lengthDfa(min: number, max: number): Dfa {
  const last = max === Number.POSITIVE_INFINITY ? min : max
  if (last >= stateMax) throw new RegexProblem(`a length of ${last} beside a pattern is too much`)
  const edges = Array.from({ length: last + 1 }, (_, at) => {
    if (at < last) return [{ points: allScalars, to: at + 1 }]
    return max === Number.POSITIVE_INFINITY ? [{ points: allScalars, to: at }] : []
  })
  return { edges, accepting: edges.map((_, at) => at >= min) }
}

/** What both automata accept. */
export function intersectDfa(a: Dfa, b: Dfa): Dfa {
  const ids = new Map<string, number>()
  const pairs: [number, number][] = []
  const stateOf = (one: number, other: number): number => {
    const key = `${one} ${other}`
    let id = ids.get(key)
    if (id === undefined) {
      id = pairs.push([one, other]) - 1
      if (id >= stateMax) throw new RegexProblem(`together it needs more than ${stateMax} states`)
      ids.set(key, id)
    }
    return id
  }
  stateOf(0, 0)
  const result: Dfa = { edges: [], accepting: [] }
  for (const [one, other] of pairs) {
    const edges: Dfa['edges'][number] = []
    for (const left of a.edges[one]!) {
      for (const right of b.edges[other]!) {
        const points = intersect(left.points, right.points)
        if (points.length > 0) edges.push({ points, to: stateOf(left.to, right.to) })
      }
    }
    result.edges.push(edges)
    result.accepting.push(a.accepting[one]! && b.accepting[other]!)
  }
  return trim(result)
}

/** Whether the automaton accepts a string. */
export function accepts(dfa: Dfa, text: string): boolean {
  let state = 0
  for (const char of text) {
    const point = char.codePointAt(0)!
    const edge = dfa.edges[state]!.find(({ points }) => contains(points, point))
    if (edge === undefined) return false
    state = edge.to
  }
  return dfa.accepting[state]!
}

/** Removes edges to states from which nothing is accepted. */
function trim(dfa: Dfa): Dfa {
  const before: number[][] = dfa.edges.map(() => [])
  for (const [from, edges] of dfa.edges.entries())
    for (const { to } of edges) before[to]!.push(from)
  const alive = new Set(dfa.accepting.keys().filter((state) => dfa.accepting[state]!))
  for (const state of alive) for (const from of before[state]!) alive.add(from)
  return { ...dfa, edges: dfa.edges.map((edges) => edges.filter(({ to }) => alive.has(to))) }
}

interface NfaNode {
  points: CodePoints | undefined
  /** Where an edge with `points`, or one without input, leads. */
  to: number[]
  /** The edges without input count at the start or end of the text only. */
  only: 'start' | 'end' | undefined
}

/** Thompson's construction; counts are written out. */
class RegexNfa {
  readonly nodes: NfaNode[] = []
  readonly start: number
  readonly final: number

  constructor(regex: Regex) {
    this.start = this.#node()
    this.final = this.#node()
    this.#add(regex, this.start, this.final)
  }

  #node(): number {
    if (this.nodes.length >= nodeMax) {
      throw new RegexProblem(`its repetitions make more than ${nodeMax} parts`)
    }
    return this.nodes.push({ points: undefined, to: [], only: undefined }) - 1
  }

  #link(from: number, to: number, points?: CodePoints, only?: 'start' | 'end'): void {
    const node = this.#node()
    Object.assign(this.nodes[node]!, { points, to: [to], only })
    this.nodes[from]!.to.push(node)
  }

  #add(regex: Regex, from: number, to: number): void {
    switch (regex.kind) {
      case 'class':
        this.#link(from, to, intersect(regex.points, allScalars))
        break
      case 'start':
      case 'end':
        this.#link(from, to, undefined, regex.kind)
        break
      case 'choice':
        for (const item of regex.items) this.#add(item, from, to)
        break
      case 'sequence': {
        let at = from
        for (const item of regex.items) {
          const next = this.#node()
          this.#add(item, at, next)
          at = next
        }
        this.nodes[at]!.to.push(to)
        break
      }
      case 'repeat':
        this.#addRepeat(regex, from, to)
    }
  }

  #addRepeat({ item, min, max }: Regex & { kind: 'repeat' }, from: number, to: number): void {
    let at = from
    for (let i = 0; i < min; i++) {
      const next = this.#node()
      this.#add(item, at, next)
      at = next
    }
    if (max === Number.POSITIVE_INFINITY) {
      const head = this.#node()
      this.nodes[at]!.to.push(head)
      this.#add(item, head, head)
      at = head
    } else {
      for (let i = min; i < max; i++) {
        this.nodes[at]!.to.push(to)
        const next = this.#node()
        this.#add(item, at, next)
        at = next
      }
    }
    this.nodes[at]!.to.push(to)
  }
}

/** Subset construction for a search: at each place of the text a match may begin. */
class Determiniser {
  readonly #nfa: RegexNfa
  readonly #ids = new Map<string, number>()
  readonly #sets: (readonly number[] | 'matched')[] = []
  readonly #result: Dfa = { edges: [], accepting: [] }
  #work = 0

  constructor(nfa: RegexNfa) {
    this.#nfa = nfa
  }

  run(): Dfa {
    this.#stateOf([this.#nfa.start], true)
    for (const set of this.#sets) {
      this.#result.edges.push(set === 'matched' ? this.#everything() : this.#edgesOf(set))
    }
    return trim(this.#result)
  }

  /** After a match that does not need the end, everything is accepted. */
  #everything(): Dfa['edges'][number] {
    return [{ points: allScalars, to: this.#ids.get('matched')! }]
  }

  #edgesOf(set: readonly number[]): Dfa['edges'][number] {
    const readers = set
      .map((at) => this.#nfa.nodes[at]!)
      .filter(({ points }) => points !== undefined)
    const byTarget = new Map<number, number[]>()
    let rest = allScalars
    for (const piece of pieces(readers.map(({ points }) => points!))) {
      rest = difference(rest, piece)
      const targets = readers
        .filter(({ points }) => contains(points!, piece[0]!))
        .flatMap(({ to }) => to)
      add(byTarget, this.#stateOf([...targets, this.#nfa.start], false), piece)
    }
    if (rest.length > 0) add(byTarget, this.#stateOf([this.#nfa.start], false), rest)
    return [...byTarget].map(([to, pairs]) => ({ points: codePoints(pairs), to }))
  }

  #stateOf(from: readonly number[], atStart: boolean): number {
    const open = this.#close(from, atStart, false)
    const matched = open.has(this.#nfa.final)
    const set = [...open]
      .filter((at) => this.#nfa.nodes[at]!.points !== undefined)
      .sort((a, b) => a - b)
    this.#work += open.size
    if (this.#work > workMax) throw new RegexProblem('it is too much to make deterministic')
    const ends = matched || this.#close(from, atStart, true).has(this.#nfa.final)
    const key = matched ? 'matched' : `${ends} ${set}`
    let id = this.#ids.get(key)
    if (id === undefined) {
      id = this.#sets.push(matched ? 'matched' : set) - 1
      if (id >= stateMax) throw new RegexProblem(`it needs more than ${stateMax} states`)
      this.#ids.set(key, id)
      this.#result.accepting.push(ends)
    }
    return id
  }

  #close(from: readonly number[], atStart: boolean, atEnd: boolean): Set<number> {
    const seen = new Set(from)
    for (const at of seen) {
      const { points, to, only } = this.#nfa.nodes[at]!
      if (points !== undefined) continue
      if ((only === 'start' && !atStart) || (only === 'end' && !atEnd)) continue
      for (const next of to) seen.add(next)
    }
    return seen
  }
}

function add(map: Map<number, number[]>, to: number, points: CodePoints): void {
  const known = map.get(to)
  if (known === undefined) map.set(to, [...points])
  else known.push(...points)
}

/** The union of sets, cut wherever one of them begins or ends. */
function pieces(sets: readonly CodePoints[]): CodePoints[] {
  const borders = new Set<number>()
  for (const points of sets) {
    for (let i = 0; i < points.length; i += 2) borders.add(points[i]!).add(points[i + 1]! + 1)
  }
  const sorted = [...borders].sort((a, b) => a - b)
  const result: CodePoints[] = []
  for (let i = 0; i + 1 < sorted.length; i++) {
    if (sets.some((points) => contains(points, sorted[i]!)))
      result.push([sorted[i]!, sorted[i + 1]! - 1])
  }
  return result
}
