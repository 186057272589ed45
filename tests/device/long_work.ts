// A program that takes its time: a chain of products, whose length sets how long.

import type { DeviceBuffer } from '../../src/device/buffer.ts'
import { devices } from '../../src/device/device.ts'
import type { Program } from '../../src/device/program.ts'
import { type CompileOptions, compile, graph } from '../../src/graph/compile.ts'

const size = 512

/** Takes at least `milliseconds` on this machine as it is now, with one thread. */
export const longWork = (milliseconds: number, options: CompileOptions = {}): Program => {
  const weights = devices()[0]!.createBuffer({ size: size * size * 4 })
  using probe = chain(weights, 4, options)
  const times = [0, 0, 0].map(() => {
    const start = performance.now()
    probe.runSync()
    return performance.now() - start
  })
  const each = Math.min(...times) / 4
  return chain(weights, Math.ceil((1.2 * milliseconds) / each), options)
}

const chain = (weights: DeviceBuffer, length: number, options: CompileOptions): Program => {
  const g = graph((b) => {
    const weight = b.weight(weights, 0, 'f32', [size, size])
    let x = b.input('x', 'f32', [64, size])
    for (let i = 0; i < length; i++) x = x.linear(weight)
    return x
  })
  return compile(g, { threads: 1, ...options })
}
