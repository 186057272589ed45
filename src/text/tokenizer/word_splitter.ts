// Cuts text into words by the passes of a pre-tokenizer.
import { digitCuts } from './digit_groups.ts'
import type { Pass, PreTokenizer } from './pre_tokenizers.ts'
import type { Steps } from './steps.ts'

/**
 * Takes one word: `piece.slice(start, end)`, where the piece starts at `base` in the text. Returns
 * true to ask for a pause.
 */
export type WordSink = (piece: string, start: number, end: number, base: number) => boolean

/** Words between two yields. */
const SLICE = 1 << 11

/**
 * JavaScript's own regular expressions find the words: about 40 ns each (bench/tokenizer.ts), and
 * in time linear in the text for the expressions used, which repeat single characters and nothing
 * else.
 */
export class WordSplitter {
  private readonly passes: readonly Cutter[]

  constructor({ passes }: PreTokenizer) {
    this.passes = passes.map(cutterOf)
  }

  /** Gives the words of `text` to `sink` in order; yields between slices and when the sink asks. */
  *split(text: string, sink: WordSink): Steps<void> {
    let ends = [text.length]
    for (const [i, cut] of this.passes.entries()) {
      if (i === this.passes.length - 1) {
        yield* cutAll(cut, text, ends, sink)
        return
      }
      const refined: number[] = []
      const push: WordSink = (_, __, end, base) => {
        refined.push(base + end)
        return false
      }
      yield* cutAll(cut, text, ends, push)
      ends = refined
    }
  }
}

/**
 * Cuts `piece` from `from` on until it is used up or a pause is due. Returns how far it came, or
 * the complement of that when the sink asked for the pause.
 */
type Cutter = (piece: string, from: number, base: number, sink: WordSink) => number

function* cutAll(cut: Cutter, text: string, ends: readonly number[], sink: WordSink): Steps<void> {
  let base = 0
  let sinceYield = 0
  for (const end of ends) {
    const piece = ends.length === 1 ? text : text.slice(base, end)
    for (let at = 0; at < piece.length; ) {
      const reached = cut(piece, at, base, sink)
      at = reached < 0 ? ~reached : reached
      if (reached < piece.length || ++sinceYield >= SLICE) {
        sinceYield = 0
        yield
      }
    }
    base = end
  }
}

function cutterOf(pass: Pass): Cutter {
  if ('cover' in pass) return coverCutter(new RegExp(pass.cover, 'vy'))
  if ('find' in pass) return findCutter(new RegExp(pass.find, 'vg'))
  return (piece, _, base, sink) => {
    let start = 0
    let pauses = false
    for (const end of [...digitCuts(piece, pass.digits), piece.length]) {
      pauses = sink(piece, start, end, base)
      start = end
    }
    return pauses ? ~start : start
  }
}

function coverCutter(expression: RegExp): Cutter {
  return (piece, from, base, sink) => {
    let start = from
    for (let n = 0; n < SLICE && start < piece.length; n++) {
      expression.lastIndex = start
      const end = expression.test(piece) ? expression.lastIndex : 0
      // Every expression covers every character; one that did not would give it alone.
      const after = end > start ? end : start + 1
      const pauses = sink(piece, start, after, base)
      start = after
      if (pauses) return ~start
    }
    return start
  }
}

function findCutter(expression: RegExp): Cutter {
  return (piece, from, base, sink) => {
    let start = from
    for (let n = 0; n < SLICE && start < piece.length; n++) {
      expression.lastIndex = start
      const match = expression.exec(piece)
      const found = match ? match.index : piece.length
      // The gap in front of a match is a piece; the match follows in the next turn.
      const after = found > start ? found : start + match![0].length
      const pauses = sink(piece, start, after, base)
      start = after
      if (pauses) return ~start
    }
    return start
  }
}
