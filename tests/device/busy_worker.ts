// A Worker with everything under way that there is: a run, steps behind it, a wait without end.
import { devices } from '../../src/device/device.ts'
import { Fence } from '../../src/device/fence.ts'
import { compile, graph } from '../../src/graph/compile.ts'

declare const self: Worker

const device = devices()[0]!
const weights = device.createBuffer({ size: 256 * 256 * 4 })
const work = graph((b) => {
  let x = b.input('x', 'f32', [64, 256])
  for (let i = 0; i < 200; i++) x = x.linear(b.weight(weights, 0, 'f32', [256, 256]))
  return x
})
const program = compile(work, { threads: 2 })
const queue = device.createQueue()
const fence = new Fence()
const buffer = device.createBuffer({ size: 1 << 20 })
const { bytes } = buffer

const forever = async () => {
  for (;;) await program.run()
}

void forever()
void queue.wait(fence, 1)
void queue.fill(buffer, 1)
for (let i = 0; i < 20; i++) void queue.synchronize()
self.postMessage(bytes.length)
