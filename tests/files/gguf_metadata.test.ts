// Metadata: every type is read exactly, and getters say what is wrong with a key.
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DisposedError, GgufError } from '../../src/errors/index.ts'
import { GgufNumbers, GgufStrings, openGguf } from '../../src/files/index.ts'
import { raw } from './raw_gguf.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-metadata-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'types.gguf')

const bits = (count: number): Uint8Array => new Uint8Array(count).fill(0xff)
writeFileSync(
  path,
  raw()
    .header(0, 18)
    .key('u8', 0)
    .raw(bits(1))
    .key('i8', 1)
    .raw(bits(1))
    .key('u16', 2)
    .raw(bits(2))
    .key('i16', 3)
    .raw(bits(2))
    .key('u32', 4)
    .raw(bits(4))
    .key('i32', 5)
    .raw(bits(4))
    .key('f32', 6)
    .f32(1.5)
    .key('bool', 7)
    .u8(0)
    .key('string', 8)
    .string('héllo')
    .key('u64', 10)
    .raw(bits(8))
    .key('i64', 11)
    .raw(bits(8))
    .key('f64', 12)
    .raw(new Uint8Array(new Float64Array([Math.PI]).buffer))
    .key('nan', 6)
    .raw(bits(4))
    .key('strings', 9)
    .u32(8)
    .u64(3)
    .string('')
    .string('ab')
    .string(new Uint8Array([0xc3]))
    .key('odd', 0)
    .u8(4)
    .key('floats', 9)
    .u32(6)
    .u64(2)
    .f32(0.5)
    .f32(-1)
    .key('bools', 9)
    .u32(7)
    .u64(3)
    .raw(new Uint8Array([0, 1, 9]))
    .key('u64s', 9)
    .u32(10)
    .u64(2)
    .raw(bits(8))
    .u64(7)
    .bytes(),
)
const { metadata } = openGguf(path)

test('scalars of all types come back exactly; 64-bit integers are bigints', () => {
  const expected: Record<string, unknown> = {
    u8: 255,
    i8: -1,
    u16: 65_535,
    i16: -1,
    u32: 4_294_967_295,
    i32: -1,
    f32: 1.5,
    bool: false,
    string: 'héllo',
    u64: 18446744073709551615n,
    i64: -1n,
    f64: Math.PI,
    nan: Number.NaN,
  }
  for (const key of Object.keys(expected)) {
    expect<unknown>(metadata.get(key)).toEqual(expected[key])
  }
})

test('it is a read-only map in the order of the file', () => {
  expect(metadata.size).toBe(18)
  expect([...metadata.keys()].slice(0, 3)).toEqual(['u8', 'i8', 'u16'])
  expect(metadata.has('u8') && !metadata.has('u9')).toBe(true)
  expect(metadata.get('u9')).toBeUndefined()
  expect([...metadata].length).toBe(18)
  const seen: string[] = []
  metadata.forEach((value, key) => {
    if (value === -1) seen.push(key)
  })
  expect(seen).toEqual(['i8', 'i16', 'i32'])
})

test('arrays of numbers are copied, whatever their place in the header', () => {
  const floats = metadata.numbers('floats')
  expect(floats.toTypedArray()).toEqual(new Float32Array([0.5, -1]))
  floats.toTypedArray()[0] = 9
  expect([...floats]).toEqual([0.5, -1])
  expect(metadata.numbers('bools').toTypedArray()).toEqual(new Uint8Array([0, 1, 1]))
  expect([...metadata.numbers('bools')]).toEqual([false, true, true])
  expect([...metadata.numbers('u64s')]).toEqual([18446744073709551615n, 7n])
  expect(metadata.get('floats')).toBeInstanceOf(GgufNumbers)
})

test('arrays of strings decode one at a time and keep bytes that are no UTF-8', () => {
  const strings = metadata.strings('strings', { length: 3 })
  expect(strings).toBeInstanceOf(GgufStrings)
  expect([...strings]).toEqual(['', 'ab', '\ufffd'])
  expect(strings.bytes(2)).toEqual(new Uint8Array([0xc3]))
  strings.bytes(1)[0] = 0
  expect(strings.text(1)).toBe('ab')
  for (const index of [-1, 3, 0.5, Number.NaN]) {
    expect(() => strings.text(index)).toThrow(RangeError)
    expect(() => strings.bytes(index)).toThrow(RangeError)
  }
})

test('getters give the value, or the fallback for a missing key', () => {
  expect(metadata.integer('u32', { min: 0, max: 2 ** 32 })).toBe(4_294_967_295)
  expect(metadata.integer('i64')).toBe(-1)
  expect(metadata.number('f32')).toBe(1.5)
  expect(metadata.number('u8')).toBe(255)
  expect(metadata.string('string')).toBe('héllo')
  expect(metadata.boolean('bool')).toBe(false)
  expect(metadata.numberEach('odd', 3)).toEqual([4, 4, 4])
  expect(metadata.numberEach('floats', 2)).toEqual([0.5, -1])
  expect(metadata.numberEach('bools', 3)).toEqual([0, 1, 1])
  expect(metadata.integer('none', { fallback: 7 })).toBe(7)
  expect(metadata.string('none', { fallback: undefined })).toBeUndefined()
  expect(metadata.numberEach('none', 2, { fallback: null })).toBeNull()
})

const complaints: [string, () => unknown, RegExp, unknown][] = [
  ['a missing key', () => metadata.integer('none'), /key 'none'.*missing/, undefined],
  [
    'an integer below the minimum',
    () => metadata.integer('i8', { min: 0 }),
    /-1 is less than 0/,
    -1,
  ],
  [
    'an integer above the maximum',
    () => metadata.integer('u8', { max: 9 }),
    /255 is more than 9/,
    255,
  ],
  ['an integer beyond 2^53', () => metadata.integer('u64'), /beyond 2\^53/, 18446744073709551615n],
  ['a float for an integer', () => metadata.integer('f32'), /must be an integer, not f32/, 1.5],
  ['a NaN', () => metadata.number('nan'), /not a finite number/, Number.NaN],
  ['a bool for a number', () => metadata.number('bool'), /must be a number, not bool/, false],
  ['a number for a bool', () => metadata.boolean('u8'), /must be a bool, not u8/, 255],
  ['a number for a string', () => metadata.string('u8'), /must be a string, not u8/, 255],
  ['a string for bytes of a number', () => metadata.bytes('u8'), /must be a string/, 255],
  [
    'a string for an array',
    () => metadata.strings('string'),
    /an array of strings, not string/,
    'héllo',
  ],
]
for (const [name, get, says, value] of complaints) {
  test(`${name} is an error naming key and value`, () => {
    const error = (() => {
      try {
        return get()
      } catch (caught) {
        return caught
      }
    })()
    expect(error).toBeInstanceOf(GgufError)
    expect((error as GgufError).message).toMatch(says)
    expect((error as GgufError).value).toEqual(value)
    expect((error as GgufError).file).toBe(path)
  })
}

test('arrays of another type or length are errors', () => {
  expect(() => metadata.strings('floats')).toThrow(/an array of strings, not an array of f32/)
  expect(() => metadata.numbers('strings')).toThrow(/an array of numbers, not an array of string/)
  expect(() => metadata.numbers('floats', { length: 3 })).toThrow(/2 elements instead of 3/)
  expect(() => metadata.numberEach('floats', 3)).toThrow(/2 elements instead of 3/)
  expect(() => metadata.numberEach('floats', 2, { min: 0 })).toThrow(/-1 is less than 0/)
  expect(() => metadata.numberEach('floats', 2, { integer: true })).toThrow(/integers, not f32/)
  expect(() => metadata.numberEach('strings', 3)).toThrow(/numbers, not string/)
})

test('after dispose the file is an error, and what was taken from it lives on', () => {
  const gguf = openGguf(path)
  const strings = gguf.metadata.strings('strings')
  gguf.dispose()
  gguf.dispose()
  expect(() => gguf.metadata).toThrow(DisposedError)
  expect(() => gguf.tensors).toThrow(DisposedError)
  expect(() => gguf.checkData()).toThrow(DisposedError)
  expect(strings.text(1)).toBe('ab')
})
