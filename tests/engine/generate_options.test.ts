// The options of a generation: what is refused, and what they do.
import { describe, expect, test } from 'bun:test'
import type { GenerateOptions } from '../../src/engine/generation.ts'
import { LeavenError } from '../../src/errors/index.ts'
import { ScriptedModel } from './scripted_model.ts'

describe('options', () => {
  test('are checked at the call, before any work', () => {
    const model = new ScriptedModel(['a'])
    const cases: [unknown, unknown, string | RegExp][] = [
      [{ temperature: -1 }, RangeError, 'temperature'],
      [{ topP: 2 }, RangeError, 'topP'],
      [{ minP: Number.NaN }, RangeError, 'minP'],
      [{ temperature: '0.7' }, TypeError, 'temperature'],
      [{ topK: 1.5 }, RangeError, 'topK'],
      [{ seed: 2 ** 53 + 2 }, RangeError, 'seed'],
      [{ maxTokens: -1 }, RangeError, 'maxTokens'],
      [{ maxTokens: Number.NaN }, RangeError, 'maxTokens'],
      [{ maxTokens: 1.5 }, RangeError, 'maxTokens'],
      [{ maxTokens: '5' }, TypeError, 'maxTokens'],
      [{ stop: [''] }, RangeError, 'stop string 0 is empty'],
      [{ stop: 'x' }, TypeError, 'stop must be an array'],
      [{ stop: [1] }, TypeError, 'stop string 0'],
      [{ parseSpecial: 1 }, TypeError, 'parseSpecial'],
      [{ signal: {} }, TypeError, 'signal'],
      [{ overflow: 'shift' }, LeavenError, /'shift' is not supported yet/],
      [{ overflow: 'truncate-start' }, LeavenError, /not supported yet/],
      [{ overflow: 'wrap' }, RangeError, 'overflow'],
    ]
    for (const [options, type, message] of cases) {
      const call = () => model.generate('x', options as GenerateOptions)
      expect(call).toThrow(type as typeof Error)
      expect(call).toThrow(message)
    }
    expect(() => model.generate(5 as unknown as string)).toThrow(TypeError)
    expect(() => model.generate([1, -1])).toThrow('token 1 is -1')
    expect(model.openCount).toBe(0)
  })

  test('a prompt of ids is taken as it is, and as it was', async () => {
    const model = new ScriptedModel(['a', 'b'])
    const ids = Int32Array.of(2, 1)
    const generation = model.generate(ids, { maxTokens: 1 })
    ids.fill(-1)
    await generation
    expect(model.steps).toEqual([[2, 1]])
    expect((await model.generate([1, 2], { maxTokens: 1 })).usage.promptTokens).toBe(2)
  })

  test('the same seed draws the same tokens', async () => {
    const pieces = [...'abcdefgh']
    const draw = async (seed: number) =>
      (
        await new ScriptedModel(pieces, { repeat: true }).generate('x', {
          ...{ temperature: 50, topK: 0, topP: 1, minP: 0, seed, maxTokens: 40 },
          bias: new Map([[0, Number.NEGATIVE_INFINITY]]),
        })
      ).text
    expect(await draw(42)).toBe(await draw(42))
    expect(await draw(42)).not.toBe(await draw(43))
  })

  test('penalties see the prompt', async () => {
    const model = new ScriptedModel(['a', 'b'])
    const penalties = { repeat: 1, presence: 5, frequency: 0, lastN: 64 }
    // Token 1 would be the likeliest, and the prompt has it.
    const { tokens } = await model.generate([1], { maxTokens: 1, penalties })
    expect(tokens).toEqual([])
  })
})
