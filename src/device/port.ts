// Ports: the named inputs and outputs of a program, and what their data must look like.
import type { DType } from '../native/dtype.ts'

/** Where a named input or output lies. `offset` and `bytes` count from its slot's start. */
export interface Port {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly offset: number
  readonly bytes: number
  /** The extent that the shape's first size follows, and the bytes that each of it adds. */
  readonly extent: { readonly index: number; readonly bytesEach: number } | undefined
}

/** A typed array of the input's dtype, or its bytes. */
export type InputData = ArrayBufferView

export type Inputs = Readonly<Record<string, InputData>>

type Typed = ArrayBufferView & { slice(): ArrayBufferView }

const isTyped = (data: unknown): data is Typed =>
  ArrayBuffer.isView(data) && !(data instanceof DataView)

/** Data that its owner may change meanwhile, as it is now. */
export const copyOf = (inputs: Inputs): Inputs => {
  const copies: Record<string, InputData> = {}
  for (const name in inputs) {
    const data = inputs[name]
    copies[name] = isTyped(data) ? data.slice() : data!
  }
  return copies
}

/** Bytes of the port when its extent has the value of `extents`. */
export const bytesAt = ({ bytes, extent }: Port, extents: Uint32Array): number =>
  extent === undefined ? bytes : extents[extent.index]! * extent.bytesEach

type ArrayKind = abstract new (...parameters: never[]) => ArrayBufferView

/** Which arrays hold values of a dtype; bytes do for all of them. */
const arraysOf: Partial<Record<DType, readonly ArrayKind[]>> = {
  f32: [Float32Array],
  f16: [Float16Array, Uint16Array],
  bf16: [Uint16Array],
  i32: [Int32Array, Uint32Array],
  u32: [Uint32Array, Int32Array],
  i16: [Int16Array],
  i8: [Int8Array],
  i64: [BigInt64Array],
  f64: [Float64Array],
}

/** The bytes of `data`. Throws when it is of another dtype or size. */
export const inputBytes = (port: Port, data: InputData, extents: Uint32Array): Uint8Array => {
  const { name, dtype } = port
  if (!ArrayBuffer.isView(data)) throw new TypeError(`input '${name}' must be a typed array`)
  const isRaw = data instanceof Uint8Array || data instanceof DataView
  if (!isRaw && !arraysOf[dtype]?.some((kind) => data instanceof kind)) {
    throw new TypeError(`input '${name}' is ${dtype} and cannot take a ${data.constructor.name}`)
  }
  const bytes = bytesAt(port, extents)
  if (data.byteLength !== bytes) {
    const size = isRaw ? 1 : (data as Float32Array).BYTES_PER_ELEMENT
    const unit = isRaw ? 'bytes' : 'elements'
    throw new RangeError(
      `input '${name}' has ${data.byteLength / size} ${unit}, ${bytes / size} are needed`,
    )
  }
  return new Uint8Array(data.buffer, data.byteOffset, bytes)
}
