// Proofs that two schemas never hold together, for oneOf.
import { listedValues, propertyGoal, requiredNames, statedTypes } from './constraints.ts'
import type { Conjunction, Expander } from './expand.ts'
import type { Located } from './keywords.ts'
import { meetsAll } from './validate.ts'

/** How deep required properties are looked into. */
const depthMax = 4

/** Whether it is certain that no value meets all of the goal; false also when that is not known. */
export function isImpossible(goal: readonly Located[], expander: Expander, depth = 0): boolean {
  return expander.expand(goal).every((atoms) => isContradiction(atoms, expander, depth))
}

function isContradiction(atoms: Conjunction, expander: Expander, depth: number): boolean {
  const { types } = statedTypes(atoms)
  if (types.size === 0) return true
  const listed = listedValues(atoms)
  if (listed !== undefined) return !listed.some((value) => meetsAll(value, atoms, expander))
  if (types.size > 1) return false
  if (types.has('number')) return hasNoNumber(atoms)
  if (!types.has('object') || depth >= depthMax) return false
  return [...requiredNames(atoms)].some((name) =>
    isImpossible(propertyGoal(atoms, name), expander, depth + 1),
  )
}

function hasNoNumber(atoms: Conjunction): boolean {
  let low = Number.NEGATIVE_INFINITY
  let high = Number.POSITIVE_INFINITY
  let isOpen = false
  for (const { schema } of atoms) {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema as Record<
      string,
      number
    >
    low = Math.max(low, minimum ?? low, exclusiveMinimum ?? low)
    high = Math.min(high, maximum ?? high, exclusiveMaximum ?? high)
  }
  for (const { schema } of atoms) {
    if (schema.exclusiveMinimum === low || schema.exclusiveMaximum === high) isOpen = true
  }
  return low > high || (low === high && isOpen)
}
