// Numbers of a schema: limits and multiples.
import { choice, type Expression, rule, text } from '../expression.ts'
import { compareDecimals, halfWay, shortestDecimal } from './decimal.ts'
import { jsonRule } from './json_text.ts'
import type { Atom, KeywordPolicy } from './keywords.ts'
import { type Limit, numberRange } from './number_range.ts'

/** Largest divisor whose remainders are tracked digit by digit. */
const divisorMax = 256

/** Most multiples that are listed one by one. */
const multiplesMax = 4096

/** The numbers that meet a conjunction. */
export function numberExpression(
  atoms: readonly Atom[],
  isWhole: boolean,
  policy: KeywordPolicy,
): Expression {
  const low = tightest(lowLimits(atoms), 1)
  const high = tightest(highLimits(atoms), -1)
  const divisor = divisorOf(atoms, policy)
  if (divisor > divisorMax) {
    const values = multiplesBetween(atoms, divisor)
    if (values !== undefined) return choice(...values.map((value) => text(String(value))))
    const holder = atoms.find(({ schema }) => schema.multipleOf !== undefined)!
    const problem = `above ${divisorMax} limits with at most ${multiplesMax} multiples are needed`
    policy.refuse('multipleOf', holder.path, problem)
  }
  const kind = { isWhole: isWhole || divisor > 1, divisor: divisor > divisorMax ? 1 : divisor }
  if (low === undefined && high === undefined && kind.divisor === 1) {
    return rule(kind.isWhole ? jsonRule.integer : jsonRule.number)
  }
  return numberRange(low, high, kind)
}

const inclusive = (value: number): Limit => ({ value: shortestDecimal(value), inclusive: true })

/** Exclusive limits lie half way to the next double: what is nearer is read as the limit itself. */
function lowLimits(atoms: readonly Atom[]): Limit[] {
  return atoms.flatMap(({ schema }) => [
    ...given(schema.minimum).map(inclusive),
    ...given(schema.exclusiveMinimum).map((value) => ({
      value: halfWay(value, 1),
      inclusive: false,
    })),
  ])
}

function highLimits(atoms: readonly Atom[]): Limit[] {
  return atoms.flatMap(({ schema }) => [
    ...given(schema.maximum).map(inclusive),
    ...given(schema.exclusiveMaximum).map((value) => ({
      value: halfWay(value, -1),
      inclusive: false,
    })),
  ])
}

function given(value: unknown): number[] {
  return value === undefined ? [] : [value as number]
}

function tightest(limits: readonly Limit[], direction: 1 | -1): Limit | undefined {
  let best: Limit | undefined
  for (const limit of limits) {
    const order = best === undefined ? 1 : direction * compareDecimals(limit.value, best.value)
    if (order > 0 || (order === 0 && !limit.inclusive)) best = limit
  }
  return best
}

/** The least number of which all values are multiples; 1 when they may be any. */
function divisorOf(atoms: readonly Atom[], policy: KeywordPolicy): number {
  let divisor = 1
  for (const { schema, path } of atoms) {
    if (schema.multipleOf === undefined) continue
    const value = schema.multipleOf as number
    const multiple = Number.isSafeInteger(value) ? leastCommonMultiple(divisor, value) : Number.NaN
    if (Number.isSafeInteger(multiple)) divisor = multiple
    else policy.refuse('multipleOf', path, 'only whole numbers are supported')
  }
  return divisor
}

/** All multiples within the limits; undefined when they are too many. */
function multiplesBetween(atoms: readonly Atom[], divisor: number): number[] | undefined {
  const min = Math.max(...limits(atoms, 'minimum', 'exclusiveMinimum', 1))
  const max = Math.min(...limits(atoms, 'maximum', 'exclusiveMaximum', -1))
  const first = Math.ceil(min / divisor)
  const count = Math.floor(max / divisor) - first + 1
  const isSafe = Math.abs(min) < 2 ** 52 && Math.abs(max) < 2 ** 52
  if (!isSafe || count > multiplesMax) return undefined
  return Array.from({ length: Math.max(0, count) }, (_, i) => (first + i) * divisor + 0)
}

/** Limits as whole numbers: the nearest whole number that is still inside. */
function limits(
  atoms: readonly Atom[],
  keyword: string,
  exclusive: string,
  direction: 1 | -1,
): number[] {
  const inside = (value: number) => direction * Math.ceil(direction * value)
  return [
    direction * Number.NEGATIVE_INFINITY,
    ...atoms.flatMap(({ schema }) => given(schema[keyword]).map(inside)),
    ...atoms.flatMap(({ schema }) =>
      given(schema[exclusive]).map((value) =>
        Number.isInteger(value) ? value + direction : inside(value),
      ),
    ),
  ]
}

function leastCommonMultiple(a: number, b: number): number {
  let [x, y] = [a, b]
  while (y !== 0) [x, y] = [y, x % y]
  return (a / x) * b
}
