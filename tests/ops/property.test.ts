// Rows that nobody wrote down: shapes, layouts and dtypes drawn at random.
import { test } from 'bun:test'
import fc from 'fast-check'
import { devices } from '../../src/device/device.ts'
import type { DType } from '../../src/native/dtype.ts'
import { dtypes, gluKinds, unaryKinds } from '../../src/native/ops.gen.ts'
import { sample } from '../tier.ts'
import { attended } from './cases/attention.ts'
import { blockOf, floats, layoutsOf, quantized, ruled } from './cases/sizes.ts'
import { prepare, runPrepared } from './conformance.ts'
import { type Operand, type RowDraft, row, whole } from './row.ts'

const cpu = devices()[0]!

const size = fc.integer({ min: 0, max: 70 })
const someSizes = (rank: number) =>
  fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: rank - 1 })

/** Sizes of one to four dimensions, the last one up to some registers long. */
const shape = fc.tuple(someSizes(4), size).map(([outer, last]) => [...outer, last])

/** A tensor of the shape in any layout. */
const laidOut = (dtype: DType, sizes: readonly number[]): fc.Arbitrary<Operand> =>
  fc.constantFrom(...layoutsOf(dtype, sizes))

const float = fc.constantFrom<DType>(...floats)

/** A divisor of a size, as broadcasting wants it. */
const divisor = (n: number): fc.Arbitrary<number> => {
  const all = Array.from({ length: n }, (_, i) => i + 1).filter((d) => n % d === 0)
  return all.length === 0 ? fc.constantFrom(0, 1) : fc.constantFrom(...all)
}

const optional = (draft: RowDraft): RowDraft => ({ ...draft, support: 'optional' })

const binary = fc
  .tuple(fc.constantFrom('add' as const, 'sub' as const, 'mul' as const, 'div' as const), shape)
  .chain(([op, sizes]) =>
    fc
      .tuple(float, float, fc.tuple(...sizes.map(divisor)))
      .chain(([a, b, smaller]) =>
        fc
          .tuple(laidOut(a, sizes), laidOut(b, smaller))
          .map((operands) => optional({ op, operands })),
      ),
  )

const mapped = fc
  .tuple(float, shape, fc.constantFrom(...Object.values(unaryKinds)))
  .chain(([dtype, sizes, kind]) =>
    laidOut(dtype, sizes).map((x) => optional({ op: 'unary', operands: [x], params: { kind } })),
  )

const gated = fc
  .tuple(float, float, shape, fc.constantFrom(...Object.values(gluKinds)))
  .chain(([a, b, sizes, kind]) =>
    fc
      .tuple(laidOut(a, sizes), laidOut(b, sizes))
      .map((operands) => optional({ op: 'glu', operands, params: { kind } })),
  )

/** Sizes whose rows are whole blocks. */
const blockShape = (dtype: DType) =>
  fc
    .tuple(someSizes(4), fc.integer({ min: 0, max: 5 }))
    .map(([outer, blocks]) => [...outer, blocks * blockOf(dtype)])

const copied = fc
  .tuple(fc.constantFrom<DType>(...floats, ...ruled), fc.constantFrom<DType>(...floats, ...ruled))
  .chain(([from, to]) =>
    blockShape(blockOf(from) > blockOf(to) ? from : to)
      .chain((sizes) => laidOut(from, sizes))
      .map((x) =>
        optional({ op: 'copy', dtype: to, operands: [x], params: { dtype: dtypes[to].code } }),
      ),
  )

const gathered = fc
  .tuple(fc.constantFrom<DType>(...floats, 'i32', ...quantized), fc.nat(6), fc.nat(6), fc.nat(90))
  .chain(([dtype, outer, blocks, count]) =>
    laidOut(dtype, [outer, 7, blocks * blockOf(dtype)]).chain((table) =>
      laidOut('i32', [outer, count]).map((rows) =>
        optional({ op: 'get_rows', operands: [table, { ...rows, values: { below: 7 } }] }),
      ),
    ),
  )

const scattered = fc
  .tuple(fc.constantFrom<DType>(...floats, ...ruled), fc.nat(4), fc.nat(5), fc.nat(9))
  .chain(([dtype, outer, blocks, count]) => {
    const n = blocks * blockOf(dtype)
    return fc
      .tuple(laidOut(dtype, [outer, 9, n]), laidOut('f32', [outer, count, n]))
      .map(([table, x]) => {
        const rows = whole('i64', [count], { below: 9, distinct: true })
        return optional({ op: 'set_rows', dtype, operands: [table, x, rows] })
      })
  })

const product = fc
  .tuple(fc.constantFrom<DType>(...floats, ...quantized), fc.nat(40), fc.nat(40), fc.nat(5))
  .chain(([dtype, n, m, blocks]) => {
    const k = blocks * Math.max(blockOf(dtype), blockOf(dtype) === 1 ? 13 : 32)
    return fc
      .tuple(laidOut(dtype, [n, k]), laidOut('f32', [m, k]), fc.boolean())
      .map(([w, x, biased]) => {
        const bias = biased ? [whole('f32', [n])] : []
        return optional({ op: 'linear', dtype, operands: [w, x, ...bias] })
      })
  })

const normed = shape.chain((sizes) =>
  laidOut('f32', sizes).map((x) =>
    optional({ op: 'rms_norm', operands: [x], params: { epsilon: 1e-5 } }),
  ),
)

const attending = fc
  .record({
    headDim: fc.integer({ min: 1, max: 40 }),
    valueDim: fc.integer({ min: 1, max: 40 }),
    kvHeads: fc.integer({ min: 1, max: 4 }),
    group: fc.integer({ min: 1, max: 5 }),
    rows: fc.nat(40),
    keys: fc.constantFrom<DType>(...floats),
    values: fc.constantFrom<DType>(...floats),
    lengths: fc.array(fc.nat(150), { minLength: 1, maxLength: 4 }),
    block_size: fc.integer({ min: 1, max: 70 }),
    causal: fc.constantFrom(0, 1),
    window: fc.constantFrom(0, 1, 17),
    softcap: fc.constantFrom(0, 5),
    alibi_max: fc.constantFrom(0, 8),
    sinks: fc.boolean(),
  })
  .map(({ group, kvHeads, block_size, causal, window, softcap, alibi_max, ...setup }) => {
    const params = { block_size, causal, window, softcap, alibi_max }
    return attended({ ...setup, kvHeads, heads: group * kvHeads, params })
  })

const anyRow = fc.oneof(
  binary,
  mapped,
  gated,
  copied,
  gathered,
  scattered,
  product,
  normed,
  attending,
)

test('rows of any shape, layout and dtype are computed right or refused by name', async () => {
  const rows = fc.uniqueArray(anyRow.map(row), {
    selector: ({ id }) => id,
    minLength: 1,
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(rows, fc.nat(), async (list, seed) => {
      const results = await runPrepared(
        cpu,
        list.map((one) => prepare(one, seed)),
        [undefined],
      )
      const failed = results.filter(({ status }) => status === 'failed')
      if (failed.length > 0) throw new Error(`${failed[0]!.id}: ${failed[0]!.problem}`)
    }),
    { numRuns: sample({ test: 25, ci: 400, full: 20_000 }), seed: 11 },
  )
}, 36_000_000)
