// Terminates Workers with work under way, 120 of them, and tells what they have left behind.
import { type NativeCounters, nativeCounters } from '../../src/native/devices.ts'
import { eventually } from './settle.ts'

const count = Number(process.argv[2])

/** Waits for a Worker to have work under way, then ends it after `delayMs`. */
const startAndTerminate = async (delayMs: number): Promise<void> => {
  const worker = new Worker(new URL('./busy_worker.ts', import.meta.url))
  const closed = new Promise((resolve) => worker.addEventListener('close', resolve))
  await new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve()
    worker.onerror = ({ message }) => reject(new Error(message))
  })
  if (delayMs > 0) await Bun.sleep(delayMs)
  worker.terminate()
  await closed
}

const grown = (now: NativeCounters, before: NativeCounters) => ({
  bytes: now.liveBytes - before.liveBytes,
  objects: now.liveObjects - before.liveObjects,
  threads: now.liveThreads - before.liveThreads,
})

// The pool keeps its threads and their memory; the first Worker makes it as large as it will be.
await startAndTerminate(5)
await eventually(() => nativeCounters().liveThreads <= 4, 3000)
const before = nativeCounters()
for (let i = 0; i < count; i++) await startAndTerminate(i % 4)
const same = await eventually(() => {
  const { bytes, objects, threads } = grown(nativeCounters(), before)
  return bytes <= 0 && objects <= 0 && threads <= 0
})
console.log(JSON.stringify({ same, ...grown(nativeCounters(), before) }))
