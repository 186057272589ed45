// Strings of a render: each knows which of its characters came from the caller, and so must never
// become special tokens. All operations are made of `slice` and `Builder`, which keep that up.

/** Untrusted ranges as [start, end, start, end, …]: UTF-16 units, ascending, apart. */
export type Marks = readonly number[]

const noMarks: Marks = []
const surrogate = /[\ud800-\udfff]/

/** An immutable string with the provenance of its characters; lengths count code points. */
export class Text {
  readonly value: string
  readonly marks: Marks
  /** Python's `Markup`: joining it with plain text escapes the plain text. */
  readonly safe: boolean
  /** UTF-16 offset of each code point, made when a string with surrogate pairs is indexed. */
  #offsets: Int32Array | undefined

  constructor(value: string, marks: Marks = noMarks, safe = false) {
    this.value = value
    this.marks = marks
    this.safe = safe
  }

  /** Length in code points, as Python counts. */
  get length(): number {
    const offsets = this.#table()
    return offsets ? offsets.length - 1 : this.value.length
  }

  /** UTF-16 offset of code point `index`, which may be the length. */
  offset(index: number): number {
    const offsets = this.#table()
    return offsets ? offsets[index]! : index
  }

  /** Code point index of a UTF-16 offset. */
  index(offset: number): number {
    const offsets = this.#table()
    if (!offsets) return offset
    let low = 0
    let high = offsets.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (offsets[middle]! < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The characters from `start` to `end`, both UTF-16 offsets within the string. */
  slice(start: number, end: number = this.value.length): Text {
    if (start === 0 && end === this.value.length) return this
    if (start >= end) return new Text('', noMarks, this.safe)
    const value = this.value.slice(start, end)
    if (this.marks.length === 0) return new Text(value, noMarks, this.safe)
    const marks: number[] = []
    for (let i = 0; i < this.marks.length; i += 2) {
      const from = Math.max(this.marks[i]!, start)
      const to = Math.min(this.marks[i + 1]!, end)
      if (from < to) marks.push(from - start, to - start)
    }
    return new Text(value, marks, this.safe)
  }

  /** The code points as strings of one code point each. */
  *characters(): Generator<Text> {
    for (let i = 0; i < this.length; i++) yield this.slice(this.offset(i), this.offset(i + 1))
  }

  /** Maps each run of equal provenance; `map` must treat characters independently. */
  mapRuns(map: (run: string) => string): Text {
    if (this.marks.length === 0) return new Text(map(this.value), noMarks, this.safe)
    const builder = new Builder()
    let end = 0
    for (let i = 0; i < this.marks.length; i += 2) {
      builder.push(map(this.value.slice(end, this.marks[i]!)), false)
      end = this.marks[i + 1]!
      builder.push(map(this.value.slice(this.marks[i]!, end)), true)
    }
    builder.push(map(this.value.slice(end)), false)
    return builder.build(this.safe)
  }

  withSafe(safe: boolean): Text {
    return safe === this.safe ? this : new Text(this.value, this.marks, safe)
  }

  #table(): Int32Array | undefined {
    if (this.#offsets === undefined && surrogate.test(this.value)) {
      const offsets: number[] = []
      let offset = 0
      for (const character of this.value) {
        offsets.push(offset)
        offset += character.length
      }
      offsets.push(offset)
      this.#offsets = Int32Array.from(offsets)
    }
    return this.#offsets
  }
}

/** Text that the template itself wrote. */
export function trustedText(value: string): Text {
  return new Text(value)
}

/** Text that the caller passed in. */
export function untrustedText(value: string): Text {
  return new Text(value, value === '' ? noMarks : [0, value.length])
}

/** Appends strings, joining their marks. */
export class Builder {
  readonly #parts: string[] = []
  readonly #marks: number[] = []
  #length = 0

  /** UTF-16 units so far. */
  get length(): number {
    return this.#length
  }

  push(value: string, untrusted: boolean): void {
    if (value === '') return
    if (untrusted) this.#mark(this.#length, this.#length + value.length)
    this.#parts.push(value)
    this.#length += value.length
  }

  add(text: Text): void {
    if (text.value === '') return
    for (let i = 0; i < text.marks.length; i += 2) {
      this.#mark(this.#length + text.marks[i]!, this.#length + text.marks[i + 1]!)
    }
    this.#parts.push(text.value)
    this.#length += text.value.length
  }

  build(safe = false): Text {
    return new Text(this.#parts.join(''), this.#marks, safe)
  }

  #mark(start: number, end: number): void {
    const last = this.#marks.length - 1
    if (last > 0 && this.#marks[last] === start) this.#marks[last] = end
    else this.#marks.push(start, end)
  }
}

export function concat(texts: Iterable<Text>, safe = false): Text {
  const builder = new Builder()
  for (const text of texts) builder.add(text)
  return builder.build(safe)
}
