// The kernels' instruction sets: which this processor has, and which is in use.
import { deviceInfo } from './devices.ts'
import { native } from './library.ts'

/** Variants of build.zig by processor, weakest first. */
const variants: Readonly<Record<string, readonly string[]>> = {
  x64: ['v2', 'v3', 'v4', 'v4_vnni'],
  arm64: ['neon', 'dotprod', 'i8mm'],
}

export interface KernelSets {
  readonly chosen: string
  /** All that this processor runs, weakest first. */
  readonly available: readonly string[]
}

/** Tries each variant and returns to the one in use: not while programs are being compiled. */
export const kernelSets = (): KernelSets => {
  const chosen = deviceInfo(0).features[0] ?? ''
  const available = (variants[process.arch] ?? []).filter(choose)
  choose(chosen)
  return { chosen, available }
}

const choose = (name: string): boolean => {
  const bytes = new TextEncoder().encode(name)
  return native.leaven_choose_isa(bytes, bytes.length) === 0
}
