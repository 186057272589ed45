// The KV cache's bookkeeping, against a model that keeps lists and a device that has garbage in it.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Edit, KvCache, type KvRow, type Step } from '../../src/engine/kv_cache.ts'
import { ContextOverflowError } from '../../src/errors/index.ts'
import { sample } from '../tier.ts'
import { type Call, SimulatedDevice } from './simulated_device.ts'

const rowsOf = (sequence: number, from: number, count: number): KvRow[] =>
  Array.from({ length: count }, (_, i) => ({ sequence, position: from + i }))

const committed = (cache: KvCache, rows: KvRow[]): Int32Array => {
  const step = cache.begin(rows)
  step.commit()
  return step.cells.slice()
}

const noWork: Edit = { copies: [], positions: [], rotations: [] }
const shown = ({ copies, positions, rotations }: Edit): Edit => ({ copies, positions, rotations })

const tableOf = (cache: KvCache, sequence: number): number[] => {
  const count = Math.ceil(cache.length(sequence) / cache.blockSize)
  const table = new Int32Array(count)
  cache.fillTable([sequence], table, count)
  return [...table]
}

describe('rows', () => {
  test('a sequence fills its blocks in order', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 4, sequenceCount: 2 })
    expect([...committed(cache, rowsOf(0, 0, 3))]).toEqual([0, 1, 2])
    expect([...committed(cache, rowsOf(1, 0, 1))]).toEqual([4])
    expect([...committed(cache, rowsOf(0, 3, 2))]).toEqual([3, 8])
    expect(cache.length(0)).toBe(5)
    expect(tableOf(cache, 0)).toEqual([0, 2])
    expect(cache.positionMax(0)).toBe(4)
    expect(cache.tokenCount(0)).toBe(5)
    expect(cache.usage()).toEqual({ blocksUsed: 3, blocksTotal: 4 })
  })

  test('a block has 32 cells unless said otherwise', () => {
    const cache = new KvCache({ blockCount: 2, sequenceCount: 1 })
    committed(cache, rowsOf(0, 0, 33))
    expect(cache.usage().blocksUsed).toBe(2)
  })

  test('positions are data: any order, with gaps and doubles', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 1, sequenceCount: 1 })
    const positions = [7, 7, 2 ** 31 - 1, 0]
    const rows = positions.map((position) => ({ sequence: 0, position }))
    const cells = committed(cache, rows)
    expect([...cells].map((cell) => cache.positions[cell])).toEqual(positions)
    expect(cache.positionMax(0)).toBe(2 ** 31 - 1)
  })

  test('a step without room says how many rows were wanted and fit, and changes nothing', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 2, sequenceCount: 2 })
    committed(cache, rowsOf(0, 0, 3))
    const rows = [...rowsOf(0, 3, 2), ...rowsOf(1, 0, 9)]
    const error = thrownBy(() => cache.begin(rows)) as ContextOverflowError
    expect(error).toBeInstanceOf(ContextOverflowError)
    expect([error.needed, error.available]).toEqual([11, 2])
    expect(cache.length(0)).toBe(3)
    expect(cache.length(1)).toBe(0)
    expect(cache.usage().blocksUsed).toBe(1)
    expect([...committed(cache, rowsOf(0, 3, 5))]).toEqual([3, 4, 5, 6, 7])
  })

  test('the last cell can be filled', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 2, sequenceCount: 1 })
    committed(cache, rowsOf(0, 0, 8))
    expect(() => cache.begin(rowsOf(0, 8, 1))).toThrow(ContextOverflowError)
  })

  test('what a rolled back step took is free again', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 2, sequenceCount: 2 })
    committed(cache, rowsOf(0, 0, 2))
    const step = cache.begin([...rowsOf(0, 2, 3), ...rowsOf(0, 9, 1)])
    expect(cache.length(0)).toBe(6)
    expect(cache.positionMax(0)).toBe(9)
    expect(shown(step.rollback())).toEqual(noWork)
    expect(cache.length(0)).toBe(2)
    expect(cache.positionMax(0)).toBe(1)
    expect(cache.usage().blocksUsed).toBe(1)
    expect([...committed(cache, rowsOf(1, 0, 4))]).toEqual([4, 5, 6, 7])
  })

  test('a rolled back row in a hole is emptied on the device', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 1, sequenceCount: 1 })
    committed(cache, rowsOf(0, 0, 4))
    cache.remove(0, 1, 2)
    const step = cache.begin(rowsOf(0, 4, 1))
    expect([...step.cells]).toEqual([1])
    expect(shown(step.rollback())).toEqual({ ...noWork, positions: [{ cell: 1, position: -1 }] })
  })

  test('the highest position forgets rows that were taken back', () => {
    const cache = new KvCache({ blockCount: 2, sequenceCount: 1 })
    committed(cache, rowsOf(0, 0, 4))
    cache.remove(0, 3)
    const step = cache.begin(rowsOf(0, 9, 1))
    expect(cache.positionMax(0)).toBe(9)
    step.rollback()
    expect(cache.positionMax(0)).toBe(2)
  })

  test('no step begins, and nothing is edited, while one is open', () => {
    const cache = new KvCache({ blockCount: 2, sequenceCount: 1 })
    const step = cache.begin(rowsOf(0, 0, 1))
    expect(() => cache.begin(rowsOf(0, 1, 1))).toThrow('neither committed nor rolled back')
    expect(() => cache.clear()).toThrow('neither committed nor rolled back')
    step.commit()
    expect(() => step.commit()).toThrow('before')
    expect(() => step.rollback()).toThrow('before')
  })

  test('steps of one row reuse the object, its lists and its arrays', () => {
    const cache = new KvCache({ blockCount: 4, sequenceCount: 1 })
    const row = { sequence: 0, position: 0 }
    const rows = [row]
    let first: Step | undefined
    let cells: Int32Array | undefined
    for (; row.position < 128; row.position++) {
      const step = cache.begin(rows)
      first ??= step
      cells ??= step.cells
      expect(step).toBe(first)
      expect(step.cells).toBe(cells)
      expect(step.copies).toBe(first.copies)
      step.commit()
    }
  })
})

describe('copies', () => {
  test('a fork shares its blocks, and copies the last one when it writes', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 4, sequenceCount: 2 })
    committed(cache, rowsOf(0, 0, 6))
    expect(shown(cache.fork(0, 1))).toEqual(noWork)
    expect(cache.usage().blocksUsed).toBe(2)
    const step = cache.begin(rowsOf(1, 6, 1))
    expect(step.copies).toEqual([{ from: 4, to: 8, count: 2 }])
    expect(step.positions).toEqual([
      { cell: 8, position: 4 },
      { cell: 9, position: 5 },
    ])
    expect([...step.cells]).toEqual([10])
    step.commit()
    expect(tableOf(cache, 0)).toEqual([0, 1])
    expect(tableOf(cache, 1)).toEqual([0, 2])
    // The other is the only one left and writes in place.
    expect(cache.begin(rowsOf(0, 6, 1)).copies).toEqual([])
  })

  test('of two forks that go on in one step, one copies', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 2, sequenceCount: 2 })
    committed(cache, rowsOf(0, 0, 2))
    cache.fork(0, 1)
    const step = cache.begin([...rowsOf(0, 2, 1), ...rowsOf(1, 2, 1)])
    expect(step.copies).toHaveLength(1)
    step.commit()
    expect(tableOf(cache, 0)).not.toEqual(tableOf(cache, 1))
  })

  test('a cut block is copied from, whole ones are shared', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 4, sequenceCount: 3 })
    committed(cache, rowsOf(0, 0, 8))
    const edit = cache.copy(0, 2, 0, 6)
    expect(edit.copies).toEqual([{ from: 4, to: 8, count: 2 }])
    expect(tableOf(cache, 2)).toEqual([0, 2])
    expect(cache.length(2)).toBe(6)
    expect(cache.usage().blocksUsed).toBe(3)
  })

  test('copying again changes nothing', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 4, sequenceCount: 2 })
    committed(cache, rowsOf(0, 0, 6))
    cache.copy(0, 1)
    cache.copy(0, 1)
    expect(tableOf(cache, 1)).toEqual([0, 1])
    expect(shown(cache.copy(0, 0))).toEqual(noWork)
  })

  test('a copy for which there is no block leaves everything as it was', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 2, sequenceCount: 2 })
    committed(cache, rowsOf(0, 0, 8))
    expect(() => cache.copy(0, 1, 0, 6)).toThrow(ContextOverflowError)
    expect(cache.length(1)).toBe(0)
    expect(cache.tokenCount(0)).toBe(8)
  })
})

describe('removing and shifting', () => {
  test('a removed end is reused, with a block that became empty', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 3, sequenceCount: 1 })
    committed(cache, rowsOf(0, 0, 10))
    const edit = cache.remove(0, 3, -1)
    expect(edit.positions).toEqual([{ cell: 3, position: -1 }])
    expect(cache.length(0)).toBe(3)
    expect(cache.positionMax(0)).toBe(2)
    expect(cache.usage().blocksUsed).toBe(1)
    expect([...committed(cache, rowsOf(0, 3, 1))]).toEqual([3])
  })

  test('a full sequence goes on in the holes that shifting leaves', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 2, sequenceCount: 1 })
    committed(cache, rowsOf(0, 0, 8))
    cache.remove(0, 1, 6)
    const edit = cache.shift(0, 6, -1, -5)
    expect(edit.rotations).toEqual([
      { cell: 6, delta: -5 },
      { cell: 7, delta: -5 },
    ])
    expect(cache.positionMax(0)).toBe(2)
    committed(cache, rowsOf(0, 3, 5))
    expect(cache.tokenCount(0)).toBe(8)
    expect(() => cache.begin(rowsOf(0, 8, 1))).toThrow(ContextOverflowError)
  })

  test('a shared block is made private before it is shifted', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 2, sequenceCount: 2 })
    committed(cache, rowsOf(0, 0, 3))
    cache.fork(0, 1)
    const edit = cache.shift(1, 1, -1, 10)
    expect(edit.copies).toEqual([{ from: 0, to: 4, count: 3 }])
    expect(edit.positions).toEqual([
      { cell: 4, position: 0 },
      { cell: 5, position: 11 },
      { cell: 6, position: 12 },
    ])
    expect(cache.positionMax(0)).toBe(2)
    expect(cache.positionMax(1)).toBe(12)
  })

  test('tokens that are shifted below 0 are gone', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 2, sequenceCount: 1 })
    committed(cache, rowsOf(0, 0, 6))
    cache.shift(0, 0, -1, -5)
    expect(cache.tokenCount(0)).toBe(1)
    expect(cache.positionMax(0)).toBe(0)
    expect(cache.usage().blocksUsed).toBe(1)
  })

  test('a negative sequence is all of them, and clear leaves no block in use', () => {
    const cache = new KvCache({ blockSize: 4, blockCount: 4, sequenceCount: 3 })
    committed(cache, rowsOf(0, 0, 6))
    cache.fork(0, 1)
    committed(cache, rowsOf(2, 0, 2))
    const edit = cache.remove(-1, 1, 5)
    expect(edit.copies).toEqual([])
    expect([0, 1, 2].map((sequence) => cache.tokenCount(sequence))).toEqual([2, 2, 1])
    expect(shown(cache.clear())).toEqual(noWork)
    expect(cache.usage().blocksUsed).toBe(0)
    expect(cache.positionMax(0)).toBe(-1)
  })
})

test('bad sequences, positions and sizes are RangeErrors', () => {
  const cache = new KvCache({ blockSize: 4, blockCount: 2, sequenceCount: 2 })
  const bad = [
    () => cache.begin([{ sequence: 2, position: 0 }]),
    () => cache.begin([{ sequence: 0, position: -1 }]),
    () => cache.begin([{ sequence: 0, position: 2 ** 31 }]),
    () => cache.begin([{ sequence: 0, position: 0.5 }]),
    () => cache.copy(0, 2),
    () => cache.copy(-1, 0),
    () => cache.remove(5),
    () => cache.remove(0, Number.NaN),
    () => cache.shift(-1, 0, -1, 1),
    () => cache.shift(0, 0, -1, 0.5),
    () => cache.length(2),
    () => new KvCache({ blockCount: 0, sequenceCount: 1 }),
    () => new KvCache({ blockCount: 2 ** 31, sequenceCount: 1 }),
  ]
  for (const call of bad) expect(call, String(call)).toThrow(RangeError)
  committed(cache, [{ sequence: 0, position: 2 ** 31 - 2 }])
  expect(() => cache.shift(0, 0, -1, 2)).toThrow('does not fit 31 bits')
  committed(cache, rowsOf(0, 0, 4))
  expect(() => cache.fillTable([0], new Int32Array(1), 1)).toThrow('the table holds 1')
  expect(() => cache.fillTable([0, 1], new Int32Array(3), 2)).toThrow('in a table of 3')
})

describe('any order of calls', () => {
  const sequence = fc.nat({ max: 2 })
  const rows = fc.array(fc.tuple(sequence, fc.nat({ max: 2 })), { maxLength: 12 })
  const range = fc
    .tuple(fc.integer({ min: -1, max: 16 }), fc.integer({ min: -1, max: 8 }))
    .map(([p0, size]): [number, number] => [p0, size < 0 ? -1 : p0 + size])
  const delta = fc.integer({ min: -12, max: 12 })
  const name = <N extends string>(value: N) => fc.constant(value)
  const call: fc.Arbitrary<Call> = fc.oneof(
    { weight: 6, arbitrary: fc.record({ name: name('run'), rows }) },
    { weight: 3, arbitrary: fc.record({ name: name('abort'), rows }) },
    {
      weight: 3,
      arbitrary: fc.record({ name: name('copy'), from: sequence, to: sequence, range }),
    },
    { weight: 4, arbitrary: fc.record({ name: name('remove'), sequence, range }) },
    { weight: 1, arbitrary: fc.record({ name: name('removeAll'), range }) },
    { weight: 2, arbitrary: fc.record({ name: name('shift'), sequence, range, delta }) },
  )
  const shape = fc.record({
    blockSize: fc.constantFrom(1, 2, 3, 4, 5, 8),
    blockCount: fc.integer({ min: 2, max: 10 }),
  })

  test('what a device sees is what a list of tokens for each sequence holds', () => {
    fc.assert(
      fc.property(
        shape,
        fc.array(call, { minLength: 10, maxLength: 50 }),
        ({ blockSize, blockCount }, calls) => {
          const device = new SimulatedDevice(blockSize, blockCount, 3)
          for (const each of calls) {
            device.apply(each)
            device.check()
          }
          device.cache.clear()
          expect(device.cache.usage().blocksUsed).toBe(0)
        },
      ),
      { numRuns: sample({ test: 1_000, ci: 10_000, full: 500_000 }) },
    )
  }, 1_200_000)
})

function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return undefined
}
