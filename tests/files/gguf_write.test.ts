// Writing: what is written is read back exactly, and nothing else is ever seen at the path.
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { GgufError } from '../../src/errors/index.ts'
import {
  type GgufContents,
  GgufNumbers,
  GgufStrings,
  type GgufTensorInput,
  type GgufTensorType,
  type GgufValue,
  type GgufValueInput,
  ggufTensorTypes,
  openGguf,
  writeGguf,
} from '../../src/files/index.ts'
import { sample } from '../tier.ts'
import { raw } from './raw_gguf.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-write-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'out.gguf')

const tensorBytes = (of: string, name: string): Uint8Array => {
  const { offset, sizeBytes } = openGguf(of).tensorsByName.get(name)!
  return new Uint8Array(readFileSync(of).subarray(offset, offset + sizeBytes))
}

test('a file is byte for byte what the format says', async () => {
  const contents: GgufContents = {
    metadata: {
      'general.name': 'x',
      n: { type: 'u16', value: 7 },
      list: ['a', ''],
      floats: new Float32Array([0.5]),
      yes: true,
    },
    tensors: [
      { name: 'a', type: 'f32', shape: [1, 3], data: new Float32Array([1, 2, 3]) },
      { name: 'b', type: 'q8_0', shape: [32], data: new Uint8Array(34).fill(5) },
    ],
  }
  await writeGguf(path, contents)
  const expected = raw()
    .header(2, 5)
    .key('general.name', 8)
    .string('x')
    .key('n', 2)
    .raw(new Uint8Array([7, 0]))
    .key('list', 9)
    .u32(8)
    .u64(2)
    .string('a')
    .string('')
    .key('floats', 9)
    .u32(6)
    .u64(1)
    .f32(0.5)
    .key('yes', 7)
    .u8(1)
    .tensor('a', [3, 1], 0, 0)
    .tensor('b', [32], 8, 32)
    .pad()
    .f32(1)
    .f32(2)
    .f32(3)
    .pad()
    .raw(new Uint8Array(34).fill(5))
    .pad()
  expect(new Uint8Array(readFileSync(path))).toEqual(expected.bytes())
})

describe('round trips', () => {
  const int = (bits: number, signed: boolean) =>
    fc.bigInt(signed ? -(2n ** BigInt(bits - 1)) : 0n, 2n ** BigInt(signed ? bits - 1 : bits) - 1n)
  const scalars: Record<string, fc.Arbitrary<unknown>> = {
    u8: int(8, false).map(Number),
    i8: int(8, true).map(Number),
    u16: int(16, false).map(Number),
    i16: int(16, true).map(Number),
    u32: int(32, false).map(Number),
    i32: int(32, true).map(Number),
    u64: int(64, false),
    i64: int(64, true),
    f32: fc.float(),
    f64: fc.double(),
    bool: fc.boolean(),
    string: fc.string({ unit: 'grapheme' }),
  }
  const value = fc.oneof(
    ...Object.entries(scalars).flatMap(([type, arbitrary]) => [
      arbitrary.map((each) => ({ type, value: each })),
      fc.array(arbitrary, { maxLength: 5 }).map((values) => ({ type: 'array', of: type, values })),
    ]),
  ) as fc.Arbitrary<{ value?: unknown; values?: unknown[] }>
  const key = fc.string({ minLength: 1, maxLength: 20 })

  const types = Object.values(ggufTensorTypes)
  const tensor = fc
    .record({
      name: fc.string({ maxLength: 15 }),
      type: fc.constantFrom(...types),
      rows: fc.array(fc.nat(3), { maxLength: 3 }),
      blocks: fc.nat(2),
      seed: fc.nat(255),
    })
    .map(({ name, type, rows, blocks, seed }): GgufTensorInput & { data: Uint8Array } => {
      const count = rows.reduce((product, size) => product * size, blocks)
      const data = new Uint8Array(count * type.blockBytes).map((_, index) => seed + index)
      return { name, type: type.name, shape: [...rows, blocks * type.blockLength], data }
    })

  const plain = (read: GgufValue | undefined): unknown => {
    if (read instanceof GgufStrings || read instanceof GgufNumbers) return [...read]
    return read
  }

  test('any metadata and tensors come back', async () => {
    const names = (tensors: GgufTensorInput[]) => new Set(tensors.map(({ name }) => name))
    const contents = fc.record({
      metadata: fc.dictionary(key, value, { maxKeys: 6 }),
      tensors: fc
        .array(tensor, { maxLength: 5 })
        .filter((tensors) => names(tensors).size === tensors.length)
        .filter((tensors) => tensors.every(({ name }) => Buffer.byteLength(name) < 64)),
      alignment: fc.constantFrom(1, 8, 32, 64, 4096),
    })
    const claim = fc.asyncProperty(contents, async ({ metadata, tensors, alignment }) => {
      fc.pre(!('general.alignment' in metadata))
      await writeGguf(path, {
        metadata: metadata as Record<string, GgufValueInput>,
        tensors,
        alignment,
      })
      using gguf = openGguf(path)
      gguf.checkData()
      expect(gguf.alignment).toBe(alignment)
      expect(gguf.metadata.size).toBe(Object.keys(metadata).length + (alignment === 32 ? 0 : 1))
      for (const [name, { value: one, values }] of Object.entries(metadata)) {
        expect(plain(gguf.metadata.get(name))).toEqual(values ?? one)
      }
      expect(gguf.tensors.map(({ name }) => name)).toEqual(tensors.map(({ name }) => name))
      for (const { name, type, shape, data } of tensors) {
        expect(gguf.tensorsByName.get(name)).toMatchObject({ type, shape: [...shape] })
        expect(tensorBytes(path, name)).toEqual(data)
      }
    })
    await fc.assert(claim, { numRuns: sample({ test: 100, ci: 1000, full: 20_000 }) })
  })

  test('metadata of a file are repeated exactly, types and odd bytes too', async () => {
    const from = join(folder, 'from.gguf')
    const file = raw()
      .header(0, 4)
      .key('i16', 3)
      .raw(new Uint8Array([0xff, 0x7f]))
      .key('bytes', 8)
      .string(new Uint8Array([0xff, 0xfe]))
      .key('list', 9)
      .u32(8)
      .u64(2)
      .string(new Uint8Array([0xc3]))
      .string('é')
      .key('u64s', 9)
      .u32(10)
      .u64(1)
      .u64(2n ** 64n - 1n)
      .bytes()
    writeFileSync(from, file)
    await writeGguf(path, { metadata: openGguf(from).metadata })
    expect(new Uint8Array(readFileSync(path))).toEqual(file)
    const renamed = new Map<string, GgufValueInput>(openGguf(from).metadata.typedEntries())
    await writeGguf(path, { metadata: renamed.set('name', 'new') })
    expect(openGguf(path).metadata.get('name')).toBe('new')
  })
})

describe('data in pieces', () => {
  const one = (data: GgufTensorInput['data'], count = 6): GgufContents => ({
    metadata: {},
    tensors: [{ name: 't', type: 'i8', shape: [count], data }],
  })
  const expected = new Uint8Array([1, 2, 3, 4, 5, 6])

  test('arrays, generators, async generators and functions of them', async () => {
    const halves = [expected.subarray(0, 2), expected.subarray(2)]
    async function* later() {
      for (const half of halves) {
        await Bun.sleep(0)
        yield half
      }
    }
    const sources: GgufTensorInput['data'][] = [
      expected,
      new DataView(expected.buffer),
      halves,
      halves.values(),
      later(),
      () => expected,
      () => halves,
      later,
    ]
    for (const data of sources) {
      await writeGguf(path, one(data))
      expect(tensorBytes(path, 't')).toEqual(expected)
    }
  })

  test('one buffer may be used for every piece, whatever its size', async () => {
    for (const size of [1000, 2 ** 20, 3 * 2 ** 20]) {
      const count = 4
      function* pieces() {
        const buffer = new Uint8Array(size)
        for (let index = 0; index < count; index++) yield buffer.fill(index + 1)
      }
      await writeGguf(path, one(pieces, size * count))
      const bytes = tensorBytes(path, 't')
      for (let index = 0; index < count; index++) {
        const piece = bytes.subarray(index * size, (index + 1) * size)
        expect(piece.every((byte) => byte === index + 1)).toBe(true)
      }
    }
  })

  test('progress ends at the size of the file', async () => {
    const seen: { written: number; total: number }[] = []
    await writeGguf(path, one(expected), { onProgress: (progress) => seen.push(progress) })
    const total = readFileSync(path).length
    expect(seen.every((progress) => progress.total === total)).toBe(true)
    expect(seen.at(-1)!.written).toBeGreaterThan(total - 32)
    expect(seen.at(-1)!.written).toBeLessThanOrEqual(total)
  })

  const failing: [string, () => GgufTensorInput['data'], unknown][] = [
    ['too few bytes', () => [expected.subarray(1)], /needs 6 bytes, 5 were given/],
    ['too many bytes', () => [expected, expected], /needs 6 bytes, 12 were given/],
    ['too few at once', () => expected.subarray(1), /needs 6 bytes, 5 were given/],
    ['something else than bytes', () => ['abcdef'] as never, /typed arrays, not string/],
    ['nothing', () => undefined as never, /bytes, pieces or a function, not undefined/],
    [
      'an error of the caller',
      () => () => {
        throw new Error('mine')
      },
      /^mine$/,
    ],
  ]
  for (const [name, data, says] of failing) {
    test(`${name}: the old file stays and no other is left`, async () => {
      const kept = join(folder, 'kept')
      rmSync(kept, { recursive: true, force: true })
      await Bun.write(join(kept, 'old.gguf'), 'old')
      await expect(writeGguf(join(kept, 'old.gguf'), one(data()))).rejects.toThrow(says as RegExp)
      expect(readdirSync(kept)).toEqual(['old.gguf'])
      expect(readFileSync(join(kept, 'old.gguf'), 'utf8')).toBe('old')
    })
  }

  test('an abort rejects with its reason and leaves nothing', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    function* endless() {
      for (;;) {
        yield new Uint8Array(2 ** 20)
        controller.abort(reason)
      }
    }
    const target = join(folder, 'aborted.gguf')
    const writing = writeGguf(target, one(endless, 2 ** 40), { signal: controller.signal })
    await expect(writing).rejects.toBe(reason)
    expect(existsSync(target)).toBe(false)
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })
})

describe('contents that are not valid are refused before anything is written', () => {
  const metadata = (value: unknown, key = 'k'): GgufContents => ({
    metadata: { [key]: value as GgufValueInput },
  })
  const tensor = (parts: Partial<Record<keyof GgufTensorInput, unknown>>): GgufContents => ({
    metadata: {},
    tensors: [
      {
        name: 't',
        type: 'f32',
        shape: [1],
        data: new Float32Array(1),
        ...parts,
      } as GgufTensorInput,
    ],
  })
  const one = { name: 't', type: 'f32' as GgufTensorType, shape: [1], data: new Float32Array(1) }
  const cases: [string, GgufContents, typeof TypeError | typeof RangeError, RegExp][] = [
    ['a number without a type', metadata(5), TypeError, /k: a number needs a type/],
    ['an unknown type', metadata({ type: 'u128', value: 1 }), TypeError, /not a GGUF value/],
    ['null', metadata(null), TypeError, /not a GGUF value/],
    [
      'an integer out of range',
      metadata({ type: 'u8', value: 256 }),
      RangeError,
      /256.*u8, 0 to 255/,
    ],
    ['a negative u32', metadata({ type: 'u32', value: -1 }), RangeError, /-1 does not fit/],
    [
      'a fraction',
      metadata({ type: 'u32', value: 0.5 }),
      RangeError,
      /0.5 is not an exact integer/,
    ],
    ['2^53 as a number', metadata({ type: 'u64', value: 2 ** 53 }), RangeError, /are bigints/],
    ['2^64', metadata({ type: 'u64', value: 2n ** 64n }), RangeError, /does not fit a u64/],
    ['text as a number', metadata({ type: 'f32', value: '1' }), TypeError, /not the string "1"/],
    ['a number as a bool', metadata({ type: 'bool', value: 1 }), TypeError, /not a boolean/],
    ['numbers in a list of strings', metadata(['a', 1]), TypeError, /k: 1 is not a string/],
    [
      'an array of arrays',
      metadata({ type: 'array', of: 'array', values: [] }),
      TypeError,
      /not a/,
    ],
    ['an empty key', metadata('x', ''), RangeError, /1 to 65535 bytes, not 0/],
    ['alignment 13', { metadata: {}, alignment: 13 }, RangeError, /power of two/],
    ['alignment 0', { metadata: {}, alignment: 0 }, RangeError, /power of two/],
    ['alignment 0.5', { metadata: {}, alignment: 0.5 }, RangeError, /exact integer/],
    ['alignment as text', metadata('32', 'general.alignment'), TypeError, /must be a u32/],
    ['no metadata', {} as GgufContents, TypeError, /metadata are/],
    ['an unknown tensor type', tensor({ type: 'q9_9' }), TypeError, /"q9_9" is unknown/],
    ['a tensor type of Object', tensor({ type: 'toString' }), TypeError, /is unknown/],
    ['a long name', tensor({ name: 'é'.repeat(32) }), RangeError, /at most 63 bytes/],
    ['NUL in a name', tensor({ name: 'a\0' }), RangeError, /NUL/],
    ['five dimensions', tensor({ shape: [1, 1, 1, 1, 1] }), TypeError, /at most 4/],
    ['a negative size', tensor({ shape: [-1] }), RangeError, /-1 is not a size/],
    ['a fraction of a size', tensor({ shape: [1.5] }), RangeError, /1.5 is not a size/],
    ['too many values', tensor({ shape: [2 ** 40, 2 ** 40] }), RangeError, /not a valid shape/],
    ['half a block', tensor({ type: 'q8_0', shape: [31] }), RangeError, /multiple of 32 values/],
    ['two of a name', { metadata: {}, tensors: [one, one] }, RangeError, /two of this name/],
    [
      'two alignments',
      { metadata: { 'general.alignment': { type: 'u32', value: 64 } }, alignment: 128 },
      RangeError,
      /is 64, but alignment 128/,
    ],
    [
      'a key twice',
      {
        metadata: [
          ['a', 'x'],
          ['a', 'y'],
        ],
      },
      RangeError,
      /a: the key is there twice/,
    ],
  ]
  for (const [name, contents, errorClass, says] of cases) {
    test(name, async () => {
      const target = join(folder, 'refused.gguf')
      const error = await writeGguf(target, contents).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(errorClass)
      expect((error as Error).message).toMatch(says)
      expect(existsSync(target)).toBe(false)
    })
  }

  test('a folder that is not there is a GgufError with the reason', async () => {
    const writing = writeGguf(join(folder, 'no', 'where.gguf'), { metadata: {} })
    await expect(writing).rejects.toThrow(GgufError)
    await expect(writing).rejects.toThrow(/ENOENT/)
  })
})
