// Programs: runs on and off this thread, leases, extents, aborts, and every order of disposal.
import { expect, test } from 'bun:test'
import { Arena } from '../../src/device/arena.ts'
import { devices } from '../../src/device/device.ts'
import type { Program } from '../../src/device/program.ts'
import { DisposedError, LeavenError, OutOfMemoryError } from '../../src/errors/index.ts'
import { compile, compute, graph } from '../../src/graph/compile.ts'
import { Graph } from '../../src/graph/graph.ts'
import { nativeCounters } from '../../src/native/devices.ts'
import { longWork } from './long_work.ts'
import { comesBackTo, eventually } from './settle.ts'

const device = devices()[0]!

const failure = async (promise: Promise<unknown>): Promise<LeavenError> => {
  try {
    await promise
  } catch (error) {
    return error as LeavenError
  }
  throw new Error('it did not fail')
}

/** y = x * x, of up to `rows` rows of 3. */
const squares = (rows: number) => {
  const g = new Graph()
  const x = g.input('x', 'f32', [g.extent('rows', rows), 3])
  g.output('y', x.mul(x))
  return g
}

const floats = (...values: number[]) => new Float32Array(values)

test('run, runSync, lease and compute give the same', async () => {
  using program = compile(squares(2))
  const x = floats(1, 2, 3, 4, 5, 6)
  const y = floats(1, 4, 9, 16, 25, 36)
  expect(await program.run({ x })).toEqual({ y })
  expect(program.runSync({ x })).toEqual({ y })
  const lease = await program.lease({ x })
  expect(lease.view('y')).toEqual(y)
  expect(lease.bytes('y').length).toBe(24)
  expect(lease.nanoseconds).toBeGreaterThan(0)
  lease.release()
  expect(await compute(squares(2), { x })).toEqual({ y })
})

test('input is copied at the call: what is written to it later does not count', async () => {
  using program = compile(squares(1))
  const x = floats(1, 2, 3)
  const running = program.run({ x })
  x.fill(5)
  const waiting = program.run({ x })
  x.fill(100)
  expect((await running).y).toEqual(floats(1, 4, 9))
  expect((await waiting).y).toEqual(floats(25, 25, 25))
})

test('an input that is not given again keeps its data', async () => {
  const g = graph((b) => b.input('x', 'f32', [2]).add(b.input('y', 'f32', [2])))
  using program = compile(g)
  await program.run({ x: floats(1, 2), y: floats(10, 20) })
  expect((await program.run({ y: floats(30, 40) })).output).toEqual(floats(31, 42))
  new Float32Array(program.input('x').buffer, program.input('x').byteOffset, 2).set([5, 6])
  expect((await program.run()).output).toEqual(floats(35, 46))
})

test('an extent may have every value up to its maximum, and keeps it', async () => {
  using program = compile(squares(3))
  for (const rows of [3, 0, 1, 2, 3]) {
    const x = Float32Array.from({ length: rows * 3 }, (_, i) => i)
    const { y } = await program.run({ x }, { extents: { rows } })
    expect(y).toEqual(x.map((value) => value * value))
    expect(program.runSync({ x }).y!.length).toBe(rows * 3)
  }
  for (const rows of [4, -1, 1.5, Number.NaN, '1']) {
    const wrong = program.run({}, { extents: { rows: rows as number } })
    expect(await failure(wrong)).toBeInstanceOf(RangeError)
  }
  expect((await failure(program.run({}, { extents: { row: 1 } }))).message).toContain("'row'")
})

test('data of another size or dtype is refused by name', async () => {
  using program = compile(squares(2))
  const wrong: [unknown, string][] = [
    [floats(1, 2), "input 'x' has 2 elements, 6 are needed"],
    [new Uint8Array(5), "input 'x' has 5 bytes, 24 are needed"],
    [new Float64Array(3), "input 'x' is f32 and cannot take a Float64Array"],
    [new Int32Array(6), 'cannot take a Int32Array'],
    [[1, 2, 3, 4, 5, 6], 'must be a typed array'],
    [undefined, 'must be a typed array'],
  ]
  for (const [x, message] of wrong) {
    expect((await failure(program.run({ x: x as Float32Array }))).message).toContain(message)
  }
  const unknown = program.run({ z: floats(1) })
  expect((await failure(unknown)).message).toBe("there is no 'z' here, only 'x'")
  const bytes = new Uint8Array(floats(1, 2, 3, 4, 5, 6).buffer)
  expect((await program.run({ x: bytes })).y![5]).toBe(36)
})

test('an output that is not f32 is lent as bytes', async () => {
  const g = new Graph()
  g.output('y', g.input('x', 'i32', [3]).getRows(g.input('rows', 'i32', [1])))
  expect(() => g.input('t', 'i32', [4, 2])).not.toThrow()
  using program = compile(
    graph((b) => b.input('t', 'i32', [4, 2]).getRows(b.input('rows', 'i32', [2]))),
  )
  const inputs = { t: Int32Array.of(0, 1, 2, 3, 4, 5, 6, 7), rows: Int32Array.of(3, 1) }
  expect(await failure(program.run(inputs))).toBeInstanceOf(TypeError)
  expect(() => program.runSync(inputs)).toThrow("output 'output' is i32")
  using lease = await program.lease(inputs)
  expect(() => lease.view('output')).toThrow(TypeError)
  expect(new Int32Array(lease.bytes('output').buffer)).toEqual(Int32Array.of(6, 7, 2, 3))
})

test('a lease holds back other runs until it is released, and its views end then', async () => {
  using program = compile(squares(1))
  const lease = await program.lease({ x: floats(1, 2, 3) })
  const view = lease.view('y')
  let later = false
  const next = program.run({ x: floats(4, 5, 6) }).then((results) => {
    later = true
    return results
  })
  await Bun.sleep(30)
  expect(later).toBe(false)
  expect(() => program.runSync()).toThrow('the program is running')
  expect(view).toEqual(floats(1, 4, 9))
  lease.release()
  lease.release()
  expect(view.length).toBe(0)
  expect(() => lease.view('y')).toThrow(DisposedError)
  expect(await next).toEqual({ y: floats(16, 25, 36) })
})

test('a view that was moved to somebody else does not hold the arena', async () => {
  using program = compile(squares(1))
  const lease = await program.lease({ x: floats(1, 2, 3) })
  const { buffer } = lease.view('y')
  const moved = structuredClone(buffer, { transfer: [buffer] })
  lease.release()
  expect(new Float32Array(moved)).toEqual(floats(1, 4, 9))
  expect((await program.run({ x: floats(2, 2, 2) })).y).toEqual(floats(4, 4, 4))
})

test('who waits for the turn is served in order, or aborted', async () => {
  using program = compile(squares(1))
  const lease = await program.lease()
  const order: number[] = []
  const controller = new AbortController()
  const runs = [1, 2, 3].map((n) => {
    const signal = n === 2 ? controller.signal : undefined
    return program.run({ x: floats(n, n, n) }, { signal }).then(
      ({ y }) => order.push(y![0]!),
      (error) => order.push(error),
    )
  })
  await Bun.sleep(5)
  controller.abort('not now')
  await Bun.sleep(5)
  expect(order as unknown[]).toEqual(['not now'])
  lease.release()
  await Promise.all(runs)
  expect(order as unknown[]).toEqual(['not now', 1, 9])
})

test('an abort takes effect inside a run within 50 ms', async () => {
  using program = longWork(2000)
  const waits: number[] = []
  for (let i = 0; i < 5; i++) {
    const controller = new AbortController()
    const running = program.run({}, { signal: controller.signal })
    await Bun.sleep(20 + 10 * i)
    const start = performance.now()
    controller.abort(new Error('enough'))
    expect((await failure(running)).message).toBe('enough')
    waits.push(performance.now() - start)
  }
  // Half of them: the machine may have other things to do.
  expect(waits.sort((a, b) => a - b)[2]).toBeLessThan(50)
})

test('a run that waits for the processor behind another program can be aborted', async () => {
  using first = longWork(1500)
  using second = compile(squares(1))
  const running = first.run()
  await Bun.sleep(20)
  const start = performance.now()
  const waiting = second.run({ x: floats(1, 2, 3) }, { signal: AbortSignal.timeout(20) })
  expect((await failure(waiting)).name).toBe('TimeoutError')
  expect(performance.now() - start).toBeLessThan(1000)
  await running
})

test('preparing a program and changing an extent do not wait for a run', async () => {
  using first = longWork(1500)
  using second = compile(squares(8), { threads: 1 })
  const running = first.run()
  await Bun.sleep(20)
  const start = performance.now()
  using third = compile(squares(5), { threads: 5 })
  const later = second.run({ x: floats(1, 2, 3) }, { extents: { rows: 1 } })
  expect(performance.now() - start).toBeLessThan(500)
  await running
  expect((await later).y).toEqual(floats(1, 4, 9))
  expect((await third.run({ x: floats(3, 3, 3) }, { extents: { rows: 1 } })).y![0]).toBe(9)
})

test('an aborted signal is seen before anything native', async () => {
  using program = compile(squares(1))
  const { runs } = nativeCounters()
  const error = await failure(program.run({}, { signal: AbortSignal.abort('early') }))
  expect(error as unknown).toBe('early')
  expect(nativeCounters().runs).toBe(runs)
})

test('a bad row number fails the run that has it, with the op and the numbers', async () => {
  using program = compile(
    graph((b) => b.input('t', 'f32', [4, 2]).getRows(b.input('rows', 'i32', [2]))),
  )
  const good = program.run({ rows: Int32Array.of(3, 0) })
  const bad = program.run({ rows: Int32Array.of(4, 0) })
  const fine = program.run({ rows: Int32Array.of(0, 0) })
  expect((await good).output!.length).toBe(4)
  const error = await failure(bad)
  expect(error).toBeInstanceOf(LeavenError)
  expect(error.code).toBe('INDEX_OUT_OF_RANGE')
  expect(error.message).toBe('program: get_rows: index 4 is outside [0, 4)')
  expect((await fine).output!.length).toBe(4)
})

test('programs that share an arena take turns in one memory', async () => {
  const before = nativeCounters()
  {
    using arena = new Arena(device)
    using queue = device.createQueue()
    using small = compile(squares(1), { arena, queue })
    using large = compile(squares(1000), { arena, queue })
    const x = new Float32Array(3000).fill(2)
    const results = await Promise.all([
      small.run({ x: floats(1, 2, 3) }),
      large.run({ x }),
      small.run({ x: floats(3, 3, 3) }),
      large.run({ x: x.fill(3) }),
    ])
    expect(results.map(({ y }) => y![0])).toEqual([1, 4, 9, 9])
    expect(arena.bytes).toBe(large.peakBytes)
  }
  expect(await comesBackTo(before)).toBe(true)
})

test('an arena that cannot grow leaves everything as it was', async () => {
  using arena = new Arena(device)
  using program = compile(squares(1), { arena })
  await program.run({ x: floats(1, 2, 3) })
  expect(() => arena.reserve(2 ** 50)).toThrow(OutOfMemoryError)
  expect((await program.run({ x: floats(1, 2, 4) })).y![2]).toBe(16)
})

test('an arena that was disposed of refuses who waits and who comes', async () => {
  const arena = new Arena(device)
  using program = compile(squares(1), { arena })
  const lease = await program.lease({ x: floats(1, 2, 3) })
  const view = lease.view('y')
  const waiting = program.run()
  arena.dispose()
  arena.dispose()
  expect(await failure(waiting)).toBeInstanceOf(DisposedError)
  expect(await failure(program.run())).toBeInstanceOf(DisposedError)
  // What was lent stays until it is given back.
  expect(view).toEqual(floats(1, 4, 9))
  expect(() => lease.view('y')).toThrow(DisposedError)
  lease.release()
  expect(view.length).toBe(0)
})

test('a program that is disposed of during a run ends it; nothing is left behind', async () => {
  const before = nativeCounters()
  const program = longWork(2000)
  const running = failure(program.run())
  const waiting = failure(program.run())
  await Bun.sleep(20)
  const start = performance.now()
  program.dispose()
  program.dispose()
  expect(performance.now() - start).toBeLessThan(100)
  expect(await running).toBeInstanceOf(DisposedError)
  expect(await waiting).toBeInstanceOf(DisposedError)
  expect(performance.now() - start).toBeLessThan(1000)
  expect(await failure(program.run())).toBeInstanceOf(DisposedError)
  expect(() => program.runSync()).toThrow(DisposedError)
  expect(await comesBackTo(before)).toBe(true)
})

test('a run on a queue that is disposed of is cancelled', async () => {
  const queue = device.createQueue()
  using program = longWork(2000, { queue })
  const running = failure(program.run())
  await Bun.sleep(20)
  queue.dispose()
  expect((await running).code).toBe('CANCELLED')
  expect(await failure(program.run())).toBeInstanceOf(DisposedError)
})

test('weights may be disposed of once a program has them', async () => {
  const before = nativeCounters().liveBytes
  const weights = device.createBuffer({ size: 64 })
  weights.set(floats(2, 3, 4))
  const make = () => graph((b) => b.input('x', 'f32', [3]).mul(b.weight(weights, 0, 'f32', [3])))
  const program = compile(make())
  const unmade = make()
  weights.dispose()
  expect(program.runSync({ x: floats(1, 1, 1) }).output).toEqual(floats(2, 3, 4))
  expect(() => compile(unmade)).toThrow(DisposedError)
  program.dispose()
  expect(await eventually(() => nativeCounters().liveBytes === before)).toBe(true)
})

test('forgotten programs are collected with their queues and arenas', async () => {
  const before = nativeCounters()
  for (let i = 0; i < 10; i++) await compile(squares(1000)).run()
  expect(await comesBackTo(before)).toBe(true)
  expect(nativeCounters().liveThreads).toBeLessThanOrEqual(before.liveThreads)
})

test('an image that native code refuses leaves nothing behind', async () => {
  const before = nativeCounters()
  const weights = device.createBuffer({ size: 64 })
  const g = graph((b) => {
    const table = b.weight(weights, 0, 'f32', [2, 3])
    // A weight is read only.
    return table.setRows(b.input('v', 'f32', [1, 3]), b.input('rows', 'i32', [1]))
  })
  for (let i = 0; i < 5; i++) expect(() => compile(g)).toThrow('set_rows')
  weights.dispose()
  expect(nativeCounters().liveThreads).toBe(before.liveThreads)
  expect(await comesBackTo(before)).toBe(true)
})

const size = (program: Program) => program.peakBytes

test('programs of nothing run', async () => {
  using empty = compile(new Graph())
  expect(await empty.run()).toEqual({})
  const g = new Graph()
  const x = g.input('x', 'f32', [0, 4])
  g.output('y', x.add(x))
  g.output('x', x)
  using hollow = compile(g)
  expect(size(hollow)).toBe(0)
  expect(await hollow.run({ x: floats() })).toEqual({ y: floats(), x: floats() })
  using lease = await hollow.lease()
  expect(lease.view('y').length).toBe(0)
})
