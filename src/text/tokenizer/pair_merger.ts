// Greedy pair merging, the core of byte-pair encoding and of SentencePiece's score merging: join
// the adjacent pair of lowest rank, leftmost first among equals, until no pair can be joined.
//
// Short words look for the lowest rank by walking their symbols; long ones keep a heap, so that a
// megabyte without any word border costs n log n. Sennrich, Haddow, Birch (2016), "Neural Machine
// Translation of Rare Words with Subword Units".
import type { Steps } from './steps.ts'

/** Rank of a pair that cannot be joined. */
export const NO_PAIR = 0x7fffffff
/** Up to this many symbols a walk beats a heap (bench/tokenizer.ts). */
const WALK_MAX = 40
/** Symbols or heap steps between two yields. */
const SLICE = 1 << 11

/**
 * A word is `text` cut at `starts`. Symbols are numbered by their position at the start, and
 * joining keeps the left number: symbol `i` covers the bytes from `starts[i]` to `starts[next[i]]`,
 * where
 * `starts[count]` is the end of the word.
 */
export abstract class PairMerger {
  protected text: Uint8Array = new Uint8Array(0)
  protected count = 0
  protected starts = new Int32Array(0)
  protected next = new Int32Array(0)
  private previous = new Int32Array(0)
  private ranks = new Int32Array(0)
  private heap = new Float64Array(0)
  private heapSize = 0
  private heapScale = 1

  /** The rank of the pair whose bytes are from `start` to `middle` and from there to `end`. */
  protected abstract rank(text: Uint8Array, start: number, middle: number, end: number): number

  /** Makes room for a word of at most `count` symbols. */
  protected reserve(count: number): void {
    if (count + 2 <= this.starts.length) return
    const size = Math.max(count + 2, this.starts.length * 2)
    this.starts = new Int32Array(size)
    this.next = new Int32Array(size)
    this.previous = new Int32Array(size)
    this.ranks = new Int32Array(size)
  }

  /** Joins what can be joined; for words of up to a few hundred symbols. */
  protected mergeNow(): void {
    if (this.count <= WALK_MAX) this.walk()
    else for (const _ of this.merge());
  }

  /** The same for words of any length; yields between slices of work. */
  protected *merge(): Steps<void> {
    const { count } = this
    this.heapScale = 2 ** Math.ceil(Math.log2(count + 1))
    this.heap = new Float64Array(count)
    this.heapSize = 0
    this.link(0)
    for (let i = 0; i < count; i++) {
      this.link(i + 1)
      this.refresh(i)
      this.enqueue(i)
      if (i % SLICE === SLICE - 1) yield
    }
    while (this.mergeSome(SLICE)) yield
    this.heap = new Float64Array(0)
  }

  private walk(): void {
    const { count, ranks, next } = this
    for (let i = 0; i < count; i++) this.link(i)
    for (let i = 0; i < count; i++) this.refresh(i)
    for (;;) {
      let best = NO_PAIR
      let at = -1
      for (let i = 0; i < count; i = next[i]!) {
        if (ranks[i]! < best) {
          best = ranks[i]!
          at = i
        }
      }
      if (at < 0) return
      this.join(at)
    }
  }

  private mergeSome(steps: number): boolean {
    const { heapScale, ranks, previous } = this
    for (let step = 0; step < steps; step++) {
      if (this.heapSize === 0) return false
      const key = this.dequeue()
      const rank = Math.floor(key / heapScale)
      const at = key - rank * heapScale
      if (ranks[at] !== rank) continue
      this.join(at)
      this.enqueue(at)
      if (previous[at]! >= 0) this.enqueue(previous[at]!)
    }
    return true
  }

  private link(i: number): void {
    this.next[i] = i + 1
    this.previous[i] = i - 1
  }

  private refresh(left: number): void {
    const { starts, next } = this
    const right = next[left]!
    this.ranks[left] =
      right < this.count
        ? this.rank(this.text, starts[left]!, starts[right]!, starts[next[right]!]!)
        : NO_PAIR
  }

  private join(left: number): void {
    const right = this.next[left]!
    const after = this.next[right]!
    this.next[left] = after
    this.previous[after] = left
    this.ranks[right] = NO_PAIR
    this.refresh(left)
    const before = this.previous[left]!
    if (before >= 0) this.refresh(before)
  }

  // The heap's keys are rank * heapScale + position: one comparison orders by rank, then from the
  // left. Keys whose pair has changed meanwhile are skipped when they come up. Four children a node
  // halve the levels of a binary heap, and with them the cache misses.

  private enqueue(at: number): void {
    const rank = this.ranks[at]!
    if (rank === NO_PAIR) return
    if (this.heapSize === this.heap.length) {
      const grown = new Float64Array(this.heap.length * 2 + 16)
      grown.set(this.heap)
      this.heap = grown
    }
    const { heap } = this
    const key = rank * this.heapScale + at
    let i = this.heapSize++
    while (i > 0) {
      const parent = (i - 1) >> 2
      if (heap[parent]! <= key) break
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = key
  }

  private dequeue(): number {
    const { heap } = this
    const top = heap[0]!
    const size = --this.heapSize
    const key = heap[size]!
    let i = 0
    for (;;) {
      const first = 4 * i + 1
      if (first >= size) break
      const end = Math.min(size, first + 4)
      let child = first
      let least = heap[first]!
      for (let k = first + 1; k < end; k++) {
        if (heap[k]! < least) {
          least = heap[k]!
          child = k
        }
      }
      if (least >= key) break
      heap[i] = least
      i = child
    }
    heap[i] = key
    return top
  }
}
