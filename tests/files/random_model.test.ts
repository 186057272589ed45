// Random models are valid, repeatable, of the published sizes, and their weights are small.
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random, randomBlocks, randomTypes } from '../../bench/random_blocks.ts'
import { modelShapes, writeRandomModel } from '../../bench/random_model.ts'
import { ggufTensorTypes, openGguf } from '../../src/files/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'leaven-random-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'model.gguf')

test('a model has the keys, tensors and vocabulary of a llama model', async () => {
  const summary = await writeRandomModel(path, { shape: 'tiny', type: 'q4_K', vocabulary: 1000 })
  using gguf = openGguf(path)
  gguf.checkData()
  const { metadata, tensorsByName: tensors } = gguf
  expect(metadata.string('general.architecture')).toBe('llama')
  expect(metadata.integer('llama.block_count')).toBe(modelShapes.tiny.layers)
  expect(tensors.get('token_embd.weight')).toMatchObject({ type: 'q4_K', shape: [1000, 256] })
  expect(tensors.get('blk.1.attn_k.weight')!.shape).toEqual([128, 256])
  expect(tensors.get('blk.1.ffn_down.weight')!.shape).toEqual([256, 512])
  expect(tensors.get('output_norm.weight')!.type).toBe('f32')
  const pieces = [...metadata.strings('tokenizer.ggml.tokens')]
  expect(pieces).toHaveLength(1000)
  expect(new Set(pieces).size).toBe(1000)
  expect(pieces.slice(2, 4)).toEqual(['</s>', '<0x00>'])
  for (const key of ['scores', 'token_type']) {
    expect(metadata.numbers(`tokenizer.ggml.${key}`).length).toBe(1000)
  }
  const bytes = gguf.tensors.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  expect(summary.tensorBytes).toBe(bytes)
  expect(summary.tokenBytes).toBe(bytes)
})

test('the same seed gives the same file, another seed another', async () => {
  const [first, again, other] = ['a', 'b', 'c'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await writeRandomModel(first, { seed: 7 })
  await writeRandomModel(again, { seed: 7 })
  await writeRandomModel(other, { seed: 8 })
  expect(readFileSync(first).equals(readFileSync(again))).toBe(true)
  expect(readFileSync(first).equals(readFileSync(other))).toBe(false)
})

test('every weight type can be written; rows that do not fit its blocks take another', async () => {
  for (const type of randomTypes) {
    await writeRandomModel(path, { type })
    const gguf = openGguf(path)
    gguf.checkData()
    expect(gguf.tensorsByName.get('blk.0.ffn_up.weight')!.type).toBe(type)
  }
  const shape = { ...modelShapes.tiny, embedding: 96, heads: 3, keyHeads: 1 }
  await writeRandomModel(path, { type: 'q6_K', shape })
  expect(openGguf(path).tensorsByName.get('blk.0.ffn_up.weight')!.type).toBe('q8_0')
})

test('a vocabulary that is too small, or a shape that is unknown, is a RangeError', async () => {
  await expect(writeRandomModel(path, { vocabulary: 259 })).rejects.toThrow(/more than 259 pieces/)
  await expect(writeRandomModel(path, { shape: '2b' as never })).rejects.toThrow(RangeError)
})

describe('weights have the deviation wanted and no mean', () => {
  const half = (bytes: Uint8Array, at: number): number =>
    new DataView(bytes.buffer, bytes.byteOffset).getFloat16(at, true)
  // Values of a block by the published formulas; the formats here need no tables.
  const decoders: Record<string, (block: Uint8Array) => number[]> = {
    f16: (block) => [half(block, 0)],
    q8_0: (block) => [...new Int8Array(block.slice(2).buffer)].map((code) => code * half(block, 0)),
    q4_0: (block) =>
      [...block.subarray(2)]
        .flatMap((b) => [(b & 15) - 8, (b >> 4) - 8])
        .map((c) => c * half(block, 0)),
    q4_1: (block) =>
      [...block.subarray(4)]
        .flatMap((b) => [b & 15, b >> 4])
        .map((code) => code * half(block, 0) + half(block, 2)),
    mxfp4: (block) =>
      [...block.subarray(1)]
        .flatMap((b) => [b & 15, b >> 4])
        .map(
          (c) => [0, 0.5, 1, 1.5, 2, 3, 4, 6][c & 7]! * (c & 8 ? -1 : 1) * 2 ** (block[0]! - 127),
        ),
  }
  for (const [type, decode] of Object.entries(decoders)) {
    test(type, () => {
      const { blockBytes, blockLength } = ggufTensorTypes[type as keyof typeof ggufTensorTypes]
      const count = 65_536 / blockLength
      const blocks = randomBlocks(type as never, count, 0.02, new Random(1))
      const values = Array.from({ length: count }, (_, index) =>
        decode(blocks.subarray(index * blockBytes, (index + 1) * blockBytes)),
      ).flat()
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length
      const square = values.reduce((sum, value) => sum + value * value, 0) / values.length
      expect(Math.abs(mean)).toBeLessThan(0.001)
      expect(Math.sqrt(square)).toBeGreaterThan(0.015)
      expect(Math.sqrt(square)).toBeLessThan(0.027)
    })
  }
})
