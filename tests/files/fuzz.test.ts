// Damaged headers: whatever bytes a file holds, reading it ends soon, in a Gguf or a GgufError, and
// never asks for much more memory than the file has bytes.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Random } from '../../bench/random_blocks.ts'
import { GgufError } from '../../src/errors/index.ts'
import type { SyncByteSource } from '../../src/files/byte_source.ts'
import { Gguf } from '../../src/files/gguf.ts'
import { parseHeader } from '../../src/files/gguf_parse.ts'
import { ggufTensorTypes } from '../../src/files/index.ts'
import { runNow } from '../../src/files/slices.ts'
import { sample } from '../tier.ts'
import { hostileFiles } from './hostile_files.ts'
import { raw } from './raw_gguf.ts'

// One file with everything that the format has; the other seeds are the files of the table.
const rich = raw()
  .header(4, 7)
  .key('general.alignment', 4)
  .u32(64)
  .key('general.architecture', 8)
  .string('llama')
  .key('tokenizer.ggml.tokens', 9)
  .u32(8)
  .u64(4)
  .string('<s>')
  .string('a')
  .string('')
  .string('é')
  .key('tokenizer.ggml.scores', 9)
  .u32(6)
  .u64(2)
  .f32(0)
  .f32(-1)
  .key('flags', 9)
  .u32(7)
  .u64(2)
  .u8(1)
  .u8(0)
  .key('u64', 10)
  .u64(2n ** 64n - 1n)
  .key('split.count', 2)
  .raw(new Uint8Array([1, 0]))
  .tensor('a', [32, 2], 8, 0)
  .tensor('b', [256], 12, 128)
  .tensor('c', [], 0, 320)
  .tensor('d', [3, 2, 1, 1], 1, 384)
  .pad(64)
  .zeros(448)
  .bytes()
const seeds = [rich, rich, rich, ...hostileFiles.map(({ bytes }) => bytes())]

const notableNumbers = [0n, 1n, 4n, 13n, 31n, 255n, 65_536n].concat(
  [31n, 32n, 40n, 53n, 61n, 62n, 63n, 64n].flatMap((bits) => [2n ** bits - 1n, 2n ** bits]),
)

const pick = <T>(random: Random, list: readonly T[]): T => list[random.below(list.length)]!

/** One damage: a bit, a byte, a number, a cut, a piece left out, or a piece of another file. */
const mutate = (bytes: Uint8Array, random: Random): Uint8Array => {
  const at = random.below(bytes.length + 1)
  const head = bytes.subarray(0, at)
  const mutated = new Uint8Array(bytes)
  switch (random.below(7)) {
    case 0:
      if (at < bytes.length) mutated[at]! ^= 1 << random.below(8)
      return mutated
    case 1:
      if (at < bytes.length) mutated[at] = random.below(256)
      return mutated
    case 2:
      if (at + 8 > bytes.length) return mutated
      new DataView(mutated.buffer).setBigUint64(at, pick(random, notableNumbers), true)
      return mutated
    case 3:
      if (at + 4 > bytes.length) return mutated
      new DataView(mutated.buffer).setUint32(
        at,
        Number(pick(random, notableNumbers) % 2n ** 32n),
        true,
      )
      return mutated
    case 4:
      return new Uint8Array(head)
    case 5:
      return Buffer.concat([head, bytes.subarray(at + random.below(40))])
    default: {
      const other = pick(random, seeds)
      const start = random.below(other.length + 1)
      return Buffer.concat([
        head,
        other.subarray(start, start + random.below(80)),
        bytes.subarray(at),
      ])
    }
  }
}

// Allocations whose size is a number, in bytes; the largest since it was reset.
let largest = 0
const watched = ['ArrayBuffer', 'Uint8Array', 'Uint32Array'] as const
const originals = watched.map((name) => globalThis[name])

beforeAll(() => {
  for (const name of watched) {
    const original = globalThis[name]
    const elementBytes = 'BYTES_PER_ELEMENT' in original ? original.BYTES_PER_ELEMENT : 1
    globalThis[name] = new Proxy(original, {
      construct(target, args) {
        if (typeof args[0] === 'number') largest = Math.max(largest, args[0] * elementBytes)
        return Reflect.construct(target, args, target)
      },
    }) as never
  }
})
afterAll(() => {
  watched.forEach((name, index) => {
    globalThis[name] = originals[index] as never
  })
})

const sourceOf = (bytes: Uint8Array): SyncByteSource => ({
  name: 'fuzz',
  size: bytes.length,
  read: (offset, length) => bytes.subarray(offset, offset + length),
  [Symbol.dispose]: () => {},
})

/** Reads all that the file says. Gives the error if it is a GgufError; others are thrown. */
const readAll = (bytes: Uint8Array): GgufError | undefined => {
  const source = sourceOf(bytes)
  try {
    const gguf = new Gguf([{ header: runNow(parseHeader('fuzz', bytes.length), source), source }])
    for (const [, value] of gguf.metadata) {
      if (typeof value === 'object') for (const element of value) void element
    }
    checkTensors(gguf)
    gguf.checkData()
  } catch (error) {
    if (error instanceof GgufError) return error
    throw error
  }
  return undefined
}

const checkTensors = ({ tensors, alignment, dataOffset }: Gguf): void => {
  let end = dataOffset
  for (const { type, ne, offset, sizeBytes } of tensors.toSorted(
    (a, b) => a.offset - b.offset || a.sizeBytes - b.sizeBytes,
  )) {
    const { blockLength, blockBytes } = ggufTensorTypes[type]
    const count = ne.reduce((product, size) => product * size, 1)
    const isRight = sizeBytes === (count / blockLength) * blockBytes && offset >= end
    if (!isRight || (offset - dataOffset) % alignment !== 0) throw new Error('a tensor is wrong')
    end = offset + sizeBytes
  }
}

const caseCount = sample({ test: 2_000, ci: 100_000, full: 1_000_000 })

test(`${caseCount} damaged files end in a Gguf or a GgufError`, () => {
  const counts = { accepted: 0, rejected: 0 }
  let slowest = 0
  for (let index = 0; index < caseCount; index++) {
    // Each case by itself: `new Random(index)` repeats it.
    const random = new Random(index)
    let bytes: Uint8Array = pick(random, seeds)
    for (let damages = 1 + random.below(3); damages > 0; damages--) bytes = mutate(bytes, random)
    largest = 0
    const started = performance.now()
    let error: GgufError | undefined
    try {
      error = readAll(bytes)
    } catch (cause) {
      throw new Error(`case ${index}: ${cause}`, { cause })
    }
    slowest = Math.max(slowest, performance.now() - started)
    if (largest > bytes.length + 65_536)
      throw new Error(`case ${index}: ${largest} bytes asked for`)
    counts[error ? 'rejected' : 'accepted']++
  }
  // Both must be common, or the damage is of the wrong kind.
  expect(counts.accepted).toBeGreaterThan(caseCount / 50)
  expect(counts.rejected).toBeGreaterThan(caseCount / 4)
  expect(slowest).toBeLessThan(1000)
}, 3_600_000)

test('the files of the table ask for no more memory than they have bytes', () => {
  for (const { id, bytes } of hostileFiles) {
    const file = bytes()
    largest = 0
    readAll(file)
    expect([id, largest <= file.length]).toEqual([id, true])
  }
})
