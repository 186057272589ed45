// The candidates for the next token, and the ordering that all samplers share.

const heapMax = 128
const radixBits = 11
const radixSize = 1 << radixBits
const floatMax = 3.4028234663852886e38

/**
 * Candidates in plain arrays: entry i is token `ids[i]` with `logits[i]`, for i below `size`.
 * Everything is allocated once, for a vocabulary; samplers shrink, reorder and rewrite entries.
 *
 * ```ts
 * const candidates = new Candidates(4)
 * candidates.load(new Float32Array([3, 2, 1, 0]))
 * topK(candidates, 2) // size 2, ids 0 and 1
 * ```
 */
export class Candidates {
  /** Token ids, [capacity]. */
  readonly ids: Int32Array
  /** Logits, [capacity]; never NaN or +Infinity. */
  readonly logits: Float32Array
  /** Probabilities, [capacity], as the last sampler that needed them left them. */
  readonly probabilities: Float32Array
  /** How many entries count. */
  size = 0
  /** Whether the logits descend. */
  sorted = false
  /** Index of the chosen entry, or -1. */
  selected = -1

  readonly #bits: Uint32Array
  readonly #keys: Uint32Array
  readonly #order: Uint32Array
  readonly #orderNext: Uint32Array
  readonly #spareLogits: Float32Array
  readonly #spareIds: Int32Array
  readonly #spareProbabilities: Float32Array
  readonly #histogram = new Uint32Array(radixSize)

  /** `capacity` is the number of tokens of the vocabulary. */
  constructor(capacity: number) {
    this.ids = new Int32Array(capacity)
    this.logits = new Float32Array(capacity)
    this.probabilities = new Float32Array(capacity)
    this.#bits = new Uint32Array(this.logits.buffer)
    this.#keys = new Uint32Array(capacity)
    this.#order = new Uint32Array(capacity)
    this.#orderNext = new Uint32Array(capacity)
    this.#spareLogits = new Float32Array(capacity)
    this.#spareIds = new Int32Array(capacity)
    this.#spareProbabilities = new Float32Array(capacity)
  }

  /**
   * Takes every token, in id order; with a mask (bit i of word i >> 5 is token i) only those allowed.
   * NaN counts as -Infinity. `logits` is only read.
   */
  load(logits: Float32Array, mask?: Uint32Array): void {
    if (mask !== undefined) {
      this.#loadMasked(logits, mask)
    } else {
      const { ids, logits: own } = this
      for (let i = 0; i < logits.length; i++) {
        ids[i] = i
        own[i] = finite(logits[i]!)
      }
      this.size = logits.length
    }
    this.#loaded()
  }

  /** The same as `load` and then keeping the `count` best, without a pass over all entries. */
  loadTop(logits: Float32Array, count: number): void {
    if (count > heapMax) {
      this.load(logits)
      this.keepTop(count)
      return
    }
    this.#loaded()
    this.#heapSelect(logits, undefined, logits.length, Math.min(count, logits.length))
  }

  #loaded(): void {
    this.sorted = false
    this.selected = -1
  }

  #loadMasked(logits: Float32Array, mask: Uint32Array): void {
    const { ids, logits: own } = this
    let size = 0
    for (let word = 0; word << 5 < logits.length; word++) {
      let bits = mask[word]!
      while (bits !== 0) {
        const id = (word << 5) + 31 - Math.clz32(bits & -bits)
        bits &= bits - 1
        if (id >= logits.length) break
        ids[size] = id
        own[size++] = finite(logits[id]!)
      }
    }
    this.size = size
  }

  /** Sorts by descending logit; equal logits keep their order. */
  sort(): void {
    if (this.sorted) return
    this.#radixSort()
    this.sorted = true
  }

  /**
   * Keeps the `count` best, sorted. Up to 128, equal logits come in the order of the classic
   * heap-select and heap-sort (so that seeded draws match programs that use `std::partial_sort`);
   * above, equal logits keep their order.
   */
  keepTop(count: number): void {
    const kept = Math.min(count, this.size)
    if (!this.sorted) {
      if (kept <= heapMax) {
        this.#heapSelect(this.logits, this.ids, this.size, kept)
      } else {
        if (kept < this.size) this.#dropBelowRank(kept)
        this.sort()
      }
    }
    this.size = kept
  }

  /** Removes entries with a logit below `threshold`; the others keep their order. */
  keepFrom(threshold: number): void {
    const { ids, logits, probabilities } = this
    let kept = 0
    for (let i = 0; i < this.size; i++) {
      const logit = logits[i]!
      if (logit < threshold) continue
      ids[kept] = ids[i]!
      probabilities[kept] = probabilities[i]!
      logits[kept++] = logit
    }
    this.size = kept
  }

  /** How many entries have a logit of at least `threshold`. */
  countFrom(threshold: number): number {
    let count = 0
    for (let i = 0; i < this.size; i++) if (this.logits[i]! >= threshold) count++
    return count
  }

  /** The index of the largest logit, the first on ties; -1 when there is no entry. */
  indexOfMax(): number {
    if (this.size === 0) return -1
    if (this.sorted) return 0
    const { logits, size } = this
    let best = 0
    let max = logits[0]!
    for (let i = 1; i < size; i++) {
      if (logits[i]! > max) {
        max = logits[i]!
        best = i
      }
    }
    return best
  }

  /** Writes the softmax of the logits into `probabilities`. */
  softmax(): void {
    const { logits, probabilities, size } = this
    if (size === 0) return
    const max = logits[this.indexOfMax()]!
    let sum = 0
    for (let i = 0; i < size; i++) {
      const weight = Math.fround(logits[i] === max ? 1 : Math.exp(Math.fround(logits[i]! - max)))
      probabilities[i] = weight
      sum += weight
    }
    for (let i = 0; i < size; i++) probabilities[i] = probabilities[i]! / sum
  }

  /** Reorders the entries: entry i becomes what was entry `order[i]`. */
  permute(order: Uint32Array): void {
    const { ids, logits, probabilities, size } = this
    for (let i = 0; i < size; i++) {
      const from = order[i]!
      this.#spareIds[i] = ids[from]!
      this.#spareLogits[i] = logits[from]!
      this.#spareProbabilities[i] = probabilities[from]!
    }
    for (let i = 0; i < size; i++) {
      ids[i] = this.#spareIds[i]!
      logits[i] = this.#spareLogits[i]!
      probabilities[i] = this.#spareProbabilities[i]!
    }
  }

  /**
   * Heap-select over a binary heap with the smallest kept logit on top, then heap-sort, both with
   * Floyd's "to the bottom, then up" sift (Knuth, TAOCP 3, 5.2.3 exercise 18), which decides the
   * order of equal logits. One comparison for each entry that is not kept.
   */
  #heapSelect(
    source: Float32Array,
    sourceIds: Int32Array | undefined,
    length: number,
    count: number,
  ): void {
    const { ids, logits } = this
    for (let i = 0; i < count; i++) {
      logits[i] = finite(source[i]!)
      ids[i] = sourceIds === undefined ? i : sourceIds[i]!
    }
    this.size = count
    this.sorted = true
    if (count === 0) return
    for (let root = (count - 2) >> 1; root >= 0; root--) {
      this.#sift(root, count, logits[root]!, ids[root]!)
    }
    let floor = logits[0]!
    for (let i = count; i < length; i++) {
      const logit = source[i]!
      if (logit > floor) {
        this.#sift(0, count, Math.min(logit, floatMax), sourceIds === undefined ? i : sourceIds[i]!)
        floor = logits[0]!
      }
    }
    for (let last = count - 1; last > 0; last--) {
      const logit = logits[last]!
      const id = ids[last]!
      logits[last] = logits[0]!
      ids[last] = ids[0]!
      this.#sift(0, last, logit, id)
    }
  }

  #sift(top: number, count: number, logit: number, id: number): void {
    const { ids, logits } = this
    let hole = top
    let child = 2 * hole + 2
    for (; child <= count; child = 2 * hole + 2) {
      if (child === count || logits[child]! > logits[child - 1]!) child--
      logits[hole] = logits[child]!
      ids[hole] = ids[child]!
      hole = child
    }
    for (let parent = (hole - 1) >> 1; hole > top && logits[parent]! > logit; ) {
      logits[hole] = logits[parent]!
      ids[hole] = ids[parent]!
      hole = parent
      parent = (hole - 1) >> 1
    }
    logits[hole] = logit
    ids[hole] = id
  }

  /** Fills the keys: unsigned integers that ascend as the logits descend. */
  #makeKeys(): void {
    const bits = this.#bits
    const keys = this.#keys
    const negativeZero = 0x80000000
    for (let i = 0; i < this.size; i++) {
      const word = bits[i]! === negativeZero ? 0 : bits[i]!
      keys[i] = word < negativeZero ? ~(word | negativeZero) : word
    }
  }

  /** Drops entries that cannot be among the `count` best, by a histogram of the leading key bits. */
  #dropBelowRank(count: number): void {
    const { ids, logits, probabilities, size } = this
    const keys = this.#keys
    const shift = 32 - radixBits
    this.#makeKeys()
    this.#histogram.fill(0)
    for (let i = 0; i < size; i++) this.#histogram[keys[i]! >>> shift]!++
    let digit = 0
    for (let seen = this.#histogram[0]!; seen < count; seen += this.#histogram[digit]!) digit++
    let kept = 0
    for (let i = 0; i < size; i++) {
      if (keys[i]! >>> shift > digit) continue
      ids[kept] = ids[i]!
      probabilities[kept] = probabilities[i]!
      logits[kept++] = logits[i]!
    }
    this.size = kept
  }

  /** Least significant digit first, three passes: stable, O(size), no allocation. */
  #radixSort(): void {
    const { size } = this
    const keys = this.#keys
    const histogram = this.#histogram
    this.#makeKeys()
    let from = this.#order
    let to = this.#orderNext
    for (let i = 0; i < size; i++) from[i] = i
    for (let shift = 0; shift < 32; shift += radixBits) {
      histogram.fill(0)
      for (let i = 0; i < size; i++) histogram[(keys[i]! >>> shift) & (radixSize - 1)]!++
      let start = 0
      for (let digit = 0; digit < radixSize; digit++) {
        const count = histogram[digit]!
        histogram[digit] = start
        start += count
      }
      for (let i = 0; i < size; i++) {
        const entry = from[i]!
        to[histogram[(keys[entry]! >>> shift) & (radixSize - 1)]!++] = entry
      }
      const swap = from
      from = to
      to = swap
    }
    this.permute(from)
  }
}

function finite(logit: number): number {
  if (logit > floatMax) return floatMax
  return Number.isNaN(logit) ? Number.NEGATIVE_INFINITY : logit
}
