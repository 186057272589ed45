// Which bytes can begin each rule, and which can follow it: to look only at tokens that can fit.
import type { Nfa, NfaRule } from './nfa.ts'

/** A set of bytes, [256] of 0 or 1. */
export type ByteSet = Uint8Array

/** Most steps spent; beyond them every byte counts as following, which is slower but not wrong. */
const stepMax = 4_000_000

/** The bytes that can come right after each rule, wherever it is called. */
export function followBytes(nfa: Nfa): Map<NfaRule, ByteSet> {
  const first = firstBytes(nfa)
  const follow = new Map(nfa.rules.map((rule) => [rule, new Uint8Array(256)]))
  const inherits = new Map<NfaRule, Set<NfaRule>>(nfa.rules.map((rule) => [rule, new Set()]))
  let steps = 0
  for (const caller of nfa.rules) {
    for (const at of positionsOf(nfa, caller)) {
      for (const { rule, to } of nfa.positions[at]!.calls) {
        const reached = reachEmpty(nfa, to)
        steps += reached.size
        if (steps > stepMax) return allBytes(nfa)
        for (const place of reached) addStarts(nfa, place, first, follow.get(rule)!)
        if (!reached.has(caller.end)) continue
        inherits.get(caller)!.add(rule)
        // The body of a repetition is followed by itself.
        if (caller.loop !== undefined) add(follow.get(rule)!, first.get(caller)!)
      }
    }
  }
  spread(follow, inherits)
  return follow
}

function firstBytes(nfa: Nfa): Map<NfaRule, ByteSet> {
  const first = new Map(nfa.rules.map((rule) => [rule, new Uint8Array(256)]))
  const givesTo = new Map<NfaRule, Set<NfaRule>>(nfa.rules.map((rule) => [rule, new Set()]))
  for (const rule of nfa.rules) {
    for (const at of reachEmpty(nfa, rule.start)) {
      addStarts(nfa, at, undefined, first.get(rule)!)
      for (const call of nfa.positions[at]!.calls) givesTo.get(call.rule)!.add(rule)
    }
  }
  spread(first, givesTo)
  return first
}

/** Adds what a position reads, and what the rules it calls begin with. */
function addStarts(
  nfa: Nfa,
  at: number,
  first: Map<NfaRule, ByteSet> | undefined,
  to: ByteSet,
): void {
  const { bytes, calls } = nfa.positions[at]!
  for (const edge of bytes) to.fill(1, edge.first, edge.last + 1)
  if (first !== undefined) for (const { rule } of calls) add(to, first.get(rule)!)
}

/** Adds each rule's set to the sets of the rules it gives to, until nothing changes. */
function spread(sets: Map<NfaRule, ByteSet>, givesTo: Map<NfaRule, Set<NfaRule>>): void {
  const queue = new Set(sets.keys())
  for (const rule of queue) {
    queue.delete(rule)
    for (const receiver of givesTo.get(rule)!) {
      if (add(sets.get(receiver)!, sets.get(rule)!)) queue.add(receiver)
    }
  }
}

function add(to: ByteSet, from: ByteSet): boolean {
  let changed = false
  for (let byte = 0; byte < 256; byte++) {
    if (from[byte] === 1 && to[byte] === 0) {
      to[byte] = 1
      changed = true
    }
  }
  return changed
}

function allBytes(nfa: Nfa): Map<NfaRule, ByteSet> {
  const all = new Uint8Array(256).fill(1)
  return new Map(nfa.rules.map((rule) => [rule, all]))
}

function positionsOf(nfa: Nfa, rule: NfaRule): Set<number> {
  const seen = new Set([rule.start])
  for (const at of seen) {
    const { bytes, tokens, empty, calls } = nfa.positions[at]!
    for (const { to } of bytes) seen.add(to)
    for (const { to } of tokens) seen.add(to)
    for (const { to } of calls) seen.add(to)
    for (const to of empty) seen.add(to)
  }
  return seen
}

function reachEmpty(nfa: Nfa, start: number): Set<number> {
  const seen = new Set([start])
  for (const at of seen) {
    const { empty, calls } = nfa.positions[at]!
    for (const to of empty) seen.add(to)
    for (const { rule, to } of calls) if (rule.nullable) seen.add(to)
  }
  return seen
}
