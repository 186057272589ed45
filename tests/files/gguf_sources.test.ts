// Where GGUF files come from: paths, URLs, Blobs and byte sources, and files that change meanwhile.
import { afterAll, describe, expect, test } from 'bun:test'
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Random } from '../../bench/random_blocks.ts'
import { GgufError } from '../../src/errors/index.ts'
import { type ByteSource, FileSlice, openGguf, readGguf } from '../../src/files/index.ts'
import { raw } from './raw_gguf.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-sources-'))
afterAll(() => rmSync(folder, { recursive: true }))

const small = raw().header(1, 0).tensor('t', [32], 0, 0).pad().zeros(128).bytes()
const put = (name: string, bytes = small): string => {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

describe('what can be opened', () => {
  const path = put('small.gguf')

  test('a path, a file: URL and a BunFile', () => {
    for (const source of [path, pathToFileURL(path), Bun.file(path)]) {
      expect(openGguf(source).tensors[0]).toMatchObject({ name: 't', offset: 64, sizeBytes: 128 })
    }
  })

  test('the same, a Blob, a File, a slice and a byte source in slices of time', async () => {
    const longer = new Blob(['junk', small])
    const own: ByteSource = {
      name: 'own',
      size: small.length,
      read: (offset, length) => small.subarray(offset, offset + length),
    }
    const sources = [path, pathToFileURL(path), Bun.file(path), new Blob([small])]
    // A File is its own bytes, even under the name of another file.
    const named = new File([small], put('other.gguf', new Uint8Array(small.length)))
    for (const source of [...sources, named, longer.slice(4), own]) {
      const gguf = await readGguf(source)
      gguf.checkData()
      expect(gguf.tensors[0]).toMatchObject({ name: 't', offset: 64, sizeBytes: 128 })
    }
  })

  test('a slice of a BunFile is read as what it is', async () => {
    const inside = put('inside.bin', Buffer.concat([Buffer.from('junk'), small]))
    const gguf = await readGguf(Bun.file(inside).slice(4, 4 + small.length))
    expect(gguf.tensors[0]!.offset).toBe(64)
    expect(typeof gguf.files[0]!.source).toBe('object')
  })

  test('a part of a file, which knows where it lies', async () => {
    const inside = put('sliced.bin', Buffer.concat([Buffer.from('junk'), small, small]))
    const slice = new FileSlice(inside, 4, small.length, 'inner')
    for (const gguf of [openGguf(slice), await readGguf(slice)]) {
      gguf.checkData()
      expect(gguf.files[0]).toMatchObject({ name: 'inner', source: slice, size: small.length })
      expect(gguf.tensors[0]!.offset).toBe(64)
      expect(await gguf.readData(gguf.tensors[0]!)).toEqual(new Uint8Array(128))
    }
  })

  test('a slice that the file does not hold is an error that names it', async () => {
    const cut = put('cut.bin', Buffer.concat([Buffer.from('junk'), small.subarray(0, 100)]))
    const gguf = openGguf(new FileSlice(cut, 4, small.length, 'inner'))
    expect(() => gguf.checkData()).toThrow(/inner: tensor 't' data .*ends at 100/)
    await expect(gguf.readData(gguf.tensors[0]!)).rejects.toThrow(/ends at 100/)
    expect(() => openGguf(new FileSlice(cut, 4, 40, 'inner'))).toThrow(/inner: /)
    expect(() => openGguf(new FileSlice(cut, 1e6, 9))).toThrow(/from byte 1000000/)
  })

  test('a slice of no place is refused when it is made', () => {
    for (const offset of [-1, 0.5, Number.NaN, 2 ** 53]) {
      expect(() => new FileSlice('x', offset, 1)).toThrow(RangeError)
      expect(() => new FileSlice('x', 1, offset)).toThrow(RangeError)
    }
    expect(() => new FileSlice('x', 2 ** 52, 2 ** 52)).toThrow(RangeError)
    expect(() => new FileSlice('x', '1' as never, 1)).toThrow(TypeError)
    expect(() => new FileSlice(7 as never, 1, 1)).toThrow(TypeError)
  })

  test('anything else is a TypeError', async () => {
    for (const source of [
      undefined,
      null,
      7,
      {},
      [],
      { size: 4 },
      new URL('https://a.example/b'),
    ]) {
      expect(() => openGguf(source as never)).toThrow(TypeError)
      await expect(readGguf(source as never)).rejects.toThrow(TypeError)
    }
    expect(() => openGguf(new Blob([small]))).toThrow(/readGguf/)
  })
})

describe('files that cannot be read are errors with the reason', () => {
  mkdirSync(join(folder, 'folder'))
  Bun.spawnSync(['mkfifo', join(folder, 'pipe')])
  const cases: [string, RegExp][] = [
    ['missing', /ENOENT/],
    ['folder', /it is a directory/],
    ...(process.platform === 'win32' ? [] : [['pipe', /not a regular file/] as [string, RegExp]]),
  ]
  for (const [name, says] of cases) {
    test(name, async () => {
      const path = join(folder, name)
      expect(() => openGguf(path)).toThrow(says)
      expect(() => openGguf(path)).toThrow(GgufError)
      await expect(readGguf(path)).rejects.toThrow(says)
      await expect(readGguf(Bun.file(path))).rejects.toThrow(GgufError)
    })
  }
})

describe('files that change while they are open', () => {
  test('a source that ends early is an error', async () => {
    const source: ByteSource = {
      name: 'short',
      size: small.length,
      read: (offset, length) => small.subarray(offset, Math.min(offset + length, 40)),
    }
    await expect(readGguf(source)).rejects.toThrow(/short: file at byte 40: it ended here/)
  })

  test('shrunk after opening: the header stays, checkData says what is cut', () => {
    const path = put('shrinks.gguf')
    const gguf = openGguf(path)
    gguf.checkData()
    truncateSync(path, 100)
    expect(() => gguf.checkData()).toThrow(/tensor 't' data at byte 64.*192.*ends at 100/)
    expect(gguf.tensors).toHaveLength(1)
  })

  test('unlinked after opening: the header stays, checkData says that it is gone', () => {
    const path = put('gone.gguf')
    const gguf = openGguf(path)
    unlinkSync(path)
    expect(() => gguf.checkData()).toThrow(/ENOENT/)
    expect(gguf.tensors).toHaveLength(1)
  })
})

test('a tensor in the last page of a sparse file beyond 4 GiB is found', async () => {
  const path = join(folder, 'sparse.gguf')
  const dataOffset = 64
  const size = 2 ** 32 + 4096
  const file = openSync(path, 'w')
  const header = raw()
    .header(1, 0)
    .tensor('t', [1024], 0, size - 4096 - dataOffset)
    .pad()
  writeSync(file, header.bytes())
  ftruncateSync(file, size)
  closeSync(file)
  for (const gguf of [openGguf(path), await readGguf(path)]) {
    gguf.checkData()
    expect(gguf.tensors[0]).toMatchObject({ offset: 2 ** 32, sizeBytes: 4096 })
  }
})

test('strings of all lengths are whole, wherever the reads divide them', async () => {
  const random = new Random(1)
  const strings = Array.from({ length: 300 }, (_, index) => random.bytes(index ** 2))
  // Ends in the longest string, larger than a read.
  const header = raw().header(0, 1).key('a', 9).u32(8).u64(301)
  for (const bytes of strings) header.string(bytes)
  const path = put('strings.gguf', header.string(random.bytes(3_000_000)).bytes())
  const blob = new Blob([await Bun.file(path).arrayBuffer()])
  for (const { metadata } of [openGguf(path), await readGguf(path), await readGguf(blob)]) {
    const list = metadata.strings('a')
    expect(strings.every((bytes, index) => Buffer.compare(bytes, list.bytes(index)) === 0)).toBe(
      true,
    )
    expect(Buffer.compare(list.bytes(300).subarray(-4), endOf(path))).toBe(0)
  }
})

const endOf = (path: string): Uint8Array => readFileSync(path).subarray(-4)

describe('data of a tensor', () => {
  const data = Uint8Array.from({ length: 128 }, (_, index) => index)
  const header = raw()
    .header(2, 0)
    .tensor('cut', [2 ** 50], 24, 128)
    .tensor('t', [32], 0, 0)
  const bytes = header.pad().raw(data).bytes()

  test('is read whole or in part, from a path and from a Blob', async () => {
    for (const gguf of [openGguf(put('data.gguf', bytes)), await readGguf(new Blob([bytes]))]) {
      const tensor = gguf.tensorsByName.get('t')!
      expect(await gguf.readData(tensor)).toEqual(data)
      expect(await gguf.readData(tensor, 5, 9)).toEqual(data.subarray(5, 9))
      expect(await gguf.readData(tensor, 128)).toHaveLength(0)
      for (const [start, end] of [
        [-1, 3],
        [3, 2],
        [0, 129],
        [0.5, 2],
        [Number.NaN, 2],
      ]) {
        await expect(gguf.readData(tensor, start, end)).rejects.toThrow(RangeError)
      }
      const cut = gguf.tensorsByName.get('cut')!
      await expect(gguf.readData(cut)).rejects.toThrow(/tensor 'cut' data.*not there/)
    }
  })
})

describe('abort', () => {
  test('an aborted signal rejects with its reason before anything is read', async () => {
    let reads = 0
    const source: ByteSource = { name: 'own', size: 64, read: () => new Uint8Array(++reads) }
    const reason = new Error('enough')
    await expect(readGguf(source, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(reads).toBe(0)
  })

  test('an abort while reading takes effect', async () => {
    const strings = raw()
      .header(0, 1)
      .key('a', 9)
      .u32(8)
      .u64(2 ** 21)
      .zeros(2 ** 24)
      .bytes()
    const controller = new AbortController()
    const reading = readGguf(new Blob([strings]), {
      signal: controller.signal,
    })
    setTimeout(() => controller.abort(), 1)
    await expect(reading).rejects.toThrow(/abort/i)
  })
})

test('a large vocabulary is read in slices: a timer stays on time', async () => {
  const count = 2 ** 18
  const header = raw().header(0, 1).key('a', 9).u32(8).u64(count)
  const piece = raw().string('piece of text').bytes()
  const all = new Uint8Array(count * piece.length)
  for (let index = 0; index < count; index++) all.set(piece, index * piece.length)
  const path = put('vocabulary.gguf', header.raw(all).bytes())
  const late: number[] = []
  for (let round = 0; round < 5; round++) {
    let [last, worst] = [performance.now(), 0]
    const timer = setInterval(() => {
      worst = Math.max(worst, performance.now() - last)
      last = performance.now()
    }, 1)
    const gguf = await readGguf(path)
    worst = Math.max(worst, performance.now() - last)
    clearInterval(timer)
    late.push(worst)
    expect(gguf.metadata.strings('a').text(count - 1)).toBe('piece of text')
  }
  // Other processes may take the processor away once: the median tells of our own slices.
  expect(late.sort((a, b) => a - b)[2]!).toBeLessThan(10)
})
