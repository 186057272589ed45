// SentencePiece's compiled normalization rules: byte sequences and what replaces them.
//
// Layout: u32 size of the index in bytes, the index, then replacements that end with a zero byte.
// The index is an XOR-compressed compact double array (Kanda 2018, "Space- and time-efficient
// string dictionaries"): a node's children lie at `base ^ byte`, and each entry packs base, check
// and leaf.
import { UnsupportedModelError } from '../../errors/index.ts'

export class Charsmap {
  /** Length in bytes of the sequence matched last. */
  matched = 0
  private readonly index: Uint32Array
  private readonly replacements: Uint8Array

  constructor(compiled: Uint8Array) {
    const view = new DataView(compiled.buffer, compiled.byteOffset, compiled.byteLength)
    const indexBytes = compiled.length >= 4 ? view.getUint32(0, true) : 0
    if (compiled.length < 4 || indexBytes + 4 >= compiled.length || indexBytes % 4 !== 0) {
      throw new UnsupportedModelError(
        'tokenizer.ggml.precompiled_charsmap',
        compiled.length,
        `an index of ${indexBytes} bytes does not fit into ${compiled.length}`,
      )
    }
    this.index = Uint32Array.from({ length: indexBytes / 4 }, (_, i) =>
      view.getUint32(4 + 4 * i, true),
    )
    this.replacements = compiled.subarray(4 + indexBytes)
  }

  /**
   * The replacement of the longest sequence at `start`, whose length is then `matched`; or
   * undefined. Entries that point outside end the search: a damaged table replaces less.
   */
  replacement(text: Uint8Array, start: number): Uint8Array | undefined {
    const { index, replacements } = this
    let offset = -1
    let node = index.length > 0 ? baseOf(index[0]!) : 0
    for (let i = start; i < text.length && text[i] !== 0; i++) {
      node ^= text[i]!
      const entry = index[node]
      if (entry === undefined || (entry & CHECK) !== text[i]) break
      node ^= baseOf(entry)
      const value = index[node]
      if (value === undefined) break
      if (((entry >>> 8) & 1) === 1) {
        offset = value & 0x7fffffff
        this.matched = i + 1 - start
      }
    }
    if (offset < 0) return undefined
    const end = replacements.indexOf(0, offset)
    return end < 0 ? undefined : replacements.subarray(offset, end)
  }
}

/** Bits of the check byte; entries that hold a replacement have bit 31 too and so match no byte. */
const CHECK = 0x800000ff | 0

function baseOf(entry: number): number {
  return (entry >>> 10) << ((entry & 0x200) >>> 6)
}
