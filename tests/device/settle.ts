// Waits for what happens by itself: the garbage collector, other threads.
import { type NativeCounters, nativeCounters } from '../../src/native/devices.ts'

/** Looks every few milliseconds, collecting garbage, until `holds`; false after `limitMs`. */
export const eventually = async (holds: () => boolean, limitMs = 10_000): Promise<boolean> => {
  const end = performance.now() + limitMs
  while (!holds()) {
    if (performance.now() > end) return false
    Bun.gc(true)
    await Bun.sleep(5)
  }
  return true
}

/** Whether native memory and objects come back to what they were at `before`. */
export const comesBackTo = (before: NativeCounters): Promise<boolean> =>
  eventually(() => {
    const now = nativeCounters()
    return now.liveBytes <= before.liveBytes && now.liveObjects <= before.liveObjects
  })
