// Queues and fences: order, waiting, cancelling, and that JavaScript goes on meanwhile.
import { expect, test } from 'bun:test'
import { devices } from '../../src/device/device.ts'
import { Fence } from '../../src/device/fence.ts'
import { DisposedError, type LeavenError } from '../../src/errors/index.ts'
import { nativeCounters } from '../../src/native/devices.ts'
import { longWork } from './long_work.ts'
import { comesBackTo, eventually } from './settle.ts'

const device = devices()[0]!

/** What a promise rejects with. */
const failure = async (promise: Promise<unknown>): Promise<LeavenError> => {
  try {
    await promise
  } catch (error) {
    return error as LeavenError
  }
  throw new Error('it did not fail')
}

test('steps run in the order they were asked for', async () => {
  using queue = device.createQueue()
  using a = device.createBuffer({ size: 64 })
  using b = device.createBuffer({ size: 64 })
  const ends: number[] = []
  const steps = [
    queue.fill(a, 1),
    queue.copy({ buffer: a }, { buffer: b }, 64),
    queue.fill(a, 2, 0, 32),
    queue.copy({ buffer: a, offset: 16 }, { buffer: b }, 32),
    queue.copy({ buffer: b }, { buffer: b, offset: 8 }, 48),
  ]
  steps.forEach((step, i) => void step.then(() => ends.push(i)))
  await queue.synchronize()
  expect(ends).toEqual([0, 1, 2, 3, 4])
  const expected = new Uint8Array(64).fill(1)
  expected.fill(2, 0, 24)
  expect(b.get()).toEqual(expected)
})

test('a fence orders two queues', async () => {
  using first = device.createQueue()
  using second = device.createQueue()
  using fence = new Fence()
  using buffer = device.createBuffer({ size: 1 << 20 })
  for (let round = 1; round <= 50; round++) {
    const waited = second.wait(fence, round)
    const copied = second.copy({ buffer }, { buffer, offset: 1 << 19 }, 1 << 19)
    void first.fill(buffer, round)
    await first.signal(fence, round)
    await Promise.all([waited, copied])
    expect(buffer.get((1 << 20) - 1)[0]).toBe(round)
  }
  expect(fence.value).toBe(50)
})

test('JavaScript signals a fence, and values only grow', async () => {
  using queue = device.createQueue()
  using fence = new Fence()
  const reached = queue.wait(fence, 5)
  fence.signal(7)
  await reached
  fence.signal(3)
  expect(fence.value).toBe(7)
  await queue.wait(fence, 0)
  expect(() => fence.signal(-1)).toThrow('fence value')
  expect(await failure(queue.wait(fence, Number.NaN))).toBeInstanceOf(RangeError)
})

test('a wait that is aborted rejects with the reason, and the queue goes on', async () => {
  using queue = device.createQueue()
  using fence = new Fence()
  using buffer = device.createBuffer({ size: 4 })
  const controller = new AbortController()
  const waiting = queue.wait(fence, 1, { signal: controller.signal })
  const after = queue.fill(buffer, 3)
  await Bun.sleep(20)
  const start = performance.now()
  controller.abort(new Error('no longer wanted'))
  expect((await failure(waiting)).message).toBe('no longer wanted')
  expect(performance.now() - start).toBeLessThan(1000)
  await after
  expect(buffer.get()).toEqual(new Uint8Array(4).fill(3))
})

test('an aborted signal is seen before anything is asked for', async () => {
  using queue = device.createQueue()
  using fence = new Fence()
  const error = await failure(queue.wait(fence, 1, { signal: AbortSignal.abort() }))
  expect(error.name).toBe('AbortError')
  await queue.synchronize()
})

test('a disposed queue cancels its steps and tells who waits for its signal', async () => {
  const before = nativeCounters().liveThreads
  const queue = device.createQueue()
  using other = device.createQueue()
  using never = new Fence()
  using promised = new Fence()
  using buffer = device.createBuffer({ size: 4 })
  const steps = [
    queue.wait(never, 1),
    queue.fill(buffer, 9),
    queue.signal(promised, 1),
    other.wait(promised, 1),
  ]
  queue.dispose()
  queue.dispose()
  const errors = await Promise.all(steps.map(failure))
  expect(errors.map(({ code }) => code)).toEqual(new Array(4).fill('CANCELLED'))
  expect(errors[3]!.message).toContain('the queue that was to signal it was disposed of')
  expect(buffer.get()).toEqual(new Uint8Array(4))
  expect(() => queue.handle).toThrow(DisposedError)
  expect(await failure(queue.fill(buffer, 1))).toBeInstanceOf(DisposedError)
  expect(await eventually(() => nativeCounters().liveThreads === before + 1)).toBe(true)
})

test('a fence that is disposed of lets its waiters go', async () => {
  using queue = device.createQueue()
  const fence = new Fence()
  const waiting = queue.wait(fence, 1)
  fence.dispose()
  fence.dispose()
  expect((await failure(waiting)).message).toContain('the fence was disposed of')
  expect(() => fence.value).toThrow(DisposedError)
})

test('buffers and fences may be disposed of while steps use them', async () => {
  const before = nativeCounters().liveBytes
  using queue = device.createQueue()
  using gate = new Fence()
  const buffer = device.createBuffer({ size: 1 << 20 })
  const fence = new Fence()
  const steps = [queue.wait(gate, 1), queue.fill(buffer, 1), queue.signal(fence, 1)]
  const start = performance.now()
  buffer.dispose()
  fence.dispose()
  expect(performance.now() - start).toBeLessThan(100)
  expect(nativeCounters().liveBytes - before).toBeGreaterThanOrEqual(1 << 20)
  gate.signal(1)
  await Promise.all(steps)
  expect(nativeCounters().liveBytes).toBe(before)
})

test('steps that cannot be are refused, by name', async () => {
  using queue = device.createQueue()
  using buffer = device.createBuffer({ size: 16 })
  expect(await failure(queue.fill(buffer, 1, 8, 9))).toBeInstanceOf(RangeError)
  expect(await failure(queue.fill(buffer, 256))).toBeInstanceOf(RangeError)
  const outside = queue.copy({ buffer, offset: 8 }, { buffer, offset: 9 }, 8)
  expect((await failure(outside)).message).toBe('8 bytes at 9 of a buffer of 16')
})

test('too many steps at a time are refused, and every other one is told of its end', async () => {
  using queue = device.createQueue()
  using buffer = device.createBuffer({ size: 64 })
  let done = 0
  let busy = 0
  for (let round = 0; round < 8; round++) {
    for (let i = 0; i < 200; i++) {
      void queue.fill(buffer, i).then(
        () => done++,
        ({ code }) => (busy += code === 'BUSY' ? 1 : 0),
      )
    }
    // JavaScript takes no message meanwhile.
    const end = performance.now() + 5
    while (performance.now() < end);
    await Bun.sleep(0)
  }
  expect(await eventually(() => done + busy === 1600)).toBe(true)
  expect(done).toBeGreaterThanOrEqual(128)
  expect(busy).toBeGreaterThan(0)
  await queue.synchronize()
})

test('a queue that nobody holds any more finishes what it was asked for', async () => {
  const before = nativeCounters()
  using buffer = device.createBuffer({ size: 4 })
  using fence = new Fence()
  const steps = (() => {
    const queue = device.createQueue()
    return [queue.wait(fence, 1), queue.fill(buffer, 6)]
  })()
  for (let i = 0; i < 10; i++) {
    Bun.gc(true)
    await Bun.sleep(1)
  }
  fence.signal(1)
  await Promise.all(steps)
  expect(buffer.get()).toEqual(new Uint8Array(4).fill(6))
  buffer.dispose()
  fence.dispose()
  expect(await comesBackTo(before)).toBe(true)
})

test('timers tick while a program runs', async () => {
  using program = longWork(400)
  let ticks = 0
  const timer = setInterval(() => ticks++, 5)
  const start = performance.now()
  await program.run()
  const took = performance.now() - start
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(took / 5 / 4)
})
