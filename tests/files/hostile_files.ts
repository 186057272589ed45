// Small GGUF files, most of them wrong, with the right verdict on each: the table of the tests and
// of `bun run golden cases`. A1, A2, … number the kinds of damage.
import type { Gguf } from '../../src/files/index.ts'
import { type RawGguf, raw } from './raw_gguf.ts'

/** `cut`: the header is fine, and checkData finds that the data are not all there. */
export type Verdict = 'accept' | 'reject' | 'cut'

export interface HostileFile {
  readonly id: string
  readonly bytes: () => Uint8Array<ArrayBuffer>
  readonly verdict: Verdict
  /** What the message must say, for rejected and cut files. */
  readonly says?: RegExp
  /** Throws or returns false when the opened file is not as it should be. */
  readonly holds?: (gguf: Gguf) => boolean
}

const f32 = 0
const i8 = 24
const u64Max = 2n ** 64n - 1n

const reject = (id: string, build: () => RawGguf, says: RegExp): HostileFile => ({
  id,
  bytes: () => build().bytes(),
  verdict: 'reject',
  says,
})

const accept = (id: string, build: () => RawGguf, holds: (gguf: Gguf) => boolean): HostileFile => ({
  id,
  bytes: () => build().bytes(),
  verdict: 'accept',
  holds,
})

const cut = (id: string, build: () => RawGguf, says: RegExp): HostileFile => ({
  id,
  bytes: () => build().bytes(),
  verdict: 'cut',
  says,
})

/** A file of one tensor, with `dataBytes` zeros for data. */
const oneTensor = (
  ne: readonly (number | bigint)[],
  type: number,
  offset: number | bigint,
  dataBytes: number,
): RawGguf => raw().header(1, 0).tensor('t', ne, type, offset).pad().zeros(dataBytes)

const twoTensors = (offsets: readonly [number, number], dataBytes: number): RawGguf =>
  raw()
    .header(2, 0)
    .tensor('a', [8], f32, offsets[0])
    .tensor('b', [8], f32, offsets[1])
    .pad()
    .zeros(dataBytes)

const alignment = (type: number): RawGguf => raw().header(0, 1).key('general.alignment', type)

const magics: HostileFile[] = (
  [
    ['', /empty/],
    ['GGU', /needs 4 bytes.*ends after 3/],
    ['tjgg\u0003\0\0\0', /GGJT/],
    ['fmgg\u0001\0\0\0', /GGMF/],
    ['lmgg\u0001\0\0\0', /GGML/],
    ['FUGG\0\0\0\u0003', /reversed/],
    ['PK\u0003\u0004model', /ZIP/],
    ['{"model": 1}', /JSON/],
    ['<!DOCTYPE html><html>', /web page/],
    ['<html><body>404', /web page/],
    ['version https://git-lfs.github.com/spec/v1\n', /LFS/],
    ['\u0010\0\0\0\0\0\0\0{"a": {}}', /safetensors/],
    ['\0\0\0\0\0\0\0\0', /zeros/],
    ['something else', /not a GGUF/],
  ] as const
).map(([text, says]) =>
  reject(`A1 ${JSON.stringify(text.slice(0, 8))}`, () => raw().raw(text), says),
)

const headers: HostileFile[] = [
  ...[0, 1, 4, 0x7fffffff].map((version) =>
    reject(`A2 version ${version}`, () => raw().header(0, 0, version), /version/),
  ),
  reject('A2 big-endian', () => raw().header(0, 0, 0x03000000), /big-endian/),
  accept(
    'A2 version 2',
    () => raw().header(0, 0, 2),
    ({ version }) => version === 2,
  ),
  ...[u64Max, 2n ** 63n, 2n ** 62n, 2n ** 40n].flatMap((count) => [
    reject(`A3 n_tensors ${count}`, () => raw().header(count, 0).zeros(8), /tensor count.*needs/),
    reject(`A3 n_kv ${count}`, () => raw().header(0, count).zeros(8), /key count.*needs/),
  ]),
  reject('A3 one key too many', () => raw().header(0, 2).key('a', 7).u8(1).zeros(11), /key count/),
  reject('header cut in the counts', () => raw().raw('GGUF').u32(3).u64(0).u32(0), /key count/),
]

const keys: HostileFile[] = [
  ...[u64Max, 2n ** 33n, 30n].map((length) =>
    reject(`A4 key of ${length}`, () => raw().header(0, 1).string('a', length).zeros(8), /key 0/),
  ),
  ...[u64Max, 2n ** 63n, 2n ** 33n, 4n].map((length) =>
    reject(
      `A4 string of ${length}`,
      () => raw().header(0, 1).key('a', 8).string('abc', length),
      /key 'a'.*needs/,
    ),
  ),
  ...[2n ** 63n, 2n ** 62n + 1n, 2n ** 40n, 3n].map((count) =>
    reject(
      `A5 array of ${count}`,
      () => raw().header(0, 1).key('a', 9).u32(4).u64(count).zeros(8),
      /key 'a'.*needs/,
    ),
  ),
  reject(
    'A5 string in an array',
    () =>
      raw()
        .header(0, 1)
        .key('a', 9)
        .u32(8)
        .u64(2)
        .string('x')
        .string('y', 2n ** 61n),
    /key 'a' \[1\].*needs/,
  ),
  reject('A6 value type 13', () => raw().header(0, 1).key('a', 13).zeros(8), /key 'a'.*type 13/),
  reject(
    'A6 array of arrays',
    () => raw().header(0, 1).key('a', 9).u32(9).u64(0).zeros(8),
    /key 'a'.*arrays of arrays/,
  ),
  reject('A7 empty key', () => raw().header(0, 1).key('', 7).u8(1).zeros(8), /empty/),
  reject(
    'A7 same key twice',
    () => raw().header(0, 2).key('a', 7).u8(1).key('a', 7).u8(1),
    /key 'a'.*twice/,
  ),
  reject('key of 65,536 bytes', () => raw().header(0, 1).key('k'.repeat(65_536), 7).u8(1), /65536/),
  ...[0, 13, 0xffff_ffff].map((value) =>
    reject(`A8 alignment ${value}`, () => alignment(4).u32(value), /power of two/),
  ),
  ...[1, 2, 2 ** 31].map((value) =>
    accept(
      `A8 alignment ${value}`,
      () => alignment(4).u32(value),
      (g) => g.alignment === value,
    ),
  ),
  reject('A8 alignment i32', () => alignment(5).u32(32), /u32, not i32/),
  reject('A8 alignment u64', () => alignment(10).u64(32), /u32, not u64/),
  accept(
    'A9 bool 2',
    () => raw().header(0, 1).key('a', 7).u8(2),
    ({ metadata }) => metadata.boolean('a') === true,
  ),
  accept(
    'A9 no UTF-8',
    () =>
      raw()
        .header(0, 1)
        .key('a', 8)
        .string(new Uint8Array([0xff, 0xfe])),
    ({ metadata }) =>
      metadata.string('a') === '\ufffd\ufffd' && metadata.bytes('a').join() === '255,254',
  ),
  accept(
    'A9 NUL in a string',
    () => raw().header(0, 1).key('a', 8).string('a\0b'),
    ({ metadata }) => metadata.string('a') === 'a\0b',
  ),
  accept(
    'A10 u64 max',
    () => raw().header(0, 1).key('a', 10).u64(u64Max),
    ({ metadata }) => metadata.get('a') === 18446744073709551615n,
  ),
  reject('cut in a value', () => raw().header(0, 1).key('a', 10).u32(1), /key 'a'.*needs 8 bytes/),
]

const tensors: HostileFile[] = [
  accept(
    'A11 name of 63 bytes',
    () => raw().header(1, 0).tensor('n'.repeat(63), [8], f32, 0).pad().zeros(32),
    (gguf) => gguf.tensors[0]!.name.length === 63,
  ),
  reject('A11 name of 64', () => raw().header(1, 0).tensor('n'.repeat(64), [8], f32, 0), /63/),
  ...[5, 2 ** 32 - 1].map((count) =>
    reject(
      `A12 ${count} dimensions`,
      () => raw().header(1, 0).string('t').u32(count).zeros(64),
      /more than 4/,
    ),
  ),
  accept(
    'A13 no dimensions',
    () => oneTensor([], f32, 0, 4),
    ({ tensors: [t] }) => t!.shape.length === 0 && t!.sizeBytes === 4,
  ),
  accept(
    'A13 size 0',
    () => oneTensor([32, 0], f32, 0, 0),
    ({ tensors: [t] }) => t!.shape.join() === '0,32' && t!.sizeBytes === 0,
  ),
  reject('A14 size -32', () => oneTensor([-32], f32, 0, 128), /-32 is negative/),
  ...(
    [
      ['f32 2^32 x 2^31 x 2', [2n ** 32n, 2n ** 31n, 2], f32],
      ['f32 2^32 x 2^32', [2n ** 32n, 2n ** 32n], f32],
      ['i8 2^32 x 2^31', [2n ** 32n, 2n ** 31n], i8],
      ['f32 32 x (2^59 + 1)', [32, 2n ** 59n + 1n], f32],
      ['f32 32 x (2^57 + 1)', [32, 2n ** 57n + 1n], f32],
      ['overflow before a size 0', [2n ** 32n, 2n ** 32n, 0], f32],
    ] as const
  ).map(([id, ne, type]) =>
    reject(`A15 ${id}`, () => oneTensor(ne, type, 0, 128), /dimension.*more values/),
  ),
  reject('A15 bytes beyond 2^53', () => oneTensor([2n ** 53n - 1n], f32, 0, 128), /too large/),
  ...[4, 5, 31, 32, 33, 36, 37, 38].map((type) =>
    reject(`A17 type ${type}`, () => oneTensor([32], type, 0, 128), /removed type, requantise/),
  ),
  ...[43, 255, 2 ** 32 - 1].map((type) =>
    reject(`A17 type ${type}`, () => oneTensor([32], type, 0, 128), /unknown/),
  ),
  reject('A18 q4_K of 128', () => oneTensor([128, 2], 12, 0, 288), /multiple of 256/),
  reject('A18 q8_0 of 31', () => oneTensor([31], 8, 0, 64), /multiple of 32/),
  accept(
    'A18 q4_K of 256',
    () => oneTensor([256], 12, 0, 144),
    ({ tensors: [t] }) => t!.sizeBytes === 144 && t!.type === 'q4_K',
  ),
  reject('A19 offset 16', () => oneTensor([32], f32, 16, 192), /no multiple of the alignment 32/),
  reject('A19 offset 2^40', () => oneTensor([32], f32, 2 ** 40, 128), /offset.*hole/),
  reject('A19 offset 2^64 - 32', () => oneTensor([32], f32, u64Max - 31n, 128), /beyond any/),
]

const data: HostileFile[] = [
  cut('A20 127 of 128 bytes', () => oneTensor([32], f32, 0, 127), /up to 192.*ends at 191/),
  cut('A20 no data', () => oneTensor([32], f32, 0, 0), /tensor 't' data.*ends at 64/),
  cut('A20 second of two cut', () => twoTensors([0, 32], 40), /tensor 'b' data.*1 of 2/),
  accept(
    'A21 no padding at the end',
    () => oneTensor([1], f32, 0, 4),
    () => true,
  ),
  reject(
    'A22 same name',
    () => raw().header(2, 0).tensor('t', [8], f32, 0).tensor('t', [8], f32, 32).pad().zeros(64),
    /two tensors 't'/,
  ),
  reject(
    'A22 same up to NUL',
    () => raw().header(2, 0).tensor('a\0b', [8], f32, 0).tensor('a\0c', [8], f32, 32).zeros(99),
    /two tensors 'a'/,
  ),
  reject('A23 overlap', () => twoTensors([0, 0], 64), /inside 'a'/),
  accept(
    'A23 hole',
    () => twoTensors([0, 64], 96),
    (g) => g.tensors[1]!.offset === g.dataOffset + 64,
  ),
  reject('A23 hole, and the file ends', () => twoTensors([0, 64], 95), /hole/),
  accept(
    'A23 out of order',
    () => twoTensors([32, 0], 64),
    (g) => g.tensors[0]!.offset === g.dataOffset + 32,
  ),
  accept(
    'A24 alignment 64',
    () =>
      raw()
        .header(1, 1)
        .key('general.alignment', 4)
        .u32(64)
        .tensor('t', [8], f32, 0)
        .pad(64)
        .zeros(32),
    ({ dataOffset, tensors: [t] }) => dataOffset % 64 === 0 && t!.offset === dataOffset,
  ),
  reject(
    'sum of sizes overflows',
    () =>
      raw()
        .header(2, 0)
        .tensor('a', [2n ** 63n - 64n], i8, 0)
        .tensor('b', [2n ** 63n - 64n], i8, 2n ** 63n - 64n),
    /more values/,
  ),
  reject(
    'sum of sizes beyond 2^53',
    () =>
      raw()
        .header(2, 0)
        .tensor('a', [2n ** 53n - 32n], i8, 0)
        .tensor('b', [2n ** 53n - 32n], i8, 2n ** 53n - 32n)
        .zeros(64),
    /beyond any file/,
  ),
]

export const hostileFiles: readonly HostileFile[] = [
  ...magics,
  ...headers,
  ...keys,
  ...tensors,
  ...data,
]
