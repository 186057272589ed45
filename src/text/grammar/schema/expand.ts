// Takes schemas apart: references, allOf, anyOf and oneOf become lists of plain keywords.
import { GrammarError } from '../../../errors/index.ts'
import { type Atom, below, type JsonSchema, type KeywordPolicy, type Located } from './keywords.ts'

/** Most ways in which one value may choose among anyOf and oneOf. */
const alternativeMax = 1000

/** Most steps of taking schemas apart, over a whole compilation. */
const stepMax = 1_000_000

/** Deepest nesting of references and applicators over one value. */
const depthMax = 200

/** All of these hold for a value. */
export type Conjunction = readonly Atom[]

/** Asked before a oneOf is treated as an anyOf: whether two branches can never both hold. */
export type AreDisjoint = (a: Located, b: Located, others: readonly Located[]) => boolean

/** Resolves references and expands goals: schemas that all hold for one value. */
export class Expander {
  readonly #root: JsonSchema
  readonly #policy: KeywordPolicy
  readonly #areDisjoint: AreDisjoint
  readonly #named = new Map<string, Located>()
  readonly #atoms = new Map<string, Atom>()
  readonly #checked = new Set<string>()
  #steps = 0

  constructor(root: JsonSchema, policy: KeywordPolicy, areDisjoint: AreDisjoint) {
    this.#root = root
    this.#policy = policy
    this.#areDisjoint = areDisjoint
    this.#collectNames({ schema: root, path: '' }, 0)
  }

  /** The ways in which the goal can be met: at least one conjunction has to hold. */
  expand(goal: readonly Located[]): Conjunction[] {
    const results: Conjunction[] = []
    this.#expand(
      goal.map((located) => ({ ...located, above: [] })),
      [],
      results,
    )
    return results
  }

  #expand(pending: readonly Pending[], done: readonly Atom[], results: Conjunction[]): void {
    if (results.length > alternativeMax) {
      throw new GrammarError(
        'anyOf',
        done[0]?.path ?? '',
        `more than ${alternativeMax} combinations`,
      )
    }
    const [next, ...rest] = pending
    if (++this.#steps > stepMax) {
      throw new GrammarError('schema', next?.path ?? '', 'too many combinations to take apart')
    }
    if (next === undefined) {
      results.push(done)
      return
    }
    if (next.schema === false) return
    if (next.schema === true || done.some(({ path }) => path === next.path)) {
      this.#expand(rest, done, results)
      return
    }
    const atom = this.#atom(next as Located & { schema: object })
    const above = [...next.above, next.path]
    if (above.length > depthMax) {
      throw new GrammarError('$ref', next.path, `nested more than ${depthMax} deep`)
    }
    const inner = (keyword: string, index?: number): Pending => {
      const value = atom.schema[keyword] as JsonSchema & JsonSchema[]
      const schema = index === undefined ? value : value[index]!
      const steps = index === undefined ? [keyword] : [keyword, index]
      return { schema, path: below(next.path, ...steps), above }
    }
    const all = [...rest]
    if (atom.schema.$ref !== undefined) all.push(this.#follow(atom, above))
    for (const index of indices(atom.schema.allOf)) all.push(inner('allOf', index))
    this.#branch(atom, all, [...done, atom], inner, results)
  }

  /** Takes each branch of anyOf, and of oneOf. */
  #branch(
    atom: Atom,
    pending: readonly Pending[],
    done: readonly Atom[],
    inner: (keyword: string, index: number) => Pending,
    results: Conjunction[],
  ): void {
    const any = indices(atom.schema.anyOf).map((index) => inner('anyOf', index))
    const one = indices(atom.schema.oneOf).map((index) => inner('oneOf', index))
    if (one.length > 1) this.#checkOneOf(atom, one)
    for (const first of any.length > 0 ? any : [undefined]) {
      for (const second of one.length > 0 ? one : [undefined]) {
        const chosen = [first, second].filter((branch) => branch !== undefined)
        this.#expand([...chosen, ...pending], done, results)
      }
    }
  }

  #checkOneOf(atom: Atom, branches: readonly Located[]): void {
    if (this.#checked.has(atom.path)) return
    this.#checked.add(atom.path)
    const { oneOf: _, ...siblings } = atom.schema
    const others = [{ schema: siblings, path: `${atom.path}#siblings` }]
    for (const [i, a] of branches.entries()) {
      for (const b of branches.slice(i + 1)) {
        if (this.#areDisjoint(a, b, others)) continue
        const problem = `${a.path} and ${b.path} may both hold; make them exclusive or use anyOf`
        this.#policy.refuse('oneOf', atom.path, problem)
        return
      }
    }
  }

  #atom(located: Located & { schema: object }): Atom {
    let atom = this.#atoms.get(located.path)
    if (atom === undefined) {
      atom = this.#policy.check(located)
      this.#atoms.set(located.path, atom)
    }
    return atom
  }

  #follow(atom: Atom, above: readonly string[]): Pending {
    const target = this.resolve(atom.schema.$ref as string, atom.path)
    if (above.includes(target.path)) {
      throw new GrammarError('$ref', atom.path, `${atom.schema.$ref} refers to itself`)
    }
    return { ...target, above }
  }

  /** What a reference within the schema points at. */
  resolve(ref: string, path: string): Located {
    const id = typeof this.#root === 'object' ? this.#root.$id : undefined
    const local = typeof id === 'string' && ref.startsWith(id) ? ref.slice(id.length) || '#' : ref
    const named = this.#named.get(local) ?? (local === '#' ? this.#rootLocated() : undefined)
    if (named !== undefined) return named
    if (!local.startsWith('#/')) {
      throw new GrammarError('$ref', path, `${ref} is not in this schema`)
    }
    let steps: string[]
    try {
      steps = decodeURIComponent(local.slice(2)).split('/')
    } catch {
      throw new GrammarError('$ref', path, `${ref} is no JSON pointer`)
    }
    let schema: unknown = this.#root
    let at = ''
    for (const step of steps.map((raw) => raw.replaceAll('~1', '/').replaceAll('~0', '~'))) {
      const holder = schema as Record<string, unknown>
      const isThere = typeof schema === 'object' && schema !== null && Object.hasOwn(holder, step)
      if (!isThere) throw new GrammarError('$ref', path, `${ref} points at nothing`)
      schema = holder[step]
      at = below(at, step)
    }
    if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null)) {
      throw new GrammarError('$ref', path, `${ref} points at no schema`)
    }
    return { schema: schema as JsonSchema, path: at }
  }

  #rootLocated(): Located {
    return { schema: this.#root, path: '' }
  }

  /** Notes anchors and ids anywhere in the schema. */
  #collectNames({ schema, path }: Located, depth: number): void {
    if (depth > 2 * depthMax) {
      throw new GrammarError('schema', path, `nested more than ${2 * depthMax} deep`)
    }
    if (typeof schema !== 'object' || schema === null) return
    if (typeof schema.$anchor === 'string') this.#named.set(`#${schema.$anchor}`, { schema, path })
    if (typeof schema.$id === 'string') this.#named.set(schema.$id, { schema, path })
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'enum' || key === 'const' || key === 'default' || key === 'examples') continue
      this.#collectNames({ schema: value as JsonSchema, path: below(path, key) }, depth + 1)
    }
  }
}

interface Pending extends Located {
  /** The parts that led here, all of them about the same value. */
  above: readonly string[]
}

function indices(list: unknown): number[] {
  return Array.isArray(list) ? [...list.keys()] : []
}
