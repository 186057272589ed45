// Grammars that wait: everything is allowed until a trigger comes, then the grammar holds.
import type { CompiledGrammar, GrammarState } from './compiled_grammar.ts'

/** What starts a lazy grammar. */
export interface GrammarTriggers {
  /** Strings in the text; the grammar has to match from their first byte on. */
  words?: readonly string[] | undefined
  /** Token ids; the grammar has to match from that token on. */
  tokens?: readonly number[] | undefined
}

/** Longest trigger word, in bytes. */
const wordBytesMax = 4096

/**
 * A generation that is free until a trigger.
 *
 * ```ts
 * const state = startLazily(grammar, { words: ['<tool_call>'] })
 * state.mask()            // undefined: anything goes
 * state.accept(token)     // … once '<tool_call>' is complete, mask() follows the grammar
 * ```
 *
 * Of a token that completes a word, what lies from the start of the word to the end of the token is
 * given to the grammar. If it does not fit (the token went on in a way that the grammar forbids),
 * the trigger does not count.
 *
 * @throws RangeError when there is no trigger, or one is empty or too long.
 */
export function startLazily(grammar: CompiledGrammar, triggers: GrammarTriggers): LazyGrammarState {
  const words = (triggers.words ?? []).map((word) => new TextEncoder().encode(word))
  const tokens = triggers.tokens ?? []
  if (words.length + tokens.length === 0) throw new RangeError('a lazy grammar needs a trigger')
  for (const word of words) {
    if (word.length === 0 || word.length > wordBytesMax) {
      throw new RangeError(
        `a trigger word must have 1 to ${wordBytesMax} bytes, got ${word.length}`,
      )
    }
  }
  for (const token of tokens) {
    if (!Number.isInteger(token) || token < 0 || token >= grammar.trie.vocabularySize) {
      throw new RangeError(
        `a trigger token must be in [0, ${grammar.trie.vocabularySize}), got ${token}`,
      )
    }
  }
  return new LazyGrammarState(grammar, words, new Set(tokens))
}

/** A `GrammarState` that begins with a trigger. */
export class LazyGrammarState {
  readonly #grammar: CompiledGrammar
  readonly #words: readonly Uint8Array[]
  readonly #tokens: ReadonlySet<number>
  /** The last bytes of the text: a word may have begun in them. */
  #tail = new Uint8Array(0)
  #state: GrammarState | undefined

  constructor(grammar: CompiledGrammar, words: readonly Uint8Array[], tokens: ReadonlySet<number>) {
    this.#grammar = grammar
    this.#words = words
    this.#tokens = tokens
  }

  /** Whether a trigger came. */
  get isActive(): boolean {
    return this.#state !== undefined
  }

  /** Whether the text may end here: always before a trigger. */
  get isComplete(): boolean {
    return this.#state?.isComplete ?? true
  }

  /** The tokens that may come next, as `GrammarState.mask`; undefined while any may. */
  mask(): Uint32Array | undefined {
    return this.#state?.mask()
  }

  /** Goes on by a token. @throws GrammarError when the grammar holds and the token does not fit. */
  accept(token: number): void {
    if (this.#state !== undefined) {
      this.#state.accept(token)
      return
    }
    if (this.#tokens.has(token)) {
      const state = this.#grammar.start()
      if (state.allows(token)) {
        state.accept(token)
        this.#state = state
        return
      }
    }
    this.#watch(this.#grammar.trie.bytesOf(token))
  }

  /** A state that goes on independently. */
  clone(): LazyGrammarState {
    const copy = new LazyGrammarState(this.#grammar, this.#words, this.#tokens)
    copy.#tail = this.#tail.slice()
    copy.#state = this.#state?.clone()
    return copy
  }

  /** Looks for words that end in the new bytes, the one that begins first before others. */
  #watch(bytes: Uint8Array): void {
    const text = Buffer.concat([this.#tail, bytes])
    const found = this.#words
      .map((word) => firstEndingAfter(text, word, this.#tail.length))
      .filter((start) => start >= 0)
      .sort((a, b) => a - b)
    for (const start of found) {
      const state = this.#grammar.start()
      if (!state.acceptBytes(text.subarray(start))) continue
      this.#state = state
      return
    }
    const longest = Math.max(0, ...this.#words.map((word) => word.length))
    this.#tail = Uint8Array.from(text.subarray(Math.max(0, text.length - longest + 1)))
  }
}

/** Where `word` first begins in `text` such that it ends beyond `length`; -1 when it does not. */
function firstEndingAfter(text: Buffer, word: Uint8Array, length: number): number {
  return text.indexOf(word, Math.max(0, length - word.length + 1))
}
