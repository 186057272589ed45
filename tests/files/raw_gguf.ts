// Builds GGUF bytes field by field, right or wrong: independent of the writer under test.

/** Appends little-endian fields. Numbers of 64 bits wrap: any bit pattern can be written. */
export class RawGguf {
  readonly #parts: Uint8Array[] = []

  raw(bytes: Uint8Array | string): this {
    this.#parts.push(typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes)
    return this
  }

  #number(size: number, write: (view: DataView) => void): this {
    const bytes = new Uint8Array(size)
    write(new DataView(bytes.buffer))
    return this.raw(bytes)
  }

  u8(value: number): this {
    return this.#number(1, (view) => view.setUint8(0, value))
  }

  u32(value: number): this {
    return this.#number(4, (view) => view.setUint32(0, value, true))
  }

  f32(value: number): this {
    return this.#number(4, (view) => view.setFloat32(0, value, true))
  }

  u64(value: number | bigint): this {
    return this.#number(8, (view) => view.setBigUint64(0, BigInt.asUintN(64, BigInt(value)), true))
  }

  /** A string whose length field may lie. */
  string(text: string | Uint8Array, length?: number | bigint): this {
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
    return this.u64(length ?? bytes.length).raw(bytes)
  }

  header(tensorCount: number | bigint, keyCount: number | bigint, version = 3): this {
    return this.raw('GGUF').u32(version).u64(tensorCount).u64(keyCount)
  }

  /** A key with its value type; the value must follow. */
  key(name: string | Uint8Array, type: number): this {
    return this.string(name).u32(type)
  }

  tensor(
    name: string | Uint8Array,
    ne: readonly (number | bigint)[],
    type: number,
    offset: number | bigint,
  ): this {
    this.string(name).u32(ne.length)
    for (const size of ne) this.u64(size)
    return this.u32(type).u64(offset)
  }

  /** Bytes so far. */
  get size(): number {
    return this.#parts.reduce((sum, part) => sum + part.length, 0)
  }

  /** Zeros up to the next multiple of `alignment`. */
  pad(alignment = 32): this {
    return this.zeros((alignment - (this.size % alignment)) % alignment)
  }

  zeros(count: number): this {
    return this.raw(new Uint8Array(count))
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(Buffer.concat(this.#parts))
  }
}

export const raw = (): RawGguf => new RawGguf()
