// Asks the native shape rules what an op makes of its operands.
import { ptr } from 'bun:ffi'
import { native } from './library.ts'
import { lastProblem } from './status.ts'

/** A shape as the rules see it: dtype code and four sizes, innermost first. */
export interface NativeShape {
  dtype: number
  ne: readonly [number, number, number, number]
}

/** An absent optional source. */
const absent = 0xffff
const shapeBytes = 36
const sourcesMax = 12
const outputsMax = 4

const sourceBytes = new Uint8Array(new ArrayBuffer(shapeBytes * sourcesMax))
const outputBytes = new Uint8Array(new ArrayBuffer(shapeBytes * outputsMax))
const paramsBytes = new Uint8Array(new ArrayBuffer(64))
const sourceView = new DataView(sourceBytes.buffer)
const outputView = new DataView(outputBytes.buffer)
const sourcePointer = ptr(sourceBytes)
const outputPointer = ptr(outputBytes)
const paramsPointer = ptr(paramsBytes)

/**
 * Shapes of an op's `outputs` outputs, or the rule's complaint as a string. `params` is the op's
 * params struct, little-endian.
 */
export const inferShapes = (
  op: number,
  params: Uint8Array,
  sources: readonly (NativeShape | undefined)[],
  outputs: number,
): NativeShape[] | string => {
  if (sources.length > sourcesMax) return `${sources.length} sources`
  paramsBytes.set(params)
  sources.forEach((source, i) => {
    sourceView.setUint32(i * shapeBytes, source?.dtype ?? absent, true)
    for (let d = 0; d < 4; d++) {
      sourceView.setFloat64(i * shapeBytes + 4 + d * 8, source?.ne[d] ?? 0, true)
    }
  })
  const status = native.leaven_infer(
    op,
    paramsPointer,
    params.length,
    sourcePointer,
    sources.length,
    outputPointer,
  )
  if (status !== 0) return lastProblem().message
  return Array.from({ length: outputs }, (_, i) => {
    const size = (d: number) => outputView.getFloat64(i * shapeBytes + 4 + d * 8, true)
    return {
      dtype: outputView.getUint32(i * shapeBytes, true),
      ne: [size(0), size(1), size(2), size(3)] as const,
    }
  })
}
