// The program check, case by case: each image is good but for one thing, and the check names it.
import { expect, test } from 'bun:test'
import { devices } from '../../src/device/device.ts'
import { compileLayout } from '../../src/graph/compile.ts'
import { Graph } from '../../src/graph/graph.ts'
import {
  type ImageTables,
  none,
  type RecordRow,
  type SegmentRow,
  type TensorRow,
  writeImage,
} from '../../src/graph/image.ts'
import { nativeCounters, profileImage } from '../../src/native/devices.ts'
import { createBuffer, releaseBuffer } from '../../src/native/memory.ts'
import { ops } from '../../src/native/ops.gen.ts'
import {
  createProgram,
  releaseProgram,
  runProgram,
  updateProgram,
} from '../../src/native/programs.ts'

const arena = 0

/** f32 [2, 4] at an offset of the arena. */
const tensor = (offset: number, fields: Partial<TensorRow> = {}): TensorRow => ({
  slot: arena,
  dtype: 0,
  offset,
  ne: [4, 2, 1, 1],
  nb: [4, 16, 32, 32],
  extent: 0,
  extentDim: 0,
  extentMultiple: 0,
  ...fields,
})

const record = (fields: Partial<RecordRow> = {}): RecordRow => ({
  op: ops.add.code,
  params: new Uint8Array(0),
  sources: [0, 1],
  outputs: [2],
  scratch: none,
  ranges: [{ slot: arena, write: true, begin: 0, end: 1024 }],
  name: 'add',
  ...fields,
})

const segment = (kind: SegmentRow['kind'], fields: Partial<SegmentRow> = {}): SegmentRow => {
  return { kind, device: 0, first: 0, count: 0, a: 0, b: 0, value: 0, ...fields }
}

/** a + b = c, three tensors of 32 bytes behind each other. */
const sound = (): ImageTables => ({
  slots: [{ size: 1024, device: 0, bufferType: 0, access: 3, lifetime: 'arena' }],
  tensors: [tensor(0), tensor(32), tensor(64)],
  segments: [segment('compute', { count: 1 })],
  records: [record()],
  extents: [],
  ports: [{ tensor: 2, kind: 'output', name: 'c' }],
  fences: 0,
})

const create = (tables: Partial<ImageTables>): number =>
  createProgram(writeImage({ ...sound(), ...tables }), 1)

test('the good image is taken and runs', () => {
  const program = create({})
  const buffer = createBuffer(0, 'shared', 1024, 'cpu')
  updateProgram(program, [{ slot: arena, buffer, offset: 0 }], new Uint32Array(0))
  runProgram(program, new Uint8Array(0))
  releaseProgram(program)
  releaseBuffer(buffer, 'buffer')
})

test('an image is copied: it may lie anywhere and change afterwards', () => {
  const image = writeImage(sound())
  for (let shift = 1; shift < 8; shift++) {
    const bytes = new Uint8Array(image.length + 8)
    bytes.set(image, shift)
    const program = createProgram(bytes.subarray(shift, shift + image.length), 1)
    bytes.fill(0xff)
    releaseProgram(program)
  }
})

const refused: [string, string, Partial<ImageTables>][] = [
  [
    'a slot beyond all memory',
    'slot 0: size',
    { slots: [{ ...sound().slots[0]!, size: 2 ** 52 * 256 }] },
  ],
  ['a slot of no device', 'no device 9', { slots: [{ ...sound().slots[0]!, device: 9 }] }],
  [
    'a tensor of no slot',
    'tensor 1: slot 5',
    { tensors: [tensor(0), tensor(32, { slot: 5 }), tensor(64)] },
  ],
  ['a tensor beyond its slot', 'ends at', { tensors: [tensor(0), tensor(32), tensor(1008)] }],
  [
    'a tensor whose size overflows',
    'overflows',
    {
      tensors: [tensor(0, { ne: [2 ** 40, 2 ** 40, 1, 1] }), tensor(32), tensor(64)],
    },
  ],
  ['a tensor between two values', 'misaligned', { tensors: [tensor(2), tensor(32), tensor(64)] }],
  ['an output in two sources', 'overlaps source', { tensors: [tensor(0), tensor(32), tensor(16)] }],
  [
    'an output over a source that is not read in step',
    'output 0 overlaps source 1',
    {
      tensors: [tensor(0), tensor(32), tensor(32)],
    },
  ],
  [
    'an output that repeats itself',
    'output 0 overlaps itself',
    {
      tensors: [tensor(0), tensor(32), tensor(64, { nb: [4, 0, 0, 0] })],
    },
  ],
  [
    'an output whose rows interleave',
    'output 0 overlaps itself',
    {
      tensors: [tensor(0), tensor(32), tensor(64, { nb: [4, 8, 0, 0] })],
    },
  ],
  [
    'an output of another shape',
    'another shape',
    {
      tensors: [tensor(0), tensor(32), tensor(64, { ne: [4, 1, 1, 1] })],
    },
  ],
  ['an op that does not exist', 'op 999', { records: [record({ op: 999 })] }],
  ['a missing source', 'source b is missing', { records: [record({ sources: [0] })] }],
  ['a source that is none', 'source a is missing', { records: [record({ sources: [none, 1] })] }],
  [
    'an update without its sources',
    'source table is missing',
    {
      records: [record({ op: ops.set_rows.code, sources: [] })],
    },
  ],
  ['params of another size', 'params of 4', { records: [record({ params: new Uint8Array(4) })] }],
  ['no declared range', 'in no declared range', { records: [record({ ranges: [] })] }],
  [
    'a range that is not written',
    'in no declared range',
    {
      records: [record({ ranges: [{ slot: arena, write: false, begin: 0, end: 1024 }] })],
    },
  ],
  [
    'more ranges than operands can need',
    'ranges at',
    {
      records: [
        record({ ranges: new Array(100).fill({ slot: arena, write: true, begin: 0, end: 1024 }) }),
      ],
    },
  ],
  ['scratch over a source', 'scratch overlaps a source', { records: [record({ scratch: 1 })] }],
  [
    'scratch over the output',
    'scratch overlaps an output',
    {
      records: [record({ scratch: 3 })],
      tensors: [...sound().tensors, tensor(80)],
    },
  ],
  ['records outside of every segment', 'outside every segment', { segments: [] }],
  [
    'records in two segments',
    'out of order',
    {
      segments: [segment('compute', { count: 1 }), segment('compute', { count: 1 })],
    },
  ],
  ['fences without segments', '9 fences for 1 segments', { fences: 9 }],
  [
    'a wait that nothing ends',
    'fence 0 is never signalled',
    {
      segments: [segment('wait'), segment('compute', { count: 1 }), segment('signal')],
      fences: 1,
    },
  ],
  [
    'a wait for more than is signalled',
    'fence 0 is never signalled',
    {
      segments: [
        segment('signal', { value: 1 }),
        segment('wait', { value: 2 }),
        segment('compute', { count: 1 }),
      ],
      fences: 1,
    },
  ],
  [
    'a fence value that reaches into the next run',
    'segment 0: value',
    {
      segments: [segment('signal', { value: 2 ** 20 }), segment('compute', { count: 1 })],
      fences: 1,
    },
  ],
  [
    'a copy onto itself',
    'what is copied overlaps',
    {
      segments: [segment('copy', { a: 0, b: 0 }), segment('compute', { count: 1 })],
    },
  ],
  [
    'a copy between layouts',
    'different layouts',
    {
      tensors: [...sound().tensors, tensor(128, { ne: [2, 2, 1, 1] })],
      segments: [segment('copy', { a: 0, b: 3 }), segment('compute', { count: 1 })],
    },
  ],
  [
    'a write to what is read only',
    'does not allow it',
    {
      slots: [{ ...sound().slots[0]!, access: 1, lifetime: 'weight' }],
    },
  ],
  [
    'an extent that a tensor does not start from',
    'not declared at its maximum',
    {
      extents: [9],
      tensors: [tensor(0, { extent: 1, extentDim: 1, extentMultiple: 1 }), tensor(32), tensor(64)],
    },
  ],
]

test.each(refused)('%s is refused', (_, message, tables) => {
  const before = nativeCounters()
  expect(() => create(tables)).toThrow(message)
  const { liveObjects, liveBytes } = nativeCounters()
  expect({ liveObjects, liveBytes }).toEqual({
    liveObjects: before.liveObjects,
    liveBytes: before.liveBytes,
  })
})

test('an output may take over the source that is read in step with it, and no other', () => {
  releaseProgram(create({ tensors: [tensor(0), tensor(32), tensor(0)] }))
  expect(() => create({ tensors: [tensor(0), tensor(0), tensor(0)] })).toThrow('overlaps source 1')
})

test('attention over more cells than there can be is refused', () => {
  const attention = {
    op: ops.attention.code,
    params: new Uint8Array(new Uint32Array([0, 0xffff_ffff, 0, 0, 0, 0]).buffer),
    sources: [0, 1, 1, 2, 3, 3, 4, 5],
    outputs: [6],
  }
  const index = (offset: number, ne: number[], nb: number[]) =>
    tensor(offset, { dtype: 26, ne, nb })
  const tensors = [
    tensor(0, { ne: [4, 1, 1, 1] }),
    tensor(64, { ne: [4, 0, 1, 1] }),
    index(128, [0, 1, 1, 1], [4, 4, 4, 4]),
    index(128, [1, 1, 1, 1], [4, 4, 4, 4]),
    index(128, [1, 1, 1, 1], [4, 4, 4, 4]),
    // Every block number is the same four bytes.
    index(128, [2 ** 40, 1, 1, 1], [0, 4, 4, 4]),
    tensor(256, { ne: [4, 1, 1, 1] }),
  ]
  expect(() => create({ tensors, records: [record(attention)], ports: [] })).toThrow(
    'too many cells',
  )
})

const overlappingSlots = (): Partial<ImageTables> => ({
  slots: [
    { size: 64, device: 0, bufferType: 0, access: 3, lifetime: 'arena' },
    { size: 32, device: 0, bufferType: 0, access: 3, lifetime: 'state' },
  ],
  tensors: [tensor(0), tensor(32), tensor(0, { slot: 1 })],
  records: [
    record({
      ranges: [
        { slot: 0, write: false, begin: 0, end: 64 },
        { slot: 1, write: true, begin: 0, end: 32 },
      ],
    }),
  ],
})

test('an update that fails changes nothing, and memory that it let go of is not used', () => {
  const before = nativeCounters().liveBytes
  const program = create(overlappingSlots())
  const bind = (...list: [slot: number, buffer: number, offset: number][]) =>
    updateProgram(
      program,
      list.map(([slot, buffer, offset]) => ({ slot, buffer, offset })),
      new Uint32Array(0),
    )
  const first = createBuffer(0, 'shared', 128, 'cpu')
  const second = createBuffer(0, 'shared', 128, 'cpu')
  bind([0, first, 0], [1, first, 64])
  // The first binding of each list would be good.
  expect(() => bind([0, second, 0], [1, second, 32])).toThrow('slots 0 and 1 overlap')
  expect(() => bind([0, second, 0], [7, second, 0])).toThrow('slot 7 does not exist')
  expect(() => bind([0, second, 0], [1, second, 100])).toThrow('needs 32 bytes at 100')
  expect(() => bind([0, second, 4])).toThrow('misaligned')
  expect(() => bind([0, second, 0], [1, 0xdead, 0])).toThrow('disposed')
  expect(() => bind([0, second, Number.NaN])).toThrow('offset')
  releaseBuffer(second, 'buffer')
  runProgram(program, new Uint8Array(0))
  // The program alone holds it now.
  releaseBuffer(first, 'buffer')
  runProgram(program, new Uint8Array(0))
  releaseProgram(program)
  expect(nativeCounters().liveBytes).toBe(before)
})

test('a program whose memory is not bound refuses to run', () => {
  const program = create({})
  expect(() => runProgram(program, new Uint8Array(0))).toThrow('slot 0 is not bound')
  expect(() => runProgram(program, new Uint8Array(3))).toThrow('3 input bytes given, 0 needed')
  releaseProgram(program)
})

test('a profile is asked for as many records as there are', () => {
  const image = writeImage(sound())
  expect(profileImage(0, image, 1)).toEqual([{ supported: true, offloadRows: 0, scratchBytes: 0 }])
  expect(() => profileImage(0, image, 2)).toThrow('1 records, not 2')
  expect(() => profileImage(7, image, 1)).toThrow('there is no device 7')
})

test('a handle that is no longer one is refused, also after its place was used again', () => {
  const old = create({})
  releaseProgram(old)
  const handles = Array.from({ length: 20 }, () => create({}))
  expect(handles).not.toContain(old)
  expect(() => runProgram(old, new Uint8Array(0))).toThrow('disposed')
  expect(() => releaseProgram(old)).toThrow('disposed')
  for (const handle of handles) releaseProgram(handle)
})

test('an image of another version of the tables is refused', () => {
  const { image } = compileLayout(new Graph(), devices()[0]!)
  for (const at of [0, 4, 8, 16]) {
    const other = image.slice()
    other[at]! ^= 1
    expect(() => createProgram(other, 1)).toThrow('header or tables')
  }
  for (const length of [0, 1, 127, image.length - 1]) {
    expect(() => createProgram(image.subarray(0, length), 1)).toThrow('header or tables')
  }
})
