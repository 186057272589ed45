// This JavaScript VM as native code knows it: handles belong to it, and messages come back to it.
import type { Pointer } from 'bun:ffi'
import { lend } from './lent.ts'
import { native } from './library.ts'
import { errorOf, lastProblem } from './status.ts'

const open = (): Uint32Array => {
  const address = native.leaven_vm_open() as Pointer | null
  if (address === null) throw errorOf(lastProblem(), 'leaven')
  const releaser = native.leaven_vm_releaser() as Pointer
  return new Uint32Array(lend(address, 0, Uint32Array.BYTES_PER_ELEMENT, address, releaser))
}

const number = open()

/**
 * The VM's number. It is read where native code has lent it, so that the loan lasts as long as
 * anybody can ask; when a Worker ends, the loan does, and native code gives up what it still held.
 */
export const vm = (): number => number[0]!
