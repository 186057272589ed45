// Rules as nondeterministic automata over bytes, with calls from rule to rule.
import { GrammarError } from '../../errors/index.ts'
import { type ByteRanges, looseRanges, utf8Ranges } from './code_points.ts'
import type { Expression, Rules } from './expression.ts'

/** Most positions of all rules together. */
const positionMax = 1 << 19

/** Bytes first..last lead to a position. */
export interface ByteEdge {
  first: number
  last: number
  to: number
}

/** A place in a rule. */
export interface Position {
  bytes: ByteEdge[]
  /** Reached without input. */
  empty: number[]
  calls: { rule: NfaRule; to: number }[]
  tokens: { ids: readonly number[]; negated: boolean; to: number }[]
}

/** A rule, entered at `start` and left at `end`. */
export interface NfaRule {
  readonly name: string
  start: number
  end: number
  /** For a counted repetition: the rule is its body, run again and again. */
  loop: { min: number; max: number } | undefined
  /** Whether it can match the empty string. */
  nullable: boolean
}

/** All rules of a grammar. */
export interface Nfa {
  positions: Position[]
  rules: NfaRule[]
  start: NfaRule
}

/**
 * Turns rules into automata (Thompson's construction); repetitions with counts other than `?`, `*`
 * and `+` become rules of their own, so that they need no copies.
 *
 * @throws GrammarError when a rule calls itself before any input, or the grammar is too large.
 */
export function buildNfa(rules: Rules): Nfa {
  return new Builder(rules).build()
}

class Builder {
  readonly #source: Rules
  readonly #positions: Position[] = []
  readonly #rules: NfaRule[] = []
  readonly #byName = new Map<string, NfaRule>()

  constructor(source: Rules) {
    this.#source = source
  }

  build(): Nfa {
    for (const name of this.#source.rules.keys()) this.#byName.set(name, this.#newRule(name))
    for (const [name, expression] of this.#source.rules) {
      const target = this.#byName.get(name)!
      this.#add(expression, target.start, target.end)
    }
    const start = this.#byName.get(this.#source.start)!
    const nfa = { positions: this.#positions, rules: this.#rules, start }
    refuseLeftRecursion(findCallsBeforeInput(nfa))
    removeDeadEnds(nfa)
    return nfa
  }

  #newRule(name: string, loop?: NfaRule['loop']): NfaRule {
    const created = { name, start: this.#position(), end: this.#position(), loop, nullable: false }
    this.#rules.push(created)
    return created
  }

  #position(): number {
    if (this.#positions.length >= positionMax) {
      throw new GrammarError('grammar', '', `more than ${positionMax} positions; simplify it`)
    }
    return this.#positions.push({ bytes: [], empty: [], calls: [], tokens: [] }) - 1
  }

  #add(expression: Expression, from: number, to: number): void {
    switch (expression.kind) {
      case 'bytes':
        this.#addBytes(expression.bytes, from, to)
        break
      case 'class': {
        const { points, encoding } = expression
        this.#addRanges(encoding === 'utf8' ? utf8Ranges(points) : looseRanges(points), from, to)
        break
      }
      case 'sequence':
        this.#addSequence(expression.items, from, to)
        break
      case 'choice':
        for (const item of expression.items) this.#add(item, from, to)
        break
      case 'repeat':
        this.#addRepeat(expression, from, to)
        break
      case 'rule':
        this.#positions[from]!.calls.push({ rule: this.#byName.get(expression.name)!, to })
        break
      case 'token':
        this.#positions[from]!.tokens.push({ ids: expression.ids, negated: expression.negated, to })
        break
      case 'graph':
        this.#addGraph(expression, from, to)
    }
  }

  #addBytes(bytes: Uint8Array, from: number, to: number): void {
    let at = from
    for (const [i, byte] of bytes.entries()) {
      const next = i + 1 === bytes.length ? to : this.#position()
      this.#positions[at]!.bytes.push({ first: byte, last: byte, to: next })
      at = next
    }
    if (bytes.length === 0) this.#positions[from]!.empty.push(to)
  }

  /** Sequences with the same end share it. */
  #addRanges(sequences: ByteRanges[], from: number, to: number): void {
    const tails = new Map<string, number>([['', to]])
    const tail = (ranges: ByteRanges): number => {
      const key = ranges.join()
      const known = tails.get(key)
      if (known !== undefined) return known
      const position = this.#position()
      tails.set(key, position)
      const [first, last] = ranges[0]!
      this.#positions[position]!.bytes.push({ first, last, to: tail(ranges.slice(1)) })
      return position
    }
    for (const ranges of sequences) {
      const [first, last] = ranges[0]!
      this.#positions[from]!.bytes.push({ first, last, to: tail(ranges.slice(1)) })
    }
  }

  #addSequence(items: readonly Expression[], from: number, to: number): void {
    let at = from
    for (const [i, item] of items.entries()) {
      const next = i + 1 === items.length ? to : this.#position()
      this.#add(item, at, next)
      at = next
    }
    if (items.length === 0) this.#positions[from]!.empty.push(to)
  }

  #addRepeat({ item, min, max }: Expression & { kind: 'repeat' }, from: number, to: number): void {
    if (max === 0) {
      this.#positions[from]!.empty.push(to)
    } else if (min === 0 && max === 1) {
      this.#positions[from]!.empty.push(to)
      this.#add(item, from, to)
    } else if (min === 0 && max === Number.POSITIVE_INFINITY) {
      const head = this.#position()
      this.#positions[from]!.empty.push(head)
      this.#add(item, head, head)
      this.#positions[head]!.empty.push(to)
    } else if (min === 1 && max === Number.POSITIVE_INFINITY) {
      const head = this.#position()
      const tail = this.#position()
      this.#positions[from]!.empty.push(head)
      this.#add(item, head, tail)
      this.#positions[tail]!.empty.push(head, to)
    } else {
      const name = `(repetition {${min},${max === Number.POSITIVE_INFINITY ? '' : max}})`
      const body = this.#newRule(name, { min, max })
      this.#add(item, body.start, body.end)
      this.#positions[from]!.calls.push({ rule: body, to })
    }
  }

  #addGraph(graph: Expression & { kind: 'graph' }, from: number, to: number): void {
    const places = graph.accepting.map(() => this.#position())
    this.#positions[from]!.empty.push(places[0]!)
    for (const edge of graph.edges) this.#add(edge.label, places[edge.from]!, places[edge.to]!)
    for (const [state, accepts] of graph.accepting.entries()) {
      if (accepts) this.#positions[places[state]!]!.empty.push(to)
    }
  }
}

/**
 * Removes edges to positions from which the end of their rule cannot be reached, so that no text is
 * begun that cannot be finished. Searches backwards from the ends; a call can be passed once its
 * rule is known to have an end.
 */
function removeDeadEnds(nfa: Nfa): void {
  const { positions, rules } = nfa
  const before: number[][] = positions.map(() => [])
  const callsBefore: { rule: NfaRule; from: number }[][] = positions.map(() => [])
  const waiting = new Map<NfaRule, number[]>(rules.map((owner) => [owner, []]))
  const starts = new Map(rules.map((owner) => [owner.start, owner]))
  for (const [from, position] of positions.entries()) {
    for (const { to } of position.bytes) before[to]!.push(from)
    for (const { to } of position.tokens) before[to]!.push(from)
    for (const to of position.empty) before[to]!.push(from)
    for (const { rule, to } of position.calls) callsBefore[to]!.push({ rule, from })
  }
  const alive = new Uint8Array(positions.length)
  const finished = new Set<NfaRule>()
  const queue = rules.map((owner) => owner.end)
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    if (alive[at] === 1) continue
    alive[at] = 1
    queue.push(...before[at]!)
    for (const { rule, from } of callsBefore[at]!) {
      if (finished.has(rule) || rule.loop?.min === 0) queue.push(from)
      else waiting.get(rule)!.push(from)
    }
    const owner = starts.get(at)
    if (owner === undefined) continue
    finished.add(owner)
    queue.push(...waiting.get(owner)!)
  }
  if (alive[nfa.start.start] === 0) {
    throw new GrammarError(nfa.start.name, '', 'unsatisfiable: no text matches')
  }
  for (const position of positions) {
    position.bytes = position.bytes.filter(({ to }) => alive[to] === 1)
    position.tokens = position.tokens.filter(({ to }) => alive[to] === 1)
    position.empty = position.empty.filter((to) => alive[to] === 1)
    position.calls = position.calls.filter(
      ({ rule, to }) => alive[to] === 1 && alive[rule.start] === 1,
    )
  }
}

/**
 * Marks the rules that can be empty, and returns which rules each rule calls before any input.
 * Each position is visited once: one behind a call waits until the called rule is known to be
 * nullable.
 */
function findCallsBeforeInput(nfa: Nfa): Map<NfaRule, Set<NfaRule>> {
  const callees = new Map(nfa.rules.map((owner) => [owner, new Set<NfaRule>()]))
  const waiting = new Map<NfaRule, [NfaRule, number][]>(nfa.rules.map((owner) => [owner, []]))
  const queue: [NfaRule, number][] = nfa.rules.map((owner) => [owner, owner.start])
  const seen = new Uint8Array(nfa.positions.length)
  const markNullable = (owner: NfaRule) => {
    if (!owner.nullable) queue.push(...waiting.get(owner)!)
    owner.nullable = true
  }
  for (const owner of nfa.rules) if (owner.loop?.min === 0) markNullable(owner)
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const [owner, at] = next
    if (seen[at] === 1) continue
    seen[at] = 1
    if (at === owner.end) {
      // A body that may be empty can be left out any number of times.
      if (owner.loop !== undefined) owner.loop.min = 0
      markNullable(owner)
    }
    for (const to of nfa.positions[at]!.empty) queue.push([owner, to])
    for (const { rule, to } of nfa.positions[at]!.calls) {
      callees.get(owner)!.add(rule)
      if (rule.nullable) queue.push([owner, to])
      else waiting.get(rule)!.push([owner, to])
    }
  }
  return callees
}

/** Depth-first search for a cycle of calls made before any input. */
function refuseLeftRecursion(callees: ReadonlyMap<NfaRule, ReadonlySet<NfaRule>>): void {
  const done = new Set<NfaRule>()
  const active = new Set<NfaRule>()
  for (const root of callees.keys()) {
    const path = [{ rule: root, rest: callees.get(root)!.values() }]
    active.add(root)
    while (path.length > 0) {
      const { rule, rest } = path[path.length - 1]!
      const { value: callee } = done.has(rule) ? { value: undefined } : rest.next()
      if (callee === undefined) {
        done.add(rule)
        active.delete(rule)
        path.pop()
      } else if (active.has(callee)) {
        throw new GrammarError(callee.name, '', 'the rule calls itself before any input')
      } else if (!done.has(callee)) {
        active.add(callee)
        path.push({ rule: callee, rest: callees.get(callee)!.values() })
      }
    }
  }
}
