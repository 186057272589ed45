// Embeddings of positions: both styles of rope, parts of heads, scaling, factors, YaRN, sections.
import type { Params } from '../../../src/graph/params.ts'
import { narrowGaps, type Operand, permuted, type RowDraft, type Values, whole } from '../row.ts'
import { isCut, layoutsOf } from './sizes.ts'

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
  op: 'rope',
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

function* forward(): Generator<RowDraft> {
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

/** The same rows turned back. */
function* backward(): Generator<RowDraft> {
  for (const draft of forward()) yield { ...draft, op: 'rope_back' }
}

interface Sections {
  kind: number
  rotated: number
  dim: number
  sections: readonly [number, number, number, number]
}

const sectionKinds: readonly Sections[] = [
  { kind: 0, rotated: 32, dim: 32, sections: [4, 6, 6, 0] },
  { kind: 0, rotated: 32, dim: 32, sections: [4, 4, 4, 4] },
  { kind: 0, rotated: 20, dim: 33, sections: [2, 3, 1, 1] },
  { kind: 0, rotated: 128, dim: 128, sections: [16, 24, 24, 0] },
  { kind: 1, rotated: 32, dim: 32, sections: [6, 5, 5, 0] },
  { kind: 1, rotated: 128, dim: 128, sections: [24, 20, 20, 0] },
  { kind: 1, rotated: 20, dim: 24, sections: [2, 2, 2, 4] },
  { kind: 2, rotated: 16, dim: 32, sections: [8, 8, 0, 0] },
  { kind: 2, rotated: 40, dim: 80, sections: [20, 20, 0, 0] },
  { kind: 2, rotated: 8, dim: 16, sections: [3, 1, 2, 2] },
]

const multiParams = ({ kind, rotated, sections }: Sections, some: Partial<Params>): Params => {
  const { style: _, ...rest } = paramsOf({ rotated, ...some })
  const [section0, section1, section2, section3] = sections
  return { ...rest, kind, section0, section1, section2, section3 }
}

function* byThree(): Generator<RowDraft> {
  const op = 'rope_multi'
  for (const one of sectionKinds) {
    const positions = whole('i32', [4, 5], { below: 700 })
    const params = multiParams(one, {})
    const shape = [5, 3, one.dim]
    for (const x of layoutsOf('f32', shape)) {
      yield { op, params, operands: [x, positions], support: isCut(x) ? 'optional' : 'required' }
    }
    const yarn = { scale: 0.7, extrapolation: 0.7, magnitude: 1.4, original_context: 512 }
    if (one.kind !== 2) {
      yield { op, params: multiParams(one, yarn), operands: [whole('f32', shape), positions] }
    }
    const pairs = one.kind === 2 ? one.rotated : one.rotated / 2
    const factors = whole('f32', [pairs], { low: 0.9, high: 1.5 })
    yield { op, params, operands: [whole('f32', shape), positions, factors] }
    yield { op, params, operands: [whole('f32', shape), positions], inPlace: 0 }
    yield { op, params, operands: [whole('f16', shape), positions] }
    yield { op, params, operands: [whole('f32', shape, 'special'), positions] }
    const short = whole('i32', [3, 5], { below: 700 })
    yield { op, params, operands: [whole('f32', shape), short], support: 'refused' }
  }
  const empty = { kind: 0, rotated: 32, dim: 32, sections: [0, 0, 0, 0] } as const
  const operands = [whole('f32', [5, 3, 32]), whole('i32', [4, 5], { below: 700 })]
  yield { op, params: multiParams(empty, {}), operands, support: 'refused' }
  const unknown = { ...sectionKinds[0]!, kind: 3 }
  yield { op, params: multiParams(unknown, {}), operands, support: 'refused' }
}

function* times(): Generator<RowDraft> {
  const op = 'timestep_embedding'
  for (const dim of [2, 3, 16, 31, 32, 33, 320]) {
    for (const period of [1, 100, 10000]) {
      const values: Values = { list: [0, 1, 0.5, -3, 12, 999, 1e6] }
      yield { op, params: { dim, period }, operands: [whole('f32', [7], values)] }
      yield { op, params: { dim, period }, operands: [narrowGaps('f32', [3])] }
    }
  }
  yield { op, params: { dim: 16, period: 10000 }, operands: [whole('f32', [0])] }
  for (const params of [
    { dim: 1, period: 10000 },
    { dim: 16, period: 0 },
  ]) {
    yield { op, params, operands: [whole('f32', [3])], support: 'refused' }
  }
}

function* sequences(): Generator<RowDraft> {
  const row = (start: number, stop: number, step: number): RowDraft => ({
    op: 'arange',
    dtype: 'f32',
    operands: [],
    params: { start, stop, step },
  })
  yield row(0, 10, 1)
  yield row(0, 1048576, 1)
  yield row(1.5, 9, 0.75)
  yield row(0, 1, 2)
  yield row(5, -5, -0.25)
  yield row(-3, 3, 0.1)
  yield row(0, 5000, 0.7)
  for (const [start, stop, step] of [
    [0, 1, 0],
    [0, 1, -1],
    [0, 0, 1],
    [0, 1e30, 1],
    [0, Number.NaN, 1],
  ] as const) {
    yield { ...row(start, stop, step), support: 'refused' }
  }
}

export function* positional(): Generator<RowDraft> {
  yield* forward()
  yield* backward()
  yield* byThree()
  yield* times()
  yield* sequences()
}
