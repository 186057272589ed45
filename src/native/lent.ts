// Native memory that JavaScript may hold: an ArrayBuffer that calls back when it is let go of.
import { type Pointer, toArrayBuffer } from 'bun:ffi'

/**
 * Bytes [offset, offset + size) from `address` on. The native function `releaser` gets `context`
 * when the ArrayBuffer is collected or detached, also when its Worker is terminated.
 */
export const lend = toArrayBuffer as (
  address: Pointer,
  offset: number,
  size: number,
  context: Pointer,
  releaser: Pointer,
) => ArrayBuffer
