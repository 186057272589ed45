// The candidates for the next token.
import { finite, heapSelect, RadixOrder } from './order.ts'
import { softmax } from './softmax.ts'

const heapMax = 128

/**
 * Candidates in plain arrays: entry i is token `ids[i]` with `logits[i]`, for i below `size`.
 * Samplers shrink, reorder and rewrite entries. Memory grows to the most entries ever held and
 * stays.
 *
 * ```ts
 * const candidates = new Candidates()
 * candidates.load(new Float32Array([3, 2, 1, 0]))
 * topK(candidates, 2) // size 2, ids 0 and 1
 * ```
 */
export class Candidates {
  /** Token ids, [capacity]. */
  ids = new Int32Array(0)
  /** Logits, [capacity]; never NaN or +Infinity. */
  logits = new Float32Array(0)
  /** Probabilities, [capacity], as the last sampler that needed them left them. */
  probabilities = new Float32Array(0)
  /** How many entries count. */
  size = 0
  /** Whether the logits descend. */
  sorted = false
  /** Whether the ids ascend. */
  byId = false
  /** Index of the chosen entry, or -1. */
  selected = -1

  readonly #order = new RadixOrder()
  #spareIds = new Int32Array(0)
  #spareValues = new Float32Array(0)

  /** Makes room for `capacity` entries; the entries themselves are lost when it grows. */
  reserve(capacity: number): void {
    if (this.ids.length >= capacity) return
    this.ids = new Int32Array(capacity)
    this.logits = new Float32Array(capacity)
    this.probabilities = new Float32Array(capacity)
  }

  /**
   * Takes every token, in id order; with a mask (bit i of word i >> 5 is token i) only those
   * allowed. NaN counts as -Infinity, +Infinity as the largest number. `logits` is only read.
   */
  load(logits: Float32Array, mask?: Uint32Array): void {
    this.reserve(logits.length)
    const { ids, logits: own } = this
    let size = 0
    if (mask === undefined) {
      for (; size < logits.length; size++) {
        ids[size] = size
        own[size] = finite(logits[size]!)
      }
    } else {
      for (let index = 0; index << 5 < logits.length; index++) {
        for (let bits = mask[index]!; bits !== 0; bits &= bits - 1) {
          const id = (index << 5) + 31 - Math.clz32(bits & -bits)
          if (id >= logits.length) break
          ids[size] = id
          own[size++] = finite(logits[id]!)
        }
      }
    }
    this.#hold(size, false)
  }

  /** The same as `load` and then keeping the `count` best, in memory for those alone if few. */
  loadTop(logits: Float32Array, count: number, mask?: Uint32Array): void {
    if (count > heapMax) {
      this.load(logits, mask)
      this.keepTop(count)
      return
    }
    const most = Math.min(count, logits.length)
    this.reserve(most)
    const { length } = logits
    const size = heapSelect(this.logits, this.ids, most, logits, undefined, length, mask)
    this.#hold(size, true)
  }

  /** Takes, in id order, the tokens with a logit of at least `threshold`. */
  loadFrom(logits: Float32Array, threshold: number): void {
    let size = 0
    for (let i = 0; i < logits.length; i++) if (logits[i]! >= threshold) size++
    this.reserve(size)
    size = 0
    for (let i = 0; i < logits.length; i++) {
      if (!(logits[i]! >= threshold)) continue
      this.ids[size] = i
      this.logits[size++] = finite(logits[i]!)
    }
    this.#hold(size, false)
  }

  #hold(size: number, sorted: boolean): void {
    this.size = size
    this.sorted = sorted
    this.byId = !sorted
    this.selected = -1
  }

  /** Sorts by descending logit; equal logits keep their order. */
  sort(): void {
    if (this.sorted) return
    this.permute(this.#order.descending(this.logits, this.size))
    this.sorted = true
    this.byId = false
  }

  /** Sorts by ascending `keys` [size]; equal keys keep their order. */
  sortBy(keys: Float32Array): void {
    this.permute(this.#order.ascending(keys, this.size))
    this.sorted = false
    this.byId = false
  }

  /**
   * Keeps the `count` best, sorted; their probabilities are lost. Up to 128, equal logits come in
   * the order of the classic heap-select and heap-sort (so that seeded draws match programs that
   * use `std::partial_sort`); above, they keep their order.
   */
  keepTop(count: number): void {
    const kept = Math.min(count, this.size)
    if (!this.sorted) {
      if (kept <= heapMax) {
        heapSelect(this.logits, this.ids, kept, this.logits, this.ids, this.size)
        this.sorted = true
        this.byId = false
      } else {
        if (kept < this.size) {
          this.keepFrom(this.#order.threshold(this.logits, this.size, kept))
        }
        this.sort()
      }
    }
    this.size = kept
  }

  /** Removes entries with a logit below `threshold`; the others keep their order. */
  keepFrom(threshold: number): void {
    const { ids, logits, probabilities, size } = this
    let kept = 0
    for (let i = 0; i < size; i++) {
      const logit = logits[i]!
      if (logit < threshold) continue
      ids[kept] = ids[i]!
      probabilities[kept] = probabilities[i]!
      logits[kept++] = logit
    }
    this.size = kept
  }

  /** Removes the first `count` entries. */
  dropFirst(count: number): void {
    this.ids.copyWithin(0, count, this.size)
    this.logits.copyWithin(0, count, this.size)
    this.probabilities.copyWithin(0, count, this.size)
    this.size -= count
  }

  /** The index of the largest logit, the first on ties; -1 when there is no entry. */
  indexOfMax(): number {
    const { logits, size } = this
    if (size === 0) return -1
    if (this.sorted) return 0
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

  /** The index of a token, or -1. */
  indexOf(token: number): number {
    const { ids, size } = this
    if (!this.byId) {
      for (let i = 0; i < size; i++) if (ids[i] === token) return i
      return -1
    }
    if (token < size && ids[token] === token) return token
    let low = 0
    let high = size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (ids[middle]! < token) low = middle + 1
      else high = middle
    }
    return low < size && ids[low] === token ? low : -1
  }

  /** Writes the softmax of the logits into `probabilities`. */
  softmax(): void {
    if (this.size === 0) return
    softmax(this.probabilities, this.logits, this.size, this.logits[this.indexOfMax()]!)
  }

  /** Reorders the entries: entry i becomes what was entry `order[i]`. */
  permute(order: Uint32Array): void {
    const { ids, logits, probabilities, size } = this
    if (this.#spareIds.length < size) {
      this.#spareIds = new Int32Array(this.ids.length)
      this.#spareValues = new Float32Array(this.ids.length)
    }
    const spareIds = this.#spareIds
    const spareValues = this.#spareValues
    for (let i = 0; i < size; i++) spareIds[i] = ids[order[i]!]!
    for (let i = 0; i < size; i++) ids[i] = spareIds[i]!
    for (let i = 0; i < size; i++) spareValues[i] = logits[order[i]!]!
    for (let i = 0; i < size; i++) logits[i] = spareValues[i]!
    for (let i = 0; i < size; i++) spareValues[i] = probabilities[order[i]!]!
    for (let i = 0; i < size; i++) probabilities[i] = spareValues[i]!
  }
}
