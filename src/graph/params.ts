// Packs the params of an op into the bytes that native code reads.
import { shown } from '../errors/arguments.ts'
import { ops } from '../native/ops.gen.ts'

export type OpName = keyof typeof ops
export type Params = Readonly<Record<string, number>>

/** The op's params struct, little-endian. Every field must be given. */
export const packParams = (op: OpName, params: Params): Uint8Array => {
  const { paramsBytes, params: fields } = ops[op]
  const bytes = new Uint8Array(new ArrayBuffer(paramsBytes))
  const view = new DataView(bytes.buffer)
  for (const [name, [type, offset]] of Object.entries(
    fields as Record<string, readonly ['f32' | 'u32' | 'i32', number]>,
  )) {
    const value = params[name]
    if (value === undefined) throw new TypeError(`${op}: ${name} is missing`)
    if (typeof value !== 'number') {
      throw new TypeError(`${op}: ${name} must be a number, not ${shown(value)}`)
    }
    if (type === 'f32') view.setFloat32(offset, value, true)
    else if (type === 'u32') view.setUint32(offset, value, true)
    else view.setInt32(offset, value, true)
  }
  return bytes
}
