// Checks given values against schemas: for enum and const beside other keywords, and for oneOf.
import {
  additionalGoal,
  declaredNames,
  elementGoal,
  propertyGoal,
  requiredNames,
  statedTypes,
  type ValueType,
} from './constraints.ts'
import type { Expander } from './expand.ts'
import { formatPatterns } from './formats.ts'
import type { Atom, Located } from './keywords.ts'

/** Whether a value meets all schemas of a goal. */
export function meets(value: unknown, goal: readonly Located[], expander: Expander): boolean {
  return expander.expand(goal).some((atoms) => meetsAll(value, atoms, expander))
}

/** Whether a value meets a conjunction. */
export function meetsAll(value: unknown, atoms: readonly Atom[], expander: Expander): boolean {
  const type = typeOf(value)
  const { types, isWhole } = statedTypes(atoms)
  if (!types.has(type) || (isWhole && type === 'number' && !Number.isInteger(value))) return false
  if (!atoms.every(({ schema }) => isListed(value, schema) && meetsScalar(value, schema)))
    return false
  if (Array.isArray(value)) {
    return value.every((item, index) => meets(item, elementGoal(atoms, index), expander))
  }
  if (type === 'object') return meetsObject(value as Record<string, unknown>, atoms, expander)
  return true
}

function meetsObject(
  value: Record<string, unknown>,
  atoms: readonly Atom[],
  expander: Expander,
): boolean {
  const declared = new Set(declaredNames(atoms))
  for (const name of requiredNames(atoms)) if (!Object.hasOwn(value, name)) return false
  return Object.entries(value).every(([name, inner]) => {
    const goal = declared.has(name) ? propertyGoal(atoms, name) : additionalGoal(atoms)
    return meets(inner, goal, expander)
  })
}

export function typeOf(value: unknown): ValueType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as ValueType
}

function isListed(value: unknown, schema: Atom['schema']): boolean {
  if ('const' in schema && !Bun.deepEquals(value, schema.const)) return false
  return (
    !('enum' in schema) || (schema.enum as unknown[]).some((item) => Bun.deepEquals(value, item))
  )
}

type Test = (value: never, limit: never) => boolean

const numberTests: Record<string, Test> = {
  minimum: (value: number, limit: number) => value >= limit,
  maximum: (value: number, limit: number) => value <= limit,
  exclusiveMinimum: (value: number, limit: number) => value > limit,
  exclusiveMaximum: (value: number, limit: number) => value < limit,
  multipleOf: (value: number, divisor: number) => Number.isInteger(value / divisor),
}
const stringTests: Record<string, Test> = {
  minLength: (value: string, limit: number) => [...value].length >= limit,
  maxLength: (value: string, limit: number) => [...value].length <= limit,
  pattern: (value: string, source: string) => new RegExp(source, 'u').test(value),
  format: (value: string, name: string) => {
    const pattern = formatPatterns.get(name)
    return pattern === undefined || new RegExp(pattern, 'u').test(value)
  },
}
const arrayTests: Record<string, Test> = {
  minItems: (value: unknown[], limit: number) => value.length >= limit,
  maxItems: (value: unknown[], limit: number) => value.length <= limit,
  uniqueItems: (value: unknown[], isUnique: boolean) =>
    !isUnique || value.every((a, i) => !value.slice(0, i).some((b) => Bun.deepEquals(a, b))),
}
const objectTests: Record<string, Test> = {
  minProperties: (value: object, limit: number) => Object.keys(value).length >= limit,
  maxProperties: (value: object, limit: number) => Object.keys(value).length <= limit,
}

const testsByType: Partial<Record<ValueType, Record<string, Test>>> = {
  number: numberTests,
  string: stringTests,
  array: arrayTests,
  object: objectTests,
}

function meetsScalar(value: unknown, schema: Atom['schema']): boolean {
  const tests = testsByType[typeOf(value)] ?? {}
  return Object.entries(tests).every(
    ([keyword, test]) => !(keyword in schema) || test(value as never, schema[keyword] as never),
  )
}
