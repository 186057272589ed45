// Strings of a schema: lengths, patterns and formats.
import { choice, type Expression, repeat, rule } from '../expression.ts'
import { type Dfa, intersectDfa, lengthDfa, searchDfa } from '../regex/automaton.ts'
import { parseRegex, type Regex, RegexProblem } from '../regex/syntax.ts'
import { dfaGraph, translateSearch, translateWithLength } from '../regex/translate.ts'
import { largest, smallest } from './constraints.ts'
import { formatPatterns } from './formats.ts'
import { anyCharacter, jsonRule, quoted, stringCharacter } from './json_text.ts'
import type { Atom, KeywordPolicy } from './keywords.ts'

/** Nothing matches. */
const never = choice()

/** The strings that meet a conjunction. */
export function stringExpression(atoms: readonly Atom[], policy: KeywordPolicy): Expression {
  const min = largest(atoms, 'minLength', 0)
  const max = smallest(atoms, 'maxLength', Number.POSITIVE_INFINITY)
  if (min > max) return never
  const patterns = patternsOf(atoms, policy)
  if (patterns.length === 0) {
    if (min === 0 && max === Number.POSITIVE_INFINITY) return rule(jsonRule.string)
    return quoted(repeat(anyCharacter, min, max))
  }
  try {
    return quoted(characters(patterns, min, max))
  } catch (error) {
    if (!(error instanceof RegexProblem)) throw error
    policy.refuse('pattern', patterns[0]!.path, error.message)
    return quoted(repeat(anyCharacter, min, max))
  }
}

interface Pattern {
  regex: Regex
  path: string
}

function patternsOf(atoms: readonly Atom[], policy: KeywordPolicy): Pattern[] {
  const patterns: Pattern[] = []
  const add = (keyword: string, source: string, path: string) => {
    try {
      patterns.push({ regex: parseRegex(source), path })
    } catch (error) {
      if (!(error instanceof RegexProblem)) throw error
      policy.refuse(keyword, path, `${JSON.stringify(source)}: ${error.message}`)
    }
  }
  for (const { schema, path } of atoms) {
    if (typeof schema.pattern === 'string') add('pattern', schema.pattern, path)
    if (typeof schema.format !== 'string') continue
    const known = formatPatterns.get(schema.format)
    if (known !== undefined) add('format', known, path)
    else
      policy.refuse('format', path, `the format ${JSON.stringify(schema.format)} is not supported`)
  }
  return patterns
}

/** The characters between the quotes. */
function characters(patterns: readonly Pattern[], min: number, max: number): Expression {
  const isBounded = min > 0 || max < Number.POSITIVE_INFINITY
  const [first] = patterns
  if (patterns.length === 1) {
    const direct = isBounded
      ? translateWithLength(first!.regex, min, max, stringCharacter)
      : translateSearch(first!.regex, stringCharacter)
    if (direct !== undefined) return direct
  }
  let dfa: Dfa | undefined
  for (const { regex } of patterns) {
    const next = searchDfa(regex)
    dfa = dfa === undefined ? next : intersectDfa(dfa, next)
  }
  if (isBounded) dfa = intersectDfa(dfa!, lengthDfa(min, max))
  return dfaGraph(dfa!, stringCharacter)
}
