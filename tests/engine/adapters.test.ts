// Low-rank adapters: what they change, and the files that are refused.
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type GgufTensorInput, type GgufValueInput, writeGguf } from '../../src/files/index.ts'
import { load, UnsupportedModelError } from '../../src/index.ts'
import { demoModel } from './altered_model.ts'

const rank = 2

/** An adapter of the demo model's first query projection, [192, 192]. */
const adapterFile = async (change: {
  metadata?: Record<string, GgufValueInput>
  name?: string
  inputs?: number
}) => {
  const { metadata = {}, name = 'blk.0.attn_q.weight', inputs = 192 } = change
  const matrix = (rows: number, columns: number) =>
    new Uint8Array(Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i)).buffer)
  const tensors: GgufTensorInput[] = [
    { name: `${name}.lora_a`, type: 'f32', shape: [rank, inputs], data: matrix(rank, inputs) },
    { name: `${name}.lora_b`, type: 'f32', shape: [192, rank], data: matrix(192, rank) },
  ]
  const folder = mkdtempSync(join(tmpdir(), 'leaven-'))
  const path = join(folder, 'adapter.gguf')
  await writeGguf(path, {
    metadata: {
      'general.architecture': { type: 'string', value: 'llama' },
      'adapter.type': { type: 'string', value: 'lora' },
      'adapter.lora.alpha': { type: 'f32', value: 4 },
      ...metadata,
    },
    tensors,
  })
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}

const logitsWith = async (lora: { path: string; scale?: number }[]) => {
  await using model = await load(demoModel, { lora })
  return (await model.evaluate(Int32Array.of(1, 300, 301))).data
}

test('an adapter changes the logits, and one of scale 0 does not', async () => {
  using file = await adapterFile({})
  const plain = await logitsWith([])
  expect(await logitsWith([{ path: file.path, scale: 0 }])).toEqual(plain)
  expect(await logitsWith([{ path: file.path }])).not.toEqual(plain)
})

test('two adapters add up', async () => {
  using file = await adapterFile({})
  const whole = await logitsWith([{ path: file.path, scale: 1 }])
  const halves = await logitsWith([
    { path: file.path, scale: 0.5 },
    { path: file.path, scale: 0.5 },
  ])
  expect(Math.max(...whole.map((value, i) => Math.abs(value - halves[i]!)))).toBeLessThan(0.05)
})

const refused: [string, Parameters<typeof adapterFile>[0]][] = [
  ['no LoRA', { metadata: { 'adapter.type': { type: 'string', value: 'other' } } }],
  [
    'for another model',
    { metadata: { 'general.architecture': { type: 'string', value: 'gpt2' } } },
  ],
  ['for a weight that is not there', { name: 'blk.99.attn_q.weight' }],
  ['of the wrong shape', { inputs: 96 }],
]

test.each(refused)('an adapter that is %s is refused', async (_, change) => {
  using file = await adapterFile(change)
  const error = await load(demoModel, { lora: [{ path: file.path }] }).then(
    () => undefined,
    (e) => e,
  )
  expect(error).toBeInstanceOf(UnsupportedModelError)
})
