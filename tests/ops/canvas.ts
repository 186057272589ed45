// A plan of one buffer's bytes: regions with canaries around them, and what a run did to those.
import type { DeviceBuffer } from '../../src/device/buffer.ts'

/** Canary bytes around every region: more than the widest register. */
const gap = 128
/** Regions are placed relative to this, as the compiler's allocator does. */
const line = 64

interface Region {
  offset: number
  size: number
  /** Whose region it is: the number of a row. */
  owner: number
  /** What it holds before a run; results hold the pattern. */
  content: Uint8Array | undefined
}

/** Harm that a run did, next to a row's region. */
export interface Damage {
  owner: number
  problem: string
}

export class Canvas {
  private readonly regions: Region[] = []
  private end = 0

  /** Bytes needed, canaries included. */
  get size(): number {
    return this.end + gap
  }

  /** Room for a result of `owner`, `misalignment` bytes behind the start of a cache line. */
  reserve(owner: number, size: number, misalignment: number, content?: Uint8Array): number {
    const offset = Math.ceil((this.end + gap) / line) * line + misalignment
    this.regions.push({ offset, size, owner, content })
    this.end = offset + size
    return offset
  }

  /** Fills a buffer with a pattern, and regions with their content; returns what it has then. */
  paint(buffer: DeviceBuffer, pattern: number): Uint8Array {
    const bytes = new Uint8Array(buffer.size)
    for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 37 + (i >> 8) * 11) ^ pattern
    for (const { offset, content } of this.regions) if (content) bytes.set(content, offset)
    buffer.set(bytes)
    return bytes
  }

  /** What changed outside of results. `before` is overwritten. */
  damage(before: Uint8Array, after: Uint8Array): Damage[] {
    for (const { offset, size, content } of this.regions) {
      if (content === undefined) before.set(after.subarray(offset, offset + size), offset)
    }
    const damages: Damage[] = []
    for (const [i, region] of this.regions.entries()) {
      const { offset, size, owner } = region
      const from = i === 0 ? 0 : this.regions[i - 1]!.offset + this.regions[i - 1]!.size
      const next = this.regions[i + 1]
      // The canaries before the first region are its own; those behind a region are its own too.
      const begin = i === 0 ? 0 : from + Math.ceil((offset - from) / 2)
      const to = offset + size
      const end = next === undefined ? before.length : to + Math.ceil((next.offset - to) / 2)
      const changed = firstDifference(before, after, begin, end)
      if (changed === undefined) continue
      const place =
        changed < offset ? `${offset - changed} bytes before` : `${changed - to} bytes behind`
      const isOperand = content(region) && changed >= offset && changed < to
      const what = isOperand ? `byte ${changed - offset} of an operand` : `a byte ${place} it`
      damages.push({ owner, problem: `${what} was changed` })
    }
    return damages
  }
}

const content = (region: Region): boolean => region.content !== undefined

const firstDifference = (
  a: Uint8Array,
  b: Uint8Array,
  begin: number,
  end: number,
): number | undefined => {
  const same = Buffer.compare(a.subarray(begin, end), b.subarray(begin, end)) === 0
  if (same) return undefined
  for (let i = begin; i < end; i++) if (a[i] !== b[i]) return i
  return undefined
}
