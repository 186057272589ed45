// Native programs: images, bindings, runs on this thread.
import { native } from './library.ts'
import { address } from './memory.ts'
import { expectHandle, expectOk } from './status.ts'
import { vm } from './vm.ts'

/** Which memory a slot of an image means. */
export interface NativeBinding {
  slot: number
  buffer: number
  offset: number
}

const bindingBytes = 16

/** Copies, checks and prepares an image; `threads` 0 is one per processor. */
export const createProgram = (image: Uint8Array, threads: number): number =>
  expectHandle(native.leaven_program_create(vm(), address(image), image.length, threads), 'program')

/** Binds slots and, where `extents` is not empty, sets all extents. */
export const updateProgram = (
  program: number,
  bindings: readonly NativeBinding[],
  extents: Uint32Array,
): void => {
  const bytes = new Uint8Array(new ArrayBuffer(bindings.length * bindingBytes))
  const view = new DataView(bytes.buffer)
  bindings.forEach((binding, i) => {
    view.setUint32(i * bindingBytes, binding.slot, true)
    view.setUint32(i * bindingBytes + 4, binding.buffer, true)
    view.setFloat64(i * bindingBytes + 8, binding.offset, true)
  })
  const status = native.leaven_program_update(
    program,
    address(bytes),
    bindings.length,
    address(extents),
    extents.length,
  )
  expectOk(status, 'program')
}

/** Runs on this thread, which waits. */
export const runProgram = (program: number, input: Uint8Array): void =>
  expectOk(native.leaven_program_run(program, address(input), input.length), 'program')

export const releaseProgram = (program: number): void =>
  expectOk(native.leaven_program_release(program), 'program')
