// A device that does what the KV cache asks for, beside a model that says what each sequence holds.
import { expect } from 'bun:test'
import { type Edit, KvCache, type KvRow } from '../../src/engine/kv_cache.ts'
import { ContextOverflowError } from '../../src/errors/index.ts'

interface Token {
  position: number
  id: number
}

export type Call =
  | { name: 'run' | 'abort'; rows: [sequence: number, gap: number][] }
  | { name: 'copy'; from: number; to: number; range: [p0: number, p1: number] }
  | { name: 'remove'; sequence: number; range: [p0: number, p1: number] }
  | { name: 'removeAll'; range: [p0: number, p1: number] }
  | { name: 'shift'; sequence: number; range: [p0: number, p1: number]; delta: number }

/** What a run or an edit before it left in memory that was never written for this use. */
const garbage = 999_999

export class SimulatedDevice {
  readonly cache: KvCache
  /** What keys and values would be: whose they are, and the position that keys are rotated to. */
  readonly #ids: Int32Array
  readonly #angles: Int32Array
  readonly #positions: Int32Array
  readonly #sequences: Token[][]
  #nextId = 0

  constructor(blockSize: number, blockCount: number, sequenceCount: number) {
    this.cache = new KvCache({ blockSize, blockCount, sequenceCount })
    const cells = blockSize * blockCount
    this.#ids = new Int32Array(cells).fill(garbage)
    this.#angles = new Int32Array(cells).fill(garbage)
    this.#positions = new Int32Array(cells).fill(garbage)
    this.#sequences = Array.from({ length: sequenceCount }, () => [])
  }

  apply(call: Call): void {
    if ('rows' in call) this.#run(call)
    else this.#change(call)
  }

  /** Follows every table, as attention does, and compares. */
  check(): void {
    const { cache } = this
    const { blockSize, blockCount } = cache
    const table = new Int32Array(this.#sequences.length * blockCount)
    cache.fillTable([...this.#sequences.keys()], table, blockCount)
    const blocks = new Set<number>()
    this.#sequences.forEach((tokens, sequence) => {
      const seen: Token[] = []
      for (let i = 0; i < cache.length(sequence); i++) {
        const block = table[sequence * blockCount + Math.floor(i / blockSize)]!
        blocks.add(block)
        const cell = block * blockSize + (i % blockSize)
        const position = this.#positions[cell]!
        expect(position).toBe(cache.positions[cell]!)
        if (position < 0) continue
        expect(this.#angles[cell]).toBe(position)
        seen.push({ position, id: this.#ids[cell]! })
      }
      expect(seen.sort(byPosition)).toEqual(tokens.toSorted(byPosition))
      expect(cache.tokenCount(sequence)).toBe(tokens.length)
      expect(cache.positionMax(sequence)).toBe(Math.max(-1, ...tokens.map((t) => t.position)))
    })
    expect(cache.usage().blocksUsed).toBe(blocks.size)
  }

  /** Adds rows; an aborted run has written every second of them. */
  #run({ name, rows }: Extract<Call, { rows: unknown }>): void {
    const highest = this.#sequences.map((_, sequence) => this.cache.positionMax(sequence))
    const list: KvRow[] = rows.map(([sequence, gap]) => {
      highest[sequence] = highest[sequence]! + gap
      return { sequence, position: Math.max(0, highest[sequence]!) }
    })
    const step = this.#attempt(() => this.cache.begin(list))
    if (step === undefined) {
      expect(this.#blocksWanted(list)).toBeGreaterThan(this.#blocksFree())
      return
    }
    this.#follow(step)
    for (const { sequence, position } of list) {
      expect(this.cache.positionMax(sequence)).toBeGreaterThanOrEqual(position)
    }
    const isAborted = name === 'abort'
    list.forEach(({ sequence, position }, i) => {
      if (isAborted && i % 2 === 1) return
      const cell = step.cells[i]!
      const id = this.#nextId++
      this.#ids[cell] = id
      this.#angles[cell] = position
      this.#positions[cell] = position
      if (!isAborted) this.#sequences[sequence]!.push({ position, id })
    })
    if (isAborted) this.#follow(step.rollback())
    else step.commit()
  }

  /** New blocks that rows need when nothing else has room for them. */
  #blocksWanted(rows: KvRow[]): number {
    const counts = this.#sequences.map((_, s) => rows.filter((row) => row.sequence === s).length)
    return counts.reduce((sum, count) => sum + Math.ceil(count / this.cache.blockSize), 0)
  }

  #blocksFree(): number {
    const { blocksTotal, blocksUsed } = this.cache.usage()
    return blocksTotal - blocksUsed
  }

  #change(call: Exclude<Call, { rows: unknown }>): void {
    const { cache } = this
    const [p0, p1] = call.range
    const edit = this.#attempt(() => {
      if (call.name === 'copy') return cache.copy(call.from, call.to, p0, p1)
      if (call.name === 'remove') return cache.remove(call.sequence, p0, p1)
      if (call.name === 'removeAll') return cache.remove(-1, p0, p1)
      return cache.shift(call.sequence, p0, p1, call.delta)
    })
    if (edit === undefined) return
    const isWithin = ({ position }: Token) => position >= p0 && (p1 < 0 || position < p1)
    const isOutside = (token: Token) => !isWithin(token)
    const sequences = this.#sequences
    const edited = (sequence: number, change: (tokens: Token[]) => Token[]) => {
      sequences[sequence] = change(sequences[sequence]!)
    }
    if (call.name === 'copy' && call.from !== call.to) {
      edited(call.to, (own) => [
        ...own.filter(isOutside),
        ...sequences[call.from]!.filter(isWithin),
      ])
    } else if (call.name === 'remove') {
      edited(call.sequence, (own) => own.filter(isOutside))
    } else if (call.name === 'removeAll') {
      for (const sequence of sequences.keys()) edited(sequence, (own) => own.filter(isOutside))
    } else if (call.name === 'shift') {
      edited(call.sequence, (own) =>
        own
          .map((t) => (isWithin(t) ? { ...t, position: t.position + call.delta } : t))
          .filter(({ position }) => position >= 0),
      )
    }
    this.#follow(edit)
  }

  /** Undefined when the cache is full, which must be true. */
  #attempt<T>(call: () => T): T | undefined {
    try {
      return call()
    } catch (error) {
      if (!(error instanceof ContextOverflowError)) throw error
      expect(error.available).toBeLessThan(error.needed)
      return undefined
    }
  }

  #follow({ copies, positions, rotations }: Edit): void {
    for (const { from, to, count } of copies) {
      this.#ids.copyWithin(to, from, from + count)
      this.#angles.copyWithin(to, from, from + count)
    }
    for (const { cell, delta } of rotations) this.#angles[cell] = this.#angles[cell]! + delta
    expect(new Set(positions.map(({ cell }) => cell)).size).toBe(positions.length)
    for (const { cell, position } of positions) this.#positions[cell] = position
  }
}

const byPosition = (a: Token, b: Token): number => a.position - b.position || a.id - b.id
