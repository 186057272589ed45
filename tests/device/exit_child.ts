// Ends in the way that its argument names, and says when it was ready to.
import { devices } from '../../src/device/device.ts'
import { Fence } from '../../src/device/fence.ts'
import { longWork } from './long_work.ts'

const device = devices()[0]!
const queue = device.createQueue()
const buffer = device.createBuffer({ size: 4096 })
await queue.fill(buffer, 1)

const ready = () => console.log(`ready ${Date.now()}`)

switch (process.argv[2]) {
  case 'idle':
    ready()
    break
  case 'pending run':
    void longWork(200)
      .run()
      .then(() => ready())
    break
  case 'exit during a run':
    void longWork(5000).run()
    void queue.wait(new Fence(), 1)
    await Bun.sleep(50)
    ready()
    process.exit(7)
    break
  case 'error during a run':
    void longWork(5000).run()
    await Bun.sleep(50)
    ready()
    throw new Error('on purpose')
  case 'never used':
    device.createQueue()
    ready()
}
