// Mutations of a program image: bits, numbers of extreme value, swaps, cuts, and fields of tables
// in particular, since most of an image's bytes are tables.

/** Table positions in the header of zig/runtime/image.zig, with the size of an entry. */
export const tables = {
  slots: { header: 24, bytes: 24 },
  tensors: { header: 32, bytes: 88 },
  segments: { header: 40, bytes: 32 },
  records: { header: 48, bytes: 40 },
  operands: { header: 56, bytes: 4 },
  ranges: { header: 64, bytes: 24 },
  extents: { header: 72, bytes: 8 },
  ports: { header: 80, bytes: 16 },
  params: { header: 88, bytes: 1 },
} as const

const tableList = Object.values(tables)

/** A generator of 32-bit numbers with one state (xorshift, Marsaglia 2003). */
export class Random {
  private state = 1

  /** Nearby seeds give unlike numbers. */
  seed(value: number): void {
    this.state = (Math.imul(value ^ 0x9e3779b9, 0x85ebca6b) ^ (value >>> 7)) | 1
    for (let i = 0; i < 4; i++) this.next()
  }

  next(): number {
    let x = this.state
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.state = x
    return x >>> 0
  }

  below(limit: number): number {
    return this.next() % limit
  }
}

const words = [
  0, 1, 2, 3, 4, 7, 8, 12, 16, 31, 32, 64, 255, 256, 0xffff, 0x1_0000, 0x000f_ffff, 0x0010_0000,
  0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff,
]

/** High and low half. */
const longs = [
  [0, 0],
  [0, 1],
  [0, 4],
  [0, 40],
  [0, 64],
  [0, 0x7fff_ffff],
  [0, 0xffff_ffff],
  [1, 0],
  [0x7fff, 0xffff_ffff],
  [0x1_0000, 0],
  [0x0fff_ffff, 0xffff_fff8],
  [0x1000_0000, 0],
  [0x7fff_ffff, 0xffff_ffff],
  [0x8000_0000, 0],
  [0xffff_ffff, 0xffff_fffc],
  [0xffff_ffff, 0xffff_ffff],
] as const

/** Changes the image in `view`, of `size` bytes; returns its size afterwards. */
export const mutate = (view: DataView, size: number, random: Random): number => {
  let left = size
  for (let count = 1 + random.below(3); count > 0; count--) left = change(view, left, random)
  return left
}

const change = (view: DataView, size: number, random: Random): number => {
  if (size < 128) return size
  const at = random.below(2) === 0 ? random.below(size) : inTable(view, size, random)
  switch (random.below(12)) {
    case 0:
    case 1:
      view.setUint8(at, view.getUint8(at) ^ (1 << random.below(8)))
      return size
    case 2:
    case 3:
    case 4:
      return setWord(view, at, size, words[random.below(words.length)]!)
    case 5:
      return setWord(view, at, size, random.next())
    case 6:
    case 7:
      return setWord(view, at, size, wordAt(view, inTable(view, size, random), size))
    case 8:
    case 9:
      return setLong(view, at, size, longs[random.below(longs.length)]!)
    case 10:
      return swap(view, size, random)
    default:
      return cut(view, size, random)
  }
}

/** A byte of a field of some table's entry. */
const inTable = (view: DataView, size: number, random: Random): number => {
  const table = tableList[random.below(tableList.length)]!
  const count = view.getUint32(table.header, true)
  const offset = view.getUint32(table.header + 4, true)
  const bytes = count * table.bytes
  if (bytes === 0 || offset + bytes > size) return random.below(size)
  return offset + random.below(bytes)
}

const wordAt = (view: DataView, at: number, size: number): number =>
  view.getUint32(Math.min(at & ~3, (size - 4) & ~3), true)

const setWord = (view: DataView, at: number, size: number, value: number): number => {
  view.setUint32(Math.min(at & ~3, (size - 4) & ~3), value, true)
  return size
}

const setLong = (
  view: DataView,
  at: number,
  size: number,
  [high, low]: readonly [number, number],
): number => {
  const place = Math.min(at & ~7, (size - 8) & ~7)
  view.setUint32(place, low, true)
  view.setUint32(place + 4, high, true)
  return size
}

/** Two entries of a table change places. */
const swap = (view: DataView, size: number, random: Random): number => {
  const table = tableList[random.below(tableList.length)]!
  const count = view.getUint32(table.header, true)
  const offset = view.getUint32(table.header + 4, true)
  if (count < 2 || offset + count * table.bytes > size) return size
  const a = offset + random.below(count) * table.bytes
  const b = offset + random.below(count) * table.bytes
  for (let i = 0; i < table.bytes; i++) {
    const byte = view.getUint8(a + i)
    view.setUint8(a + i, view.getUint8(b + i))
    view.setUint8(b + i, byte)
  }
  return size
}

/** Cuts the image's end, and tells the header so every other time. */
const cut = (view: DataView, size: number, random: Random): number => {
  const left = random.below(4) === 0 ? random.below(size) : size - random.below(64)
  if (left >= 32 && random.below(2) === 0) {
    view.setUint32(16, left, true)
    view.setUint32(20, 0, true)
  }
  return left
}
