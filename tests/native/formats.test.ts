// Rows of the storage formats through the native library: exact, and refused without sense.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../scripts/golden/quant.ts'
import { LeavenError } from '../../src/errors/index.ts'
import type { DType } from '../../src/native/dtype.ts'
import { dequantize, quantize } from '../../src/native/formats.ts'
import { dtypes } from '../../src/native/ops.gen.ts'

const golden = join(import.meta.dir, '../golden/quant')

const check = async (folder: string) => {
  const passed: string[] = []
  const failed: string[] = []
  const report = {
    pass: (name: string) => passed.push(name),
    fail: (name: string, problem: string) => failed.push(`${name}: ${problem}`),
  }
  await run(folder, report, {})
  return { passed, failed }
}

describe('recorded rows of the reference', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'leaven-quant-'))
    cpSync(golden, folder, { recursive: true })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('are read bit for bit and written byte for byte', async () => {
    const { passed, failed } = await check(golden)
    expect(failed).toEqual([])
    const manifest = JSON.parse(readFileSync(join(golden, 'manifest.json'), 'utf8'))
    const types: string[] = manifest.types.map(({ type }: { type: string }) => type)
    expect(types.length).toBeGreaterThan(25)
    for (const type of types) {
      expect(passed.some((name) => name.startsWith(`${type}/`) && name.endsWith('/read'))).toBe(
        true,
      )
      expect(passed.some((name) => name.startsWith(`${type}/`) && name.endsWith('/write'))).toBe(
        true,
      )
    }
  })

  test('are compared to the last bit', async () => {
    const file = join(folder, 'q6_K.ref.q.bin')
    const bytes = readFileSync(file)
    bytes[0]! ^= 1
    writeFileSync(file, bytes)
    const { failed } = await check(folder)
    expect(failed.map((line) => line.replace(/:.*/, ''))).toEqual([
      'q6_K/ref/read',
      'q6_K/ref/write',
    ])
  })
})

/** Values as weights have them: many small ones and a few large. */
const bell = (count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.sin(i * 12.9898) ** 3 / 10)

/** Largest share of the values' energy that a format may lose on them: about 4^-bits. */
const lossMax: Partial<Record<DType, number>> = {
  f16: 1e-6,
  bf16: 1e-4,
  q8_0: 1e-4,
  q6_K: 4e-4,
  q5_K: 2e-3,
  q4_K: 7e-3,
  q4_0: 1.5e-2,
  iq4_xs: 1.2e-2,
  q3_K: 3e-2,
  iq3_s: 4e-2,
  q2_K: 1e-1,
  iq2_s: 2e-1,
  iq1_m: 4e-1,
}

describe('formats', () => {
  test('lose no more than their bits allow', () => {
    const values = bell(4 * 1024)
    const energy = values.reduce((sum, value) => sum + value * value, 0)
    for (const [dtype, most] of Object.entries(lossMax) as [DType, number][]) {
      const back = dequantize(dtype, quantize(dtype, values, 1024), 1024)
      const lost = back.reduce((sum, value, i) => sum + (value - values[i]!) ** 2, 0)
      expect(`${dtype} ${lost / energy < most || lost / energy}`).toBe(`${dtype} true`)
    }
  })

  test('spend their bits where the importance matrix says', () => {
    const values = bell(1024)
    const importance = new Float32Array(1024).map((_, i) => (i % 8 === 0 ? 100 : 0.01))
    const loss = (bytes: Uint8Array) =>
      dequantize('q4_K', bytes, 1024).reduce(
        (sum, value, i) => sum + importance[i]! * (value - values[i]!) ** 2,
        0,
      )
    const guided = loss(quantize('q4_K', values, 1024, importance))
    expect(guided).toBeLessThan(loss(quantize('q4_K', values, 1024)) / 2)
  })

  test('take input at any offset and leave it alone', () => {
    const values = bell(1024)
    const shifted = new Float32Array(1024 + 3).subarray(3)
    shifted.set(values)
    const bytes = quantize('q5_0', shifted, 512)
    expect(bytes).toEqual(quantize('q5_0', values, 512))
    const odd = new Uint8Array(bytes.length + 1).subarray(1)
    odd.set(bytes)
    expect(dequantize('q5_0', odd, 512)).toEqual(dequantize('q5_0', bytes, 512))
    expect([...shifted]).toEqual([...values])
  })

  test('of no rows are empty', () => {
    expect(quantize('q4_K', new Float32Array(0), 256).length).toBe(0)
    expect(dequantize('q4_K', new Uint8Array(0), 256).length).toBe(0)
  })
})

describe('rows that make no sense', () => {
  const values = new Float32Array(512)

  test('lengths that cut a block are a RangeError that names it', () => {
    expect(() => quantize('q4_K', values, 128)).toThrow('q4_K: no rows of 128 values')
    expect(() => dequantize('q8_0', new Uint8Array(34), 33)).toThrow(RangeError)
    for (const length of [0, -32, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => quantize('q8_0', values, length)).toThrow(RangeError)
      expect(() => dequantize('f32', new Uint8Array(8), length)).toThrow(RangeError)
    }
  })

  test('sizes that are no whole rows are a RangeError', () => {
    expect(() => quantize('q8_0', values.subarray(1), 32)).toThrow('511 values')
    expect(() => dequantize('q8_0', new Uint8Array(35), 32)).toThrow('35 bytes')
    expect(() => quantize('q8_0', values, 256, new Float32Array(255))).toThrow('255 weights')
  })

  test('formats that need an importance matrix say so', () => {
    for (const dtype of ['iq1_s', 'iq2_xxs', 'iq2_xs'] as const) {
      expect(() => quantize(dtype, values, 256)).toThrow('needs an importance matrix')
      expect(quantize(dtype, values, 256, new Float32Array(256).fill(1)).length).toBeGreaterThan(0)
    }
  })

  test('activations packed for products are no format', () => {
    expect(() => quantize('q8_row', values, 512)).toThrow(LeavenError)
    expect(() => dequantize('q8_row', new Uint8Array(640), 512)).toThrow('cannot be read')
  })

  test('NaN, infinities and any bytes do no harm', () => {
    const scatter = (count: number) =>
      Uint8Array.from({ length: count }, (_, i) => Math.imul(i + 1, 2654435761) >>> 21)
    const wild = new Float32Array(scatter(2048 * 4).buffer)
    for (const dtype of Object.keys(dtypes) as DType[]) {
      if (dtype === 'q8_row') continue
      const { length } = quantize(dtype, wild, 2048, wild)
      expect(dequantize(dtype, scatter(length), 2048).length).toBe(2048)
    }
  })
})
