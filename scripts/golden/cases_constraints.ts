// Golden part "cases", section E (JSON Schema and grammars) and the sampling rows of section F.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GrammarError } from '../../src/errors/index.ts'
import {
  compileGrammar,
  compileJsonSchema,
  type GrammarState,
  type GrammarVocabulary,
  type JsonSchema,
} from '../../src/text/grammar/index.ts'
import { Candidates, createSampler, minP, topP } from '../../src/text/sampling/index.ts'
import { type CaseRow, caseRows, quoted } from '../case_rows.ts'
import { type Report, type RunOptions, selects } from './report.ts'

export async function run(folder: string, report: Report, { only }: RunOptions): Promise<void> {
  const file = join(folder, 'cases.md')
  if (!existsSync(file)) return
  const markdown = readFileSync(file, 'utf8')
  for (const row of [...caseRows(markdown, 'E'), ...caseRows(markdown, 'F')]) {
    if (!selects(only, row.id)) continue
    const checks = row.id.startsWith('E') ? schemaChecks(row) : samplingChecks(row)
    for (const { name, problem } of checks) settle(report, `${row.id} ${name}`, problem)
  }
}

function settle(report: Report, name: string, problem: () => string | undefined): void {
  let found: string | undefined
  try {
    found = problem()
  } catch (error) {
    found = String(error)
  }
  if (found === undefined) report.pass(name)
  else report.fail(name, found)
}

interface Check {
  name: string
  problem: () => string | undefined
}

/** Every byte is a token; the last token ends generation. */
const vocabulary: GrammarVocabulary = {
  size: 257,
  bytes: (token) => (token < 256 ? Uint8Array.of(token) : new Uint8Array(0)),
  isEndOfGeneration: (token) => token === 256,
}

/** Rows are known by what they say, so that others of the same kind are checked too. */
function schemaChecks({ cells }: CaseRow): Check[] {
  const [first = '', second = ''] = cells
  if (first.startsWith('grammar') || first.includes('::=')) return grammarChecks(first, second)
  if (first.startsWith('finished JSON')) return [{ name: 'only the end', problem: onlyTheEnd }]
  if (/unsatisfiable/.test(second)) return schemasOf(first).map(unsatisfiable)
  if (/unsupported/.test(second)) return quoted(first).map(refusedKeyword)
  const schemas = schemasOf(first)
  const [ok = '', bad = ''] = splitOkBad(second)
  return schemas.flatMap((schema) => [
    ...textsOf(ok, schema).map((text) => matching(schema, text, true)),
    ...textsOf(bad, schema).map((text) => matching(schema, text, false)),
    ...[...second.matchAll(/(\S+?)\??,? \((ok|bad)\)/g)].map(([, text, verdict]) =>
      matching(schema, text!, verdict === 'ok'),
    ),
    { name: 'compiles', problem: () => void compileJsonSchema(schema, vocabulary) },
  ])
}

function splitOkBad(cell: string): string[] {
  return cell
    .split(/;\s*must/)[0]!
    .replace(/(\S+) \((ok|bad)\)/g, '')
    .split(' / ')
}

/** The schemas that a cell describes, in JSON or in words. */
function schemasOf(cell: string): JsonSchema[] {
  const found: JsonSchema[] = []
  for (const text of quoted(cell)) {
    const schema = parseJson(/^\w+:/.test(text) ? text.replace(/^(\w+):(.*)$/, '{"$1":$2}') : text)
    if (
      schema === false ||
      (typeof schema === 'object' && schema !== null && !Array.isArray(schema))
    ) {
      found.push(schema as JsonSchema)
    }
  }
  const words = cell.replace(/;.*$/, '')
  const named = inWords(words, cell)
  if (named !== undefined && !found.some((schema) => schema !== false)) found.unshift(named)
  const types = /type (\[[^\]]+\])/.exec(cell)
  if (types !== null) found.push({ type: JSON.parse(types[1]!) })
  return found.map((schema) => (/nested/.test(cell) ? nest(schema) : schema))
}

function inWords(words: string, cell: string): JsonSchema | undefined {
  const limits = Object.fromEntries(
    [...words.matchAll(/\b(\w*(?:Length|inimum|aximum|Items)) (-?[\d.]+)/g)].map(
      ([, key, value]) => [key, Number(value)],
    ),
  )
  const optional = /^([\w,]+) optional except (\w+)/.exec(words)
  if (optional !== null) {
    const names = optional[1]!.split(',')
    return objectOf(names, [optional[2]!])
  }
  if (words.startsWith('allOf')) return { allOf: [objectOf(['a'], ['a']), objectOf(['b'], ['b'])] }
  const anyOf = /^anyOf string\(maxLength (\d+)\) \/ null/.exec(cell)
  if (anyOf !== null)
    return { anyOf: [{ type: 'string', maxLength: Number(anyOf[1]) }, { type: 'null' }] }
  if (words.startsWith('enum')) return { enum: JSON.parse(quoted(cell)[0]!) as unknown[] }
  if (words.startsWith('integer')) return { type: 'integer', ...limits }
  if (words.startsWith('pattern')) return { pattern: quoted(cell)[0]!, ...limits }
  return Object.keys(limits).length > 0 ? { type: 'string', ...limits } : undefined
}

function objectOf(names: readonly string[], required: readonly string[]): JsonSchema {
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'integer' }]))
  return { type: 'object', properties, required }
}

function nest(schema: JsonSchema): JsonSchema {
  return { type: 'object', properties: { nested: schema }, required: ['nested'] }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The texts that a cell describes; those of a nested schema are put in its object. */
function textsOf(cell: string, schema: JsonSchema): string[] {
  const keywords = schema as { properties?: { nested?: object }; enum?: unknown[]; allOf?: unknown }
  const isNested = keywords.properties?.nested !== undefined
  const wrap = (text: string) => (isNested ? `{"nested":${text}}` : text)
  if (cell.trim() === 'each') return keywords.enum!.map((value) => JSON.stringify(value))
  if (cell.startsWith('both keys')) return ['{"a":1,"b":2}']
  if (cell.trim() === 'one') return ['{"a":1}', '{"b":2}']
  const length = /^(\d+)(?: chars)?\b/.exec(cell.trim())
  if (length !== null && isNested) {
    return ['x', '😀'].map((char) => wrap(JSON.stringify(char.repeat(Number(length[1])))))
  }
  const inQuotes = quoted(cell)
  const plain = inQuotes.length > 0 ? inQuotes : cell.split(',').map((part) => part.trim())
  return plain
    .flatMap((text) =>
      text.split(/,(?=\w)/).length > 1 && !/[{["]/.test(text) ? text.split(',') : text,
    )
    .filter((text) => text !== '' && (inQuotes.length > 0 || /^-?\d/.test(text)))
    .map((text) => (isText(text) ? wrap(text) : wrap(JSON.stringify(text))))
}

/** Whether a text stands for itself, rather than for the JSON string of it. */
function isText(text: string): boolean {
  return /^[[{"\d-]/.test(text) || ['true', 'false', 'null'].includes(text)
}

function matching(schema: JsonSchema, text: string, wanted: boolean): Check {
  return {
    name: `${wanted ? 'ok' : 'bad'} ${text.slice(0, 40)}`,
    problem: () => {
      const state = compileJsonSchema(schema, vocabulary).start()
      const matched = state.acceptBytes(new TextEncoder().encode(text)) && state.isComplete
      return matched === wanted ? undefined : `${matched ? 'is' : 'is not'} matched`
    },
  }
}

/** What compiling throws, where it has to be a GrammarError. */
function grammarError(compile: () => unknown): GrammarError | string {
  try {
    compile()
  } catch (error) {
    return error instanceof GrammarError ? error : `threw ${error}`
  }
  return 'nothing was thrown'
}

function unsatisfiable(schema: JsonSchema): Check {
  return {
    name: `unsatisfiable ${JSON.stringify(schema)}`,
    problem: () => {
      const error = grammarError(() => compileJsonSchema(schema, vocabulary))
      if (typeof error === 'string') return error
      return /unsatisfiable/.test(error.message) ? undefined : error.message
    },
  }
}

/** Refused by its name, and with `ignore` passed over with a warning. */
function refusedKeyword(name: string): Check {
  const keyword = name.split('/')[0]!
  const values: Record<string, unknown> = { uniqueItems: true, format: 'no-such-format' }
  const schema = {
    type: keyword === 'uniqueItems' ? 'array' : 'string',
    [keyword]: values[keyword] ?? {},
  }
  return {
    name: `refuses ${keyword}`,
    problem: () => {
      const error = grammarError(() => compileJsonSchema(schema, vocabulary))
      if (typeof error === 'string') return error
      if (error.keyword !== keyword) return `named ${error.keyword}`
      const warned: string[] = []
      const onWarning = (warning: { keyword: string }) => warned.push(warning.keyword)
      compileJsonSchema(schema, vocabulary, { unsupported: 'ignore', onWarning })
      return warned.includes(keyword) ? undefined : 'no warning when ignored'
    },
  }
}

function allowedTokens(state: GrammarState): number[] {
  const mask = state.mask()
  return [...Array(vocabulary.size).keys()].filter(
    (token) => ((mask[token >>> 5]! >>> (token & 31)) & 1) === 1,
  )
}

function grammarChecks(first: string, second: string): Check[] {
  const grammars = quoted(first).filter((text) => text.includes('::='))
  if (second.includes('bounded')) {
    const nested = /(\d+) nested optionals/.exec(first)
    const depth = Number(nested?.[1] ?? 0)
    const all = [...grammars, `root ::= ${'('.repeat(depth)}"a"${')?'.repeat(depth)}`]
    return all.map((grammar) => ({
      name: `bounded ${grammar.slice(0, 20)}`,
      problem: () => walk(grammar),
    }))
  }
  if (second.includes('in turn')) {
    const tokens = [...first.matchAll(/\b[0-9A-F]{2}\b/g)].map(([hex]) => Number.parseInt(hex, 16))
    return grammars.map((grammar) => ({
      name: 'in turn',
      problem: () => acceptInTurn(grammar, tokens),
    }))
  }
  if (second.includes('before')) {
    return grammars.map((grammar) => ({ name: 'mask first', problem: () => maskFirst(grammar) }))
  }
  return []
}

/** Compiles and walks a grammar for 500 tokens, within two seconds. */
function walk(grammar: string): string | undefined {
  const start = performance.now()
  const state = compileGrammar(grammar, vocabulary).start()
  for (let step = 0; step < 500; step++) {
    const token = allowedTokens(state).find((id) => !vocabulary.isEndOfGeneration(id))
    if (token === undefined) break
    state.accept(token)
  }
  const time = performance.now() - start
  return time < 2000 ? undefined : `took ${time.toFixed(0)} ms`
}

function acceptInTurn(grammar: string, tokens: readonly number[]): string | undefined {
  const state = compileGrammar(grammar, vocabulary).start()
  for (const token of tokens) state.accept(token)
  return state.isComplete ? undefined : 'not complete after all tokens'
}

/** The likeliest token does not fit; then none does. */
function maskFirst(grammar: string): string | undefined {
  const state = compileGrammar(grammar, vocabulary).start()
  const [fits] = allowedTokens(state)
  const logits = new Float32Array(vocabulary.size)
  logits[fits === 0x78 ? 0x79 : 0x78] = 100
  const sampler = createSampler({ topK: 1, seed: 1 }, vocabulary.size)
  if (sampler.sample(logits, state.mask()) !== fits) return 'truncated before the mask'
  logits.fill(Number.NEGATIVE_INFINITY, fits, fits! + 1)
  const error = grammarError(() => sampler.sample(logits, state.mask()))
  if (typeof error === 'string') return error
  logits[fits!] = 1
  return sampler.sample(logits, state.mask()) === fits ? undefined : 'the next request fails'
}

function onlyTheEnd(): string | undefined {
  const state = compileJsonSchema({ type: 'object', properties: {} }, vocabulary).start()
  for (const token of new TextEncoder().encode('{}')) state.accept(token)
  const allowed = allowedTokens(state)
  return allowed.join() === '256' ? undefined : `allowed: ${allowed}`
}

function samplingChecks({ cells }: CaseRow): Check[] {
  const [first = '', second = ''] = cells
  if (first.startsWith('logits')) return probabilityChecks(first, second)
  if (first.startsWith('temperature 0')) return [{ name: 'argmax', problem: lowestOfBest }]
  if (/^temperature -/.test(first)) return optionChecks(first)
  if (first.startsWith('seed')) return seedChecks(first)
  return []
}

/** `softmax .6 .4; top_p .65 → ids {0,1} …; min_p .1 → p ≥ … → {0,1,2}`. */
function probabilityChecks(first: string, second: string): Check[] {
  const logits = Float32Array.from(JSON.parse(/\[[^\]]*\]/.exec(first)![0]) as number[])
  const load = () => {
    const candidates = new Candidates()
    candidates.load(logits)
    return candidates
  }
  const softmax = /softmax ([\d. ]+)/.exec(second)![1]!.trim().split(' ').map(Number)
  const checks: Check[] = [
    {
      name: 'softmax',
      problem: () => {
        const candidates = load()
        candidates.softmax()
        const wrong = softmax.findIndex((p, i) => Math.abs(candidates.probabilities[i]! - p) > 1e-6)
        return wrong < 0 ? undefined : `p[${wrong}] is ${candidates.probabilities[wrong]}`
      },
    },
  ]
  for (const [, kind, value, ids] of second.matchAll(
    /(top_p|min_p) ([\d.]+) →[^{;]*\{([\d,]+)\}/g,
  )) {
    const truncate = kind === 'top_p' ? topP : minP
    checks.push({
      name: `${kind} ${value}`,
      problem: () => {
        const candidates = load()
        truncate(candidates, Number(value))
        const kept = [...candidates.ids.subarray(0, candidates.size)].join()
        return kept === ids ? undefined : `keeps {${kept}}`
      },
    })
  }
  return checks
}

function lowestOfBest(): string | undefined {
  const options = { temperature: 0, seed: 7, topK: 0, topP: 1, minP: 0 }
  const token = createSampler(options, 5).sample(new Float32Array([0, 3, 1, 3, 3]))
  return token === 1 ? undefined : `chose ${token}`
}

function optionChecks(cell: string): Check[] {
  const options: Record<string, unknown>[] = [{ temperature: Number.NaN }, { topP: Number.NaN }]
  for (const [, name, value] of cell.matchAll(/(temperature|top_p) (-?[\d.]+)/g)) {
    options.push({ [name === 'top_p' ? 'topP' : name!]: Number(value) })
  }
  for (const [, text] of cell.matchAll(/"([\d.]+)"/g)) options.push({ temperature: text })
  return options.map((option) => ({
    name: `refuses ${Object.entries(option).flat().map(String).join(' ')}`,
    problem: () => {
      try {
        createSampler(option, 4)
      } catch (error) {
        const wanted = Object.values(option)[0]
        const isRight = error instanceof (typeof wanted === 'string' ? TypeError : RangeError)
        return isRight ? undefined : `threw ${error}`
      }
      return 'nothing was thrown'
    },
  }))
}

/** `seed 42 twice; seed 2^53+1 as bigint`: equal draws; no rounding to a neighbour. */
function seedChecks(cell: string): Check[] {
  const logits = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i))
  const draws = (seed: number | bigint) => {
    const sampler = createSampler({ seed, topK: 0 }, logits.length)
    return Array.from({ length: 40 }, () => sampler.sample(logits)).join()
  }
  const small = Number(/seed (\d+) twice/.exec(cell)?.[1] ?? 1)
  return [
    {
      name: `seed ${small} twice`,
      problem: () => (draws(small) === draws(BigInt(small)) ? undefined : 'draws differ'),
    },
    {
      name: 'seed 2^53+1',
      problem: () => {
        const seed = 2n ** 53n + 1n
        if (draws(seed) === draws(seed - 1n)) return 'rounded to 2^53'
        return createSampler({ seed }, 4).seed === seed ? undefined : 'the seed is not kept'
      },
    },
  ]
}
