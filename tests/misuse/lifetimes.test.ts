// After dispose, twice, and at the same time: typed errors, and memory that goes.
import { beforeAll, describe, expect, test } from 'bun:test'
import { openGguf } from '../../src/files/index.ts'
import { DisposedError, LeavenError, load, type Model } from '../../src/index.ts'
import { nativeCounters } from '../../src/native/devices.ts'
import { Arena, compile, type Device, devices, Fence, Graph, graph } from '../../src/tensor.ts'
import { comesBackTo } from '../device/settle.ts'
import { demoModel } from '../engine/altered_model.ts'

const [device] = devices() as [Device]
const square = () =>
  graph((b) => {
    const x = b.input('x', 'f32', [1, 4])
    return x.mul(x)
  })
const input = { x: new Float32Array(4) }
const small = { contextSize: 64, batchSize: 16 }

// What the library makes once and keeps, such as tables of handles and the threads of its pool.
beforeAll(async () => {
  new Fence().dispose()
  using program = compile(square())
  await program.run(input)
  const model = await load(demoModel, small)
  await model.generate('Once', { maxTokens: 1 })
  model.dispose()
})

const outcome = async (call: () => unknown): Promise<unknown> => {
  try {
    await call()
    return 'nothing'
  } catch (error) {
    return error
  }
}

/** Runs `body`, and expects the native library to hold no more than before. */
const leavesNothing = async (body: () => Promise<void>) => {
  const before = nativeCounters()
  await body()
  // Threads of queues end by themselves.
  expect(await comesBackTo(before)).toBe(true)
  expect(nativeCounters().mappedBytes).toBeLessThanOrEqual(before.mappedBytes)
}

interface Lifetime<T extends { dispose(): void } = { dispose(): void }> {
  name: string
  make(): T | Promise<T>
  uses: Record<string, (it: T) => unknown>
}
const lifetime = <T extends { dispose(): void }>(row: Lifetime<T>) => row as unknown as Lifetime

const lifetimes: Lifetime[] = [
  lifetime<Model>({
    name: 'a model',
    make: () => load(demoModel, small),
    uses: {
      generate: (model) => model.generate('Once'),
      evaluate: (model) => model.evaluate(Int32Array.of(1)),
    },
  }),
  lifetime({
    name: 'a GGUF file',
    make: () => openGguf(demoModel),
    uses: {
      metadata: (gguf) => gguf.metadata,
      tensors: (gguf) => gguf.tensors,
      tensorsByName: (gguf) => gguf.tensorsByName,
      checkData: (gguf) => gguf.checkData(),
    },
  }),
  lifetime({
    name: 'a buffer',
    make: () => device.createBuffer({ size: 64 }),
    uses: {
      bytes: (buffer) => buffer.bytes,
      window: (buffer) => buffer.window(0, 1),
      get: (buffer) => buffer.get(),
      set: (buffer) => buffer.set(new Uint8Array(1)),
      getInto: (buffer) => buffer.getInto(new Uint8Array(1)),
      fill: (buffer) => buffer.fill(0),
      'a queue': async (buffer) => {
        using queue = device.createQueue()
        await queue.fill(buffer, 0)
      },
      'a weight': (buffer) => {
        const g = new Graph()
        g.output('y', g.input('x', 'f32', [1, 4]).mul(g.weight(buffer, 0, 'f32', [4])))
        compile(g)
      },
    },
  }),
  lifetime({
    name: 'a mapped file',
    make: () => device.map(demoModel, 0, 64),
    uses: { get: (buffer) => buffer.get() },
  }),
  lifetime({
    name: 'a queue',
    make: () => device.createQueue(),
    uses: {
      fill: async (queue) => {
        using buffer = device.createBuffer({ size: 8 })
        await queue.fill(buffer, 0)
      },
      synchronize: (queue) => queue.synchronize(),
      compile: async (queue) => {
        using program = compile(square(), { queue })
        await program.run(input)
      },
    },
  }),
  lifetime({
    name: 'a fence',
    make: () => new Fence(),
    uses: {
      signal: (fence) => fence.signal(1),
      value: (fence) => fence.value,
      'a queue': async (fence) => {
        using queue = device.createQueue()
        await queue.signal(fence, 1)
      },
    },
  }),
  lifetime({
    name: 'a program',
    make: () => compile(square()),
    uses: {
      run: (program) => program.run(input),
      runSync: (program) => program.runSync(input),
      lease: (program) => program.lease(input),
    },
  }),
]

describe.each(lifetimes)('$name', ({ make, uses }) => {
  for (const [name, use] of Object.entries(uses)) {
    test(`used after dispose by ${name} is a DisposedError`, async () => {
      await leavesNothing(async () => {
        const it = await make()
        it.dispose()
        expect(await outcome(() => use(it))).toBeInstanceOf(DisposedError)
      })
    })
  }

  test('may be disposed of twice', async () => {
    await leavesNothing(async () => {
      const it = await make()
      it.dispose()
      it.dispose()
    })
  })
})

describe('at the same time', () => {
  test('a model disposed of while it generates and evaluates ends both with typed errors', () =>
    leavesNothing(async () => {
      const model = await load(demoModel, small)
      const work = [
        outcome(() => model.generate('Once', { maxTokens: 50 })),
        outcome(() => model.generate('The', { maxTokens: 50 })),
        outcome(() => model.evaluate(new Int32Array(40).fill(5))),
      ]
      await Bun.sleep(5)
      model.dispose()
      for (const result of await Promise.all(work)) {
        if (result !== 'nothing') expect(result).toBeInstanceOf(LeavenError)
      }
      await Bun.sleep(20)
    }))

  test('a model disposed of while it is being loaded elsewhere does not disturb that', () =>
    leavesNothing(async () => {
      const [one, two] = await Promise.all([load(demoModel, small), load(demoModel, small)])
      one.dispose()
      expect((await two.generate('Once', { maxTokens: 3 })).tokens.length).toBe(3)
      two.dispose()
    }))

  test('runs of one program take turns', () =>
    leavesNothing(async () => {
      using program = compile(square())
      const values = Array.from({ length: 50 }, (_, i) => i)
      const results = await Promise.all(
        values.map((i) => program.run({ x: new Float32Array(4).fill(i) })),
      )
      expect(results.map(({ output }) => output![0]!)).toEqual(values.map((i) => i * i))
    }))

  test('more jobs than a queue holds are refused, not lost', () =>
    leavesNothing(async () => {
      using queue = device.createQueue()
      using buffer = device.createBuffer({ size: 8 })
      const all = await Promise.all(
        Array.from({ length: 1000 }, () => outcome(() => queue.fill(buffer, 1))),
      )
      const refused = all.filter((each) => each !== 'nothing')
      for (const each of refused) expect(each).toMatchObject({ code: 'BUSY' })
      expect(refused.length).toBeLessThan(1000)
    }))

  test('a buffer disposed of while a queue works on it stays until that is done', () =>
    leavesNothing(async () => {
      using queue = device.createQueue()
      const from = device.createBuffer({ size: 1 << 22 })
      const to = device.createBuffer({ size: 1 << 22 })
      from.fill(7)
      const copying = queue.copy({ buffer: from }, { buffer: to }, 1 << 22)
      from.dispose()
      to.dispose()
      await copying
    }))

  test('a queue disposed of with work under way ends that work', () =>
    leavesNothing(async () => {
      const queue = device.createQueue()
      using fence = new Fence()
      const waiting = outcome(() => queue.wait(fence, 1))
      await Bun.sleep(5)
      queue.dispose()
      expect(await waiting).toBeInstanceOf(LeavenError)
    }))

  test('an arena disposed of under a program is an error or memory anew', () =>
    leavesNothing(async () => {
      using arena = new Arena(device)
      using queue = device.createQueue()
      using program = compile(square(), { queue, arena })
      await program.run(input)
      arena.dispose()
      const again = await outcome(() => program.run(input))
      if (again !== 'nothing') expect(again).toBeInstanceOf(LeavenError)
    }))

  test('one signal for many jobs aborts them all', () =>
    leavesNothing(async () => {
      const model = await load(demoModel, small)
      const abort = new AbortController()
      const reason = new Error('enough')
      const work = Array.from({ length: 6 }, () =>
        outcome(() => model.generate('Once', { signal: abort.signal, maxTokens: 60 })),
      )
      await Bun.sleep(3)
      abort.abort(reason)
      for (const result of await Promise.all(work)) expect(result).toBe(reason)
      model.dispose()
    }))
})

test('what is forgotten is freed by the garbage collector', async () => {
  const before = nativeCounters()
  const forget = () => {
    for (let i = 0; i < 50; i++) {
      device.createBuffer({ size: 1 << 16 })
      new Fence()
      device.map(demoModel, 0, 4096)
    }
  }
  forget()
  expect(nativeCounters().liveBytes).toBeGreaterThanOrEqual(before.liveBytes + 50 * 65_536)
  expect(await comesBackTo(before)).toBe(true)
  expect(nativeCounters().mappedBytes).toBeLessThanOrEqual(before.mappedBytes)
})
