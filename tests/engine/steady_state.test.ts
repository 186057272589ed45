// What a running generation and a model that is gone cost: nothing.
import { expect, test } from 'bun:test'
import { load } from '../../src/index.ts'
import { nativeCounters } from '../../src/native/devices.ts'
import { comesBackTo } from '../device/settle.ts'
import { demoModel } from './altered_model.ts'

test('from token 2 to token 2,000 nothing is allocated, checked or compiled natively', async () => {
  await using model = await load(demoModel, { contextSize: 2100 })
  const end = model.tokenizer.ids.eos
  const generation = model.generate('Once upon a time', {
    maxTokens: 2000,
    temperature: 0,
    bias: new Map([[end, -Infinity]]),
  })
  let count = 0
  let early = nativeCounters()
  for await (const part of generation) {
    if (part.type !== 'text') continue
    count += part.tokens.length
    if (count <= 2) early = nativeCounters()
  }
  const late = nativeCounters()
  expect(count).toBe(2000)
  // A program that is compiled is checked as well, so checks count compiles too.
  const { allocations, checks } = early
  expect(late).toMatchObject({ allocations, checks })
  // Fewer when what other tests have left is collected meanwhile.
  expect(late.liveObjects).toBeLessThanOrEqual(early.liveObjects)
  expect(late.liveBytes).toBeLessThanOrEqual(early.liveBytes)
  expect(late.runs - early.runs).toBeGreaterThan(1900)
})

test('models that come and go leave nothing behind', async () => {
  const use = async () => {
    await using model = await load(demoModel)
    await model.generate('Once', { maxTokens: 3 })
  }
  await use()
  const before = nativeCounters()
  for (let i = 0; i < 10; i++) await use()
  // The threads of their queues end by themselves.
  expect(await comesBackTo(before)).toBe(true)
  expect(nativeCounters().mappedBytes).toBe(before.mappedBytes)
})
