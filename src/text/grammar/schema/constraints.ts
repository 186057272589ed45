// What a conjunction of schema parts says about each type of value.
import { type Atom, below, keywordTypes, type Located } from './keywords.ts'

export type ValueType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

export const valueTypes: readonly ValueType[] = [
  'null',
  'boolean',
  'number',
  'string',
  'array',
  'object',
]

/** The types that all parts allow; numbers may have to be whole. */
export interface Types {
  types: Set<ValueType>
  isWhole: boolean
}

/** The types by the keyword `type` alone. */
export function statedTypes(atoms: readonly Atom[]): Types {
  let types = new Set(valueTypes)
  let isWhole = false
  for (const { schema } of atoms) {
    if (schema.type === undefined) continue
    const names = new Set([schema.type].flat() as string[])
    if (names.has('integer') && !names.has('number')) isWhole = true
    if (names.has('integer')) names.add('number')
    types = types.intersection(names) as Set<ValueType>
  }
  return { types, isWhole }
}

/**
 * The types, and where no `type`, `enum` or `const` is stated those that the other keywords speak
 * of: `{ properties: … }` means an object, though the standard lets any other type pass.
 */
export function meantTypes(atoms: readonly Atom[]): Types {
  const stated = statedTypes(atoms)
  const isStated = atoms.some(
    ({ schema }) => 'type' in schema || 'enum' in schema || 'const' in schema,
  )
  const spoken = atoms.flatMap(({ schema }) =>
    Object.keys(schema).flatMap((keyword) => keywordTypes[keyword] ?? []),
  )
  if (isStated || spoken.length === 0) return stated
  return { ...stated, types: stated.types.intersection(new Set(spoken)) as Set<ValueType> }
}

/** The values of the first enum or const, for which everything else has to be checked. */
export function listedValues(atoms: readonly Atom[]): readonly unknown[] | undefined {
  for (const { schema } of atoms) {
    if ('const' in schema) return [schema.const]
    if ('enum' in schema) return schema.enum as unknown[]
  }
  return undefined
}

/** The largest of a keyword's values. */
export function largest(atoms: readonly Atom[], keyword: string, fallback: number): number {
  return Math.max(fallback, ...numbers(atoms, keyword))
}

/** The smallest of a keyword's values. */
export function smallest(atoms: readonly Atom[], keyword: string, fallback: number): number {
  return Math.min(fallback, ...numbers(atoms, keyword))
}

function numbers(atoms: readonly Atom[], keyword: string): number[] {
  return atoms.flatMap(({ schema }) => (schema[keyword] as number | undefined) ?? [])
}

/** What holds for the element of an array at `index`, or for all from there on. */
export function elementGoal(atoms: readonly Atom[], index: number): Located[] {
  return atoms.flatMap(({ schema, path }) => {
    const prefix = schema.prefixItems as Located['schema'][] | undefined
    if (prefix !== undefined && index < prefix.length) {
      return { schema: prefix[index]!, path: below(path, 'prefixItems', index) }
    }
    return child({ schema, path }, 'items')
  })
}

/** How many first elements have schemas of their own. */
export function prefixLength(atoms: readonly Atom[]): number {
  return Math.max(
    0,
    ...atoms.map(({ schema }) => (schema.prefixItems as [] | undefined)?.length ?? 0),
  )
}

/** All names in `properties` and `required`, in order of appearance. */
export function declaredNames(atoms: readonly Atom[]): string[] {
  const names = new Set<string>()
  for (const { schema } of atoms)
    for (const name of Object.keys(schema.properties ?? {})) names.add(name)
  for (const name of requiredNames(atoms)) names.add(name)
  return [...names]
}

export function requiredNames(atoms: readonly Atom[]): Set<string> {
  return new Set(atoms.flatMap(({ schema }) => (schema.required as string[] | undefined) ?? []))
}

/** What holds for the property of a name. */
export function propertyGoal(atoms: readonly Atom[], name: string): Located[] {
  return atoms.flatMap((atom) => {
    const properties = (atom.schema.properties ?? {}) as Record<string, Located['schema']>
    if (Object.hasOwn(properties, name)) {
      return { schema: properties[name]!, path: below(atom.path, 'properties', name) }
    }
    return child(atom, 'additionalProperties')
  })
}

/** The schemas of properties that no part declares. */
export function additionalGoal(atoms: readonly Atom[]): Located[] {
  return atoms.flatMap((atom) => child(atom, 'additionalProperties'))
}

function child({ schema, path }: Atom, keyword: string): Located[] {
  const value = schema[keyword] as Located['schema'] | undefined
  return value === undefined ? [] : [{ schema: value, path: below(path, keyword) }]
}
