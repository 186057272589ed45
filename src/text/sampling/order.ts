// Ordering candidates by logit: the k best with a heap, all of them with a radix sort.

/** Replaces NaN and +Infinity, which would spoil every sum. */
export function finite(logit: number): number {
  if (logit > 3.4028234663852886e38) return 3.4028234663852886e38
  return Number.isNaN(logit) ? Number.NEGATIVE_INFINITY : logit
}

/**
 * Writes the largest of `source` [length] and their ids into `logits` and `ids`, descending, and
 * returns how many there are: `count` at most. `source` may be `logits` itself; without `sourceIds`
 * the ids are the indices, and of these a mask (bit i of word i >> 5) may allow some only.
 *
 * Heap-select over a binary heap with the smallest kept logit on top, then heap-sort, both with
 * Floyd's "to the bottom, then up" sift (Knuth, TAOCP 3, 5.2.3, exercise 18), which decides the
 * order of equal logits. An entry that is not kept costs one comparison.
 */
export function heapSelect(
  logits: Float32Array,
  ids: Int32Array,
  count: number,
  source: Float32Array,
  sourceIds: Int32Array | undefined,
  length: number,
  mask?: Uint32Array,
): number {
  let size = 0
  let next = 0
  for (; next < length && size < count; next++) {
    if (mask !== undefined && !isAllowed(mask, next)) continue
    logits[size] = finite(source[next]!)
    ids[size++] = sourceIds === undefined ? next : sourceIds[next]!
  }
  for (let root = (size - 2) >> 1; root >= 0; root--) {
    sift(logits, ids, root, size, logits[root]!, ids[root]!)
  }
  let floor = logits[0]!
  for (let i = next; i < length; i = skipSmall(source, i, length, floor) + 1) {
    const logit = source[i]!
    if (!(logit > floor) || (mask !== undefined && !isAllowed(mask, i))) continue
    sift(logits, ids, 0, size, finite(logit), sourceIds === undefined ? i : sourceIds[i]!)
    floor = logits[0]!
  }
  for (let last = size - 1; last > 0; last--) {
    const logit = logits[last]!
    const id = ids[last]!
    logits[last] = logits[0]!
    ids[last] = ids[0]!
    sift(logits, ids, 0, last, logit, id)
  }
  return size
}

function isAllowed(mask: Uint32Array, id: number): boolean {
  return ((mask[id >>> 5]! >>> (id & 31)) & 1) === 1
}

/** The last index after `i` before which nothing exceeds `floor`; eight comparisons a turn. */
function skipSmall(source: Float32Array, i: number, length: number, floor: number): number {
  let at = i + 1
  for (; at + 8 <= length; at += 8) {
    if (
      source[at]! > floor ||
      source[at + 1]! > floor ||
      source[at + 2]! > floor ||
      source[at + 3]! > floor ||
      source[at + 4]! > floor ||
      source[at + 5]! > floor ||
      source[at + 6]! > floor ||
      source[at + 7]! > floor
    ) {
      break
    }
  }
  while (at < length && !(source[at]! > floor)) at++
  return at - 1
}

/** Puts an entry into the heap [count] at `top`, whose old entry is dropped. */
function sift(
  logits: Float32Array,
  ids: Int32Array,
  top: number,
  count: number,
  logit: number,
  id: number,
): void {
  let hole = top
  for (let child = 2 * hole + 2; child <= count; child = 2 * hole + 2) {
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

const digitBits = 11
const digitCount = 1 << digitBits

/** A stable radix sort with memory of its own, grown to the largest input and kept. */
export class RadixOrder {
  #keys = new Uint32Array(0)
  #order = new Uint32Array(0)
  #spare = new Uint32Array(0)
  readonly #histogram = new Uint32Array(digitCount)

  /** The indices of `values` [size], largest value first, equal values in index order. */
  descending(values: Float32Array, size: number): Uint32Array {
    const keys = this.#makeKeys(values, size, true)
    return size <= 48 ? this.#byInsertion(keys, size) : this.#byDigits(keys, size)
  }

  /** The same, smallest value first. */
  ascending(values: Float32Array, size: number): Uint32Array {
    return this.#byDigits(this.#makeKeys(values, size, false), size)
  }

  /** A value that at least `count` of `values` reach, and few more: for dropping the others. */
  threshold(values: Float32Array, size: number, count: number): number {
    const keys = this.#makeKeys(values, size, true)
    const histogram = this.#histogram
    const shift = 32 - digitBits
    histogram.fill(0)
    for (let i = 0; i < size; i++) histogram[keys[i]! >>> shift]!++
    let digit = 0
    for (let seen = histogram[0]!; seen < count; seen += histogram[digit]!) digit++
    const last = ((digit + 1) << shift) - 1
    return valueOfKey(last >>> 0)
  }

  /** Unsigned keys that ascend as the values descend (or ascend). */
  #makeKeys(values: Float32Array, size: number, descending: boolean): Uint32Array {
    if (this.#keys.length < size) {
      this.#keys = new Uint32Array(size)
      this.#order = new Uint32Array(size)
      this.#spare = new Uint32Array(size)
    }
    const keys = this.#keys
    const flip = descending ? -1 : 0
    for (let i = 0; i < size; i++) {
      word.value[0] = values[i]! + 0 // -0 becomes 0
      const bits = word.bits[0]!
      keys[i] = bits ^ ((bits >> 31) | 0x80000000) ^ flip
    }
    return keys
  }

  #byInsertion(keys: Uint32Array, size: number): Uint32Array {
    const order = this.#order
    for (let i = 0; i < size; i++) {
      const key = keys[i]!
      let at = i
      for (; at > 0 && keys[order[at - 1]!]! > key; at--) order[at] = order[at - 1]!
      order[at] = i
    }
    return order
  }

  #byDigits(keys: Uint32Array, size: number): Uint32Array {
    const histogram = this.#histogram
    let from = this.#order
    let to = this.#spare
    for (let i = 0; i < size; i++) from[i] = i
    for (let shift = 0; shift < 32; shift += digitBits) {
      histogram.fill(0)
      for (let i = 0; i < size; i++) histogram[(keys[i]! >>> shift) & (digitCount - 1)]!++
      let start = 0
      for (let digit = 0; digit < digitCount; digit++) {
        const count = histogram[digit]!
        histogram[digit] = start
        start += count
      }
      for (let i = 0; i < size; i++) {
        const entry = from[i]!
        to[histogram[(keys[entry]! >>> shift) & (digitCount - 1)]!++] = entry
      }
      const swap = from
      from = to
      to = swap
    }
    return from
  }
}

const wordBytes = new ArrayBuffer(4)
const word = { value: new Float32Array(wordBytes), bits: new Int32Array(wordBytes) }

function valueOfKey(descendingKey: number): number {
  const key = ~descendingKey
  word.bits[0] = key < 0 ? key ^ 0x80000000 : ~key
  return word.value[0]!
}
