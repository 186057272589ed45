// rope: both styles, parts of heads, scaling, factors, YaRN, positions up to a million.
import type { Params } from '../../../src/graph/params.ts'
import { type Operand, permuted, type RowDraft, type Values, whole } from '../row.ts'
import { isCut, layoutsOf } from './sizes.ts'

const op = 'rope'

const paramsOf = (some: Partial<Params>): Params => ({
  style: 0,
  rotated: 64,
  base: 10000,
  scale: 1,
  extrapolation: 0,
  magnitude: 1,
  beta_fast: 32,
  beta_slow: 1,
  original_context: 0,
  ...(some as Params),
})

const positionsOf = (rows: number): Operand => whole('i32', [rows], { below: 512 })

/** x [rows, heads, head_dim]. */
const turned = (
  [rows, heads, dim]: readonly [number, number, number],
  some: Partial<Params>,
  x: Operand = whole('f32', [rows, heads, dim]),
): RowDraft => ({
  op,
  params: paramsOf({ rotated: dim, ...some }),
  operands: [x, positionsOf(rows)],
})

/** head_dim, heads and rotated values that the reference's own test has, and the smallest. */
const heads: readonly (readonly [dim: number, heads: number, rotated: number])[] = [
  [128, 32, 128],
  [128, 40, 128],
  [128, 52, 128],
  [128, 64, 128],
  [64, 1, 64],
  [64, 71, 64],
  [64, 8, 64],
  [80, 32, 20],
  [80, 32, 32],
  [80, 16, 80],
  [256, 4, 64],
  [2, 3, 2],
  [10, 2, 10],
  [30, 3, 14],
  [33, 2, 32],
  [7, 2, 6],
  [66, 2, 66],
]

export function* rope(): Generator<RowDraft> {
  for (const style of [0, 1]) {
    for (const [dim, count, rotated] of heads) {
      for (const scale of [1, 1 / 1.4245]) {
        for (const extrapolation of [0, 0.7465]) {
          for (const magnitude of [1, 1.4245]) {
            const some = { style, rotated, scale, extrapolation, magnitude, original_context: 512 }
            yield turned([2, count, dim], some)
          }
        }
      }
      const factors = whole('f32', [rotated / 2], { low: 0.9, high: 1.5 })
      const plain = turned([3, count, dim], { style, rotated })
      yield { ...plain, operands: [...plain.operands, factors] }
      yield { ...plain, inPlace: 0 }
      for (const x of layoutsOf('f32', [3, count, dim])) {
        const draft = turned([3, count, dim], { style, rotated }, x)
        yield { ...draft, support: isCut(x) ? 'optional' : 'required' }
      }
    }
    yield* extremes(style)
  }
  yield turned([8192, 16, 16], { style: 0 })
  for (const style of [0, 1]) {
    for (const x of layoutsOf('f16', [3, 4, 40])) {
      const support = isCut(x) ? 'optional' : 'required'
      yield { ...turned([3, 4, 40], { style }, x), support }
    }
  }
  const bad: [Partial<Params>, Operand[]][] = [
    [{ rotated: 0 }, []],
    [{ rotated: 3 }, []],
    [{ rotated: 66 }, []],
    [{ style: 77 }, []],
    [{}, [whole('f32', [31])]],
  ]
  for (const [some, more] of bad) {
    const draft = turned([2, 3, 64], some)
    yield { ...draft, operands: [...draft.operands, ...more], support: 'refused' }
  }
  const lonely = turned([2, 3, 64], {})
  yield { ...lonely, operands: [lonely.operands[0], positionsOf(3)], support: 'refused' }
}

function* extremes(style: number): Generator<RowDraft> {
  const far: Values = { list: [0, 1, -1, 131072, -131072, 1_000_000, 2 ** 31 - 1, -(2 ** 31)] }
  for (const base of [10000, 500000, 1e6, 1.5]) {
    const draft = turned([8, 2, 34], { style, base })
    yield { ...draft, operands: [draft.operands[0], whole('i32', [8], far)] }
  }
  for (const original_context of [128, 2048, 131072]) {
    for (const [beta_fast, beta_slow] of [
      [32, 1],
      [24, 2],
      [1, 32],
    ] as const) {
      const some = { style, beta_fast, beta_slow, original_context, extrapolation: 1, scale: 0.25 }
      yield turned([4, 2, 64], some)
    }
  }
  for (const values of ['special', 'tiny', 'huge'] as const) {
    yield turned([3, 2, 40], { style }, whole('f32', [3, 2, 40], values))
  }
  for (const shape of [
    [0, 2, 8],
    [2, 0, 8],
  ] as const) {
    yield turned([shape[0], shape[1], shape[2]], { style })
  }
  const batch = turned([3, 2, 40], { style }, permuted('f32', [2, 3, 2, 40], [1, 0, 2, 3]))
  yield batch
}
