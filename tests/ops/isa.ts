// Which instruction sets of the CPU's kernels this machine runs; later programs use the choice.
import { native } from '../../src/native/library.ts'

/** The names of build.zig, weakest first. */
const names: Record<string, readonly string[]> = {
  x64: ['v2', 'v3', 'v4', 'v4_vnni'],
  arm64: ['neon', 'dotprod', 'i8mm'],
}

const encoder = new TextEncoder()

/** False when the processor, or the library, has no such kernels. */
export const chooseIsa = (name: string): boolean => {
  const bytes = encoder.encode(name)
  return bytes.length > 0 && native.leaven_choose_isa(bytes, bytes.length) === 0
}

/** Those that this machine runs; the last one is chosen afterwards. */
export const availableIsas = (): string[] => (names[process.arch] ?? []).filter(chooseIsa)
