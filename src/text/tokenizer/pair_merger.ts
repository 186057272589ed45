// Greedy pair merging, the core of byte-pair encoding and of SentencePiece's score merging: join the
// adjacent pair of lowest rank, leftmost first among equals, until no pair can be joined.
//
// Short words look for the lowest rank by walking their symbols; long ones keep a binary heap, so that
// a megabyte without any word border costs n log n. Sennrich, Haddow, Birch (2016), "Neural Machine
// Translation of Rare Words with Subword Units".

/** Rank of a pair that cannot be joined. */
const NONE = 0x7fffffff
/** Up to this many symbols a walk beats a heap (bench/tokenizer.ts). */
const WALK_MAX = 40
/** Symbols or heap steps between two yields: about a millisecond. */
const SLICE = 1 << 13

/**
 * Symbols are numbered by their position at the start; joining keeps the left number. Symbol `i` covers
 * the bytes from `starts[i]` to `starts[next[i]]`, and `starts[count]` is the end of the word.
 */
export abstract class PairMerger {
  protected text: Uint8Array = new Uint8Array(0)
  protected count = 0
  protected starts = new Int32Array(WALK_MAX + 1)
  protected ids = new Int32Array(WALK_MAX + 1)
  protected next = new Int32Array(WALK_MAX + 1)
  private previous = new Int32Array(WALK_MAX + 2)
  private ranks = new Int32Array(WALK_MAX + 1)
  private joined = new Int32Array(WALK_MAX + 1)
  private heap = new Float64Array(0)
  private heapSize = 0
  private heapScale = 1

  /**
   * A number for joining symbols `left` and `right`, or -1 when that pair cannot be joined. Ids of
   * symbols are in `ids`, their bytes in `text`.
   */
  protected abstract pair(left: number, right: number): number
  /** The rank of what `pair` returned; below 2^31 - 1. */
  protected abstract rankOf(pair: number): number
  /** The id of the joined symbol. */
  protected abstract resultOf(pair: number): number

  /** Makes room for the symbols of a word of at most `count` symbols. */
  protected reserve(count: number): void {
    if (count + 1 < this.starts.length) return
    const size = Math.max(count + 2, this.starts.length * 2)
    this.starts = new Int32Array(size)
    this.ids = new Int32Array(size)
    this.next = new Int32Array(size)
    this.previous = new Int32Array(size + 1)
    this.ranks = new Int32Array(size)
    this.joined = new Int32Array(size)
  }

  /** Gives back what a very long word needed. */
  protected release(): void {
    this.heap = new Float64Array(0)
    if (this.starts.length <= 1 << 16) return
    this.starts = new Int32Array(0)
    this.reserve(WALK_MAX)
  }

  /** Whether `mergeShort` is the right way for the current word. */
  protected get isShort(): boolean {
    return this.count <= WALK_MAX
  }

  protected mergeShort(): void {
    const { count, ranks, next } = this
    for (let i = 0; i < count; i++) this.link(i)
    for (let i = 0; i < count; i++) this.refresh(i)
    for (;;) {
      let best = NONE
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

  /** The same for a word of any length; yields between slices of work. */
  protected *mergeLong(): Generator<void, void> {
    const { count } = this
    this.heapScale = 2 ** Math.ceil(Math.log2(count + 1))
    this.heap = new Float64Array(count)
    this.heapSize = 0
    for (let i = 0; i < count; i++) this.link(i)
    for (let i = 0; i < count; i++) {
      this.refresh(i)
      this.enqueue(i)
      if (i % SLICE === SLICE - 1) yield
    }
    while (this.mergeSlice(SLICE)) yield
    this.heap = new Float64Array(0)
  }

  private mergeSlice(steps: number): boolean {
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
    const right = this.next[left]!
    const pair = right < this.count ? this.pair(left, right) : -1
    this.ranks[left] = pair < 0 ? NONE : this.rankOf(pair)
    if (pair >= 0) this.joined[left] = this.resultOf(pair)
  }

  private join(left: number): void {
    const right = this.next[left]!
    const after = this.next[right]!
    this.ids[left] = this.joined[left]!
    this.next[left] = after
    this.previous[after] = left
    this.ranks[right] = NONE
    this.refresh(left)
    const before = this.previous[left]!
    if (before >= 0) this.refresh(before)
  }

  // The heap's keys are rank * heapScale + position: one comparison orders by rank, then from the left.
  // Keys whose pair has changed meanwhile are skipped when they come up.

  private enqueue(at: number): void {
    const rank = this.ranks[at]!
    if (rank === NONE) return
    if (this.heapSize === this.heap.length) {
      const grown = new Float64Array(this.heap.length * 2 + 16)
      grown.set(this.heap)
      this.heap = grown
    }
    const { heap } = this
    const key = rank * this.heapScale + at
    let i = this.heapSize++
    while (i > 0) {
      const parent = (i - 1) >> 1
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
      let child = 2 * i + 1
      if (child >= size) break
      if (child + 1 < size && heap[child + 1]! < heap[child]!) child++
      if (heap[child]! >= key) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = key
    return top
  }
}
