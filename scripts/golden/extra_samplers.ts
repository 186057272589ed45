// Golden check of the samplers: candidates after each, and 64 draws of seeded chains.
import { join } from 'node:path'
import {
  AdaptiveP,
  Candidates,
  Dry,
  distribution,
  dynamicTemperature,
  greedy,
  logitBias,
  Mirostat,
  Mt19937,
  minP,
  penalties,
  type Stage,
  TokenHistory,
  temperature,
  topK,
  topNSigma,
  topP,
  typical,
  xtc,
} from '../../src/text/sampling/index.ts'
import { type Report, type RunOptions, selects } from './report.ts'

type Value = number | '-inf' | 'inf'
interface Case {
  id: string
  params: Record<string, unknown>
  logits_row: number
  accepted: number[]
  size: number
  selected_id: number
  ids: number[]
  logits: Value[]
  p: Value[]
}
interface Draws {
  chain: string
  logits_row: number
  picks: number[]
}
interface Samplers {
  logits: string
  rows: number
  cols: number
  cases: Case[]
  dist: Draws[]
}

/** Checks `samplers.json` of a folder of the layout of `extra`. */
export async function run(folder: string, report: Report, { only }: RunOptions): Promise<void> {
  const data: Samplers = await Bun.file(join(folder, 'samplers.json')).json()
  const logits = new Float32Array(await Bun.file(join(folder, data.logits)).arrayBuffer())
  const row = (index: number) => logits.subarray(index * data.cols, (index + 1) * data.cols)
  const check = (name: string, problem: () => string | undefined) => {
    if (!selects(only, name)) return
    let found: string | undefined
    try {
      found = problem()
    } catch (error) {
      found = String(error)
    }
    if (found === undefined) report.pass(name)
    else report.fail(name, found)
  }
  for (const item of data.cases) {
    const name = `samplers/${item.id} (${JSON.stringify(item.params)})/row ${item.logits_row}`
    check(name, () => compareCase(item, row(item.logits_row), data.cols))
  }
  for (const item of data.dist) {
    const name = `samplers/${item.chain}/row ${item.logits_row}`
    check(name, () => compareDraws(item, row(item.logits_row), data.cols))
  }
}

function compareCase(item: Case, row: Float32Array, vocabularySize: number): string | undefined {
  const stage = makeStage(item.id, item.params, vocabularySize)
  for (const token of item.accepted) stage.accept?.(token)
  const candidates = new Candidates()
  candidates.load(row)
  stage.apply(candidates)
  if (candidates.size !== item.size) return `size ${candidates.size}, expected ${item.size}`
  if (new Set(candidates.ids.subarray(0, item.size)).size !== item.size) return 'a token twice'
  for (const [i, id] of item.ids.entries()) {
    // Tokens with the same logit may change places: the reference's sort is not stable.
    const own = candidates.ids[i]!
    if (row[own] !== row[id]) return `candidate ${i}: id ${own}, expected ${id}`
    const logit = Math.fround(toNumber(item.logits[i]!))
    // The dynamic temperature comes from sums in single precision, in an order of their own.
    if (!near(candidates.logits[i]!, logit, item.id === 'temp_ext' ? 3e-6 : 0)) {
      return `candidate ${i}: logit ${candidates.logits[i]}, expected ${logit}`
    }
    const p = toNumber(item.p[i]!)
    // 0 means that the sampler left no probability.
    if (p !== 0 && !near(candidates.probabilities[i]!, p, 1e-5)) {
      return `candidate ${i}: probability ${candidates.probabilities[i]}, expected ${p}`
    }
  }
  const selected = candidates.selected < 0 ? -1 : candidates.ids[candidates.selected]!
  return selected === item.selected_id
    ? undefined
    : `chose ${selected}, expected ${item.selected_id}`
}

function compareDraws(item: Draws, row: Float32Array, vocabularySize: number): string | undefined {
  const stages = [...item.chain.matchAll(/(\w+)\(([^)]*)\)/g)].map(([, id, list]) =>
    makeStage(id!, namedParams(id!, list!), vocabularySize),
  )
  const candidates = new Candidates()
  for (const [i, pick] of item.picks.entries()) {
    candidates.load(row)
    for (const stage of stages) stage.apply(candidates)
    const token = candidates.ids[candidates.selected]!
    if (token !== pick) return `draw ${i}: ${token}, expected ${pick}`
    for (const stage of stages) stage.accept?.(token)
  }
  return undefined
}

const positions: Record<string, readonly string[]> = {
  top_k: ['k'],
  top_p: ['p', 'min_keep'],
  min_p: ['p', 'min_keep'],
  typical: ['p', 'min_keep'],
  temp: ['t'],
  temp_ext: ['t', 'delta', 'exponent'],
  top_n_sigma: ['n'],
  xtc: ['p', 't', 'min_keep', 'seed'],
  penalties: ['last_n', 'repeat', 'freq', 'present'],
  dist: ['seed'],
  mirostat: ['n_vocab', 'seed', 'tau', 'eta', 'm'],
  mirostat_v2: ['seed', 'tau', 'eta'],
  adaptive_p: ['target', 'decay', 'seed'],
}

/** `top_p(0.95,1)` or `mirostat(tau=5,eta=0.1)` as parameters with names. */
function namedParams(id: string, list: string): Record<string, number> {
  const params: Record<string, number> = {}
  for (const [i, part] of list
    .split(',')
    .filter((text) => text !== '')
    .entries()) {
    const [first, second] = part.split('=')
    if (second === undefined) params[positions[id]?.[i] ?? `argument ${i}`] = Number(first)
    else params[first!.trim()] = Number(second)
  }
  return params
}

interface Params {
  number(name: string): number
  minKeep(): number
  random(): Mt19937
  raw: Record<string, unknown>
  vocabularySize: number
}

function makeStage(id: string, raw: Record<string, unknown>, vocabularySize: number): Stage {
  const make = stages[id]
  if (make === undefined) throw new Error(`unknown sampler ${id}`)
  const number = (name: string) => {
    const value = raw[name]
    if (typeof value !== 'number') throw new Error(`${id} has no number ${name}`)
    return value
  }
  const minKeep = () => (raw.min_keep === undefined ? 1 : number('min_keep'))
  return make({
    number,
    minKeep,
    random: () => new Mt19937(BigInt(number('seed'))),
    raw,
    vocabularySize,
  })
}

const plain = (apply: Stage['apply']): Stage => ({ apply })

const stages: Record<string, (params: Params) => Stage> = {
  top_k: ({ number }) => plain((candidates) => topK(candidates, number('k'))),
  top_p: ({ number, minKeep }) => plain((candidates) => topP(candidates, number('p'), minKeep())),
  min_p: ({ number, minKeep }) => plain((candidates) => minP(candidates, number('p'), minKeep())),
  typical: ({ number, minKeep }) =>
    plain((candidates) => typical(candidates, number('p'), minKeep())),
  temp: ({ number }) => plain((candidates) => temperature(candidates, number('t'))),
  temp_ext: ({ number }) => {
    const options = { range: number('delta'), exponent: number('exponent') }
    return plain((candidates) => dynamicTemperature(candidates, number('t'), options))
  },
  top_n_sigma: ({ number }) => plain((candidates) => topNSigma(candidates, number('n'))),
  greedy: () => plain(greedy),
  logit_bias: ({ raw }) => {
    const pairs = raw.bias as [number, Value][]
    const bias = new Map(pairs.map(([token, value]) => [token, toNumber(value)]))
    return plain((candidates) => logitBias(candidates, bias))
  },
  xtc: ({ number, minKeep, random }) => {
    const generator = random()
    const options = { probability: number('p'), threshold: number('t') }
    return plain((candidates) => xtc(candidates, options, generator, minKeep()))
  },
  dist: ({ random }) => {
    const generator = random()
    return plain((candidates) => distribution(candidates, generator))
  },
  mirostat: ({ number, random }) =>
    new Mirostat(
      { version: 1, tau: number('tau'), eta: number('eta') },
      number('n_vocab'),
      random(),
    ),
  mirostat_v2: ({ number, random, vocabularySize }) =>
    new Mirostat({ version: 2, tau: number('tau'), eta: number('eta') }, vocabularySize, random()),
  adaptive_p: ({ number, random }) =>
    new AdaptiveP({ target: number('target'), decay: number('decay') }, random()),
  penalties: ({ number }) => {
    const history = new TokenHistory(number('last_n'))
    const options = {
      repeat: number('repeat'),
      frequency: number('freq'),
      presence: number('present'),
    }
    return {
      apply: (candidates) => penalties(candidates, history, options),
      accept: (token) => history.push(token),
    }
  },
  dry: ({ number }) => {
    const dry = new Dry({
      multiplier: number('multiplier'),
      base: number('base'),
      allowedLength: number('allowed_length'),
      lastN: number('last_n'),
    })
    return {
      apply: (candidates) => dry.apply(candidates),
      accept: (token) => dry.history.push(token),
    }
  },
}

function toNumber(value: Value): number {
  if (value === '-inf') return Number.NEGATIVE_INFINITY
  return value === 'inf' ? Number.POSITIVE_INFINITY : value
}

function near(value: number, expected: number, relative: number): boolean {
  return value === expected || Math.abs(value - expected) <= relative * Math.abs(expected)
}
