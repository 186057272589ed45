// Bytes to text in parts: nothing split, nothing lost.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { TextStream } from '../../../src/text/stream/index.ts'

const decode = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

/** What each push returns, and then flush. */
function streamed(parts: readonly Uint8Array[]): string[] {
  const stream = new TextStream()
  return [...parts.map((part) => stream.push(part)), stream.flush()]
}

/** Bytes of all kinds, with a share of cut and wrong UTF-8. */
const bytes = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => new TextEncoder().encode(text)),
  fc.uint8Array({ maxLength: 40 }),
  fc
    .array(
      fc.constantFrom(0x41, 0x80, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0xf5),
      {
        maxLength: 20,
      },
    )
    .map((list) => Uint8Array.from(list)),
)

/** The same bytes in parts, cut anywhere. */
const parts = fc.tuple(bytes, fc.array(fc.nat({ max: 40 }))).map(([all, cuts]) => {
  const at = [...new Set([0, ...cuts, all.length])].filter((cut) => cut <= all.length)
  at.sort((a, b) => a - b)
  return at.slice(1).map((end, i) => all.subarray(at[i]!, end))
})

describe('TextStream', () => {
  test('a character comes whole, with its last byte', () => {
    expect(
      streamed([Uint8Array.of(0xf0, 0x9f), Uint8Array.of(0xa6), Uint8Array.of(0x99, 0x21)]),
    ).toEqual(['', '', '🦙!', ''])
  })

  test('a character cut by the end is one U+FFFD at flush, its bytes there until then', () => {
    const stream = new TextStream()
    expect(stream.push(Uint8Array.of(0x61, 0xf0, 0x9f))).toBe('a')
    expect([...stream.pending]).toEqual([0xf0, 0x9f])
    expect(stream.flush()).toBe('\ufffd')
    expect(stream.pending).toHaveLength(0)
    expect(stream.flush()).toBe('')
  })

  test('a byte order mark is kept', () => {
    expect(streamed([Uint8Array.of(0xef, 0xbb), Uint8Array.of(0xbf, 0x41)]).join('')).toBe(
      '\ufeffA',
    )
  })

  test('the parts joined are the text of the bytes joined', () => {
    fc.assert(
      fc.property(parts, (list) => {
        const all = Uint8Array.from(list.flatMap((part) => [...part]))
        expect(streamed(list).join('')).toBe(decode(all))
      }),
      { numRuns: 500 },
    )
  })

  test('nothing is held back but the start of a character', () => {
    fc.assert(
      fc.property(bytes, (all) => {
        const stream = new TextStream()
        const text = stream.push(all)
        const held = stream.pending
        expect(held.length).toBeLessThan(4)
        if (held.length === 0) return
        // Some continuation makes one character of it; as it is, it is none.
        const ends = [
          [],
          [0x80],
          [0x80, 0x80],
          [0xbf],
          [0xbf, 0x80],
          [0x80, 0x80, 0x80],
          [0xbf, 0x80, 0x80],
        ]
        const completed = ends.map((end) => decode(Uint8Array.from([...held, ...end])))
        expect(completed.some((each) => [...each].length === 1 && each !== '\ufffd')).toBe(true)
        expect(text + stream.flush()).toBe(decode(all))
      }),
      { numRuns: 500 },
    )
  })

  test('the caller may reuse its buffer', () => {
    const stream = new TextStream()
    const buffer = Uint8Array.of(0xc3)
    stream.push(buffer)
    buffer[0] = 0x41
    expect(stream.push(Uint8Array.of(0xa9))).toBe('é')
  })
})
