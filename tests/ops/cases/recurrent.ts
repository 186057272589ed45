// Ops that carry a state: head sizes, tokens, sequences and groups of every kind.
import type { OpName } from '../../../src/graph/params.ts'
import { Random } from '../random.ts'
import { gaps, type Operand, permuted, type RowDraft, type Values, whole } from '../row.ts'

type Make = (dtype: 'f32', shape: readonly number[], values?: Values) => Operand

/** Tokens before heads in memory lie apart, as where one tensor holds several of them. */
const apart: Make = (dtype, shape, values) =>
  shape.length < 3 ? gaps(dtype, shape, values) : permuted(dtype, shape, orderOf(shape), values)

const orderOf = (shape: readonly number[]): number[] =>
  shape.length === 3 ? [1, 0, 2] : [0, 2, 1, 3]

const makes: readonly Make[] = [whole, gaps, apart]

function* shortConvolutions(): Generator<RowDraft> {
  const row = (x: Operand, kernel: Operand): RowDraft => ({ op: 'ssm_conv', operands: [x, kernel] })
  for (const width of [3, 4, 9]) {
    for (const channels of [1, 7, 33, 1024]) {
      for (const tokens of [1, 4, 61]) {
        for (const sequences of [1, 4]) {
          const length = width - 1 + tokens
          yield row(whole('f32', [sequences, channels, length]), whole('f32', [channels, width]))
        }
      }
    }
    for (const make of makes) {
      yield row(make('f32', [2, 5, width + 8]), gaps('f32', [5, width]))
    }
    yield row(whole('f32', [2, 5, width - 1]), whole('f32', [5, width]))
    yield row(whole('f32', [2, 5, width + 3], 'special'), whole('f32', [5, width]))
  }
  const kernel = whole('f32', [5, 4])
  yield { ...row(whole('f32', [2, 5, 2]), kernel), support: 'refused' }
  yield { ...row(whole('f32', [2, 4, 8]), kernel), support: 'refused' }
  yield { ...row(whole('f16', [2, 5, 8]), kernel), support: 'refused' }
}

interface Scan {
  size: number
  dim: number
  heads: number
  groups: number
  tokens: number
  sequences: number
  /** a has one number for each head. */
  single: boolean
}

const decaying: Values = { low: -2, high: 0 }

const scanned = (scan: Scan, make: Make = whole, slots?: readonly number[]): RowDraft => {
  const { size, dim, heads, groups, tokens, sequences, single } = scan
  const count = sequences + 2
  const list = slots ?? Array.from({ length: sequences }, (_, i) => (i + 1) % count)
  return {
    op: 'ssm_scan',
    operands: [
      make('f32', [count, heads, dim, size]),
      make('f32', [sequences, tokens, heads, dim]),
      whole('f32', [sequences, tokens, heads]),
      whole('f32', [heads, single ? 1 : size], decaying),
      make('f32', [sequences, tokens, groups, size]),
      make('f32', [sequences, tokens, groups, size]),
      whole('i32', [sequences], { list }),
    ],
  }
}

function* scans(): Generator<RowDraft> {
  const plain: Scan = {
    size: 16,
    dim: 8,
    heads: 4,
    groups: 2,
    tokens: 5,
    sequences: 2,
    single: true,
  }
  for (const size of [1, 3, 7, 16, 17, 33, 128, 256]) {
    for (const single of [true, false]) {
      yield scanned({ ...plain, size, single })
      yield scanned({ ...plain, size, single, dim: 1, groups: 1, heads: 9 })
    }
  }
  for (const tokens of [0, 1, 32, 100]) yield scanned({ ...plain, tokens })
  for (const dim of [64, 80]) yield scanned({ ...plain, dim, heads: 8, groups: 4, tokens: 3 })
  for (const [heads, groups] of [
    [1, 1],
    [8, 8],
    [6, 3],
  ] as const) {
    yield scanned({ ...plain, heads, groups })
  }
  for (const make of makes) {
    yield scanned({ ...plain, size: 24 }, make)
    yield scanned({ ...plain, size: 24, single: false }, make)
  }
  yield scanned({ ...plain, sequences: 3 }, whole, [2, 2, 0])
  for (const slots of [
    [0, 4],
    [-1, 0],
  ]) {
    yield { ...scanned(plain, whole, slots), fault: true, note: `slots ${slots}` }
  }
  yield { ...scanned({ ...plain, groups: 3 }), support: 'refused' }
}

interface Heads {
  size: number
  heads: number
  tokens: number
  sequences: number
}

const decays: Values = { low: 0.2, high: 1 }
const small: Values = { low: -0.3, high: 0.3 }

/** Sources like [tokens, heads, size], then the state. */
const tokenSources: readonly {
  op: OpName
  values: readonly Values[]
  /** A source that is the same for all tokens. */
  fixed?: number
  params?: { scale: number }
}[] = [
  { op: 'rwkv_wkv6', values: ['normal', 'normal', 'normal', 'normal', decays], fixed: 3 },
  { op: 'rwkv_wkv7', values: ['normal', decays, 'normal', 'normal', small, small] },
  {
    op: 'gated_linear_attn',
    values: ['normal', 'normal', 'normal', decays],
    params: { scale: 0.25 },
  },
]

function* tokenStates(): Generator<RowDraft> {
  for (const { op, values, fixed, params } of tokenSources) {
    const row = ({ size, heads, tokens, sequences }: Heads, make: Make = whole): RowDraft => ({
      op,
      operands: [
        ...values.map((kind, i) =>
          i === fixed ? make('f32', [heads, size], kind) : make('f32', [tokens, heads, size], kind),
        ),
        make('f32', [sequences, heads, size, size]),
      ],
      ...(params && { params }),
    })
    const plain: Heads = { size: 16, heads: 3, tokens: 6, sequences: 2 }
    for (const size of [1, 3, 7, 8, 15, 16, 17, 33, 64]) yield row({ ...plain, size })
    for (const [tokens, sequences] of [
      [1, 1],
      [32, 1],
      [32, 4],
      [128, 4],
      [0, 1],
    ] as const) {
      yield row({ ...plain, tokens, sequences })
      yield row({ size: 64, heads: 4, tokens: Math.min(tokens, 32), sequences })
    }
    for (const make of makes) yield row({ ...plain, size: 20 }, make)
    yield { ...row({ ...plain, tokens: 5 }), support: 'refused' }
  }
}

interface Delta extends Heads {
  /** Values for each query and key head. */
  repeat: number
  /** A gate for each key. */
  wide: boolean
}

function* deltas(): Generator<RowDraft> {
  const row = (delta: Delta, make: Make = whole): RowDraft => {
    const { size, heads, tokens, sequences, repeat, wide } = delta
    const unit: Values = { low: -1 / Math.sqrt(size), high: 1 / Math.sqrt(size) }
    return {
      op: 'gated_delta_net',
      operands: [
        make('f32', [sequences, tokens, heads / repeat, size]),
        make('f32', [sequences, tokens, heads / repeat, size], unit),
        make('f32', [sequences, tokens, heads, size]),
        make('f32', [sequences, tokens, heads, wide ? size : 1], { low: -1, high: 0 }),
        make('f32', [sequences, tokens, heads, 1], { low: 0, high: 1 }),
        make('f32', [sequences, heads, size, size]),
      ],
    }
  }
  const plain: Delta = { size: 16, heads: 4, tokens: 5, sequences: 2, repeat: 1, wide: false }
  for (const wide of [false, true]) {
    for (const size of [1, 7, 16, 17, 31, 32, 33, 64, 128]) yield row({ ...plain, size, wide })
    for (const tokens of [0, 1, 4, 64, 100]) yield row({ ...plain, tokens, wide })
    for (const repeat of [2, 4]) yield row({ ...plain, repeat, wide })
    for (const make of makes) yield row({ ...plain, size: 24, wide }, make)
  }
  const [q, k, ...rest] = row({ ...plain, repeat: 2 }).operands
  const shared = [q, k].map((x) => whole('f32', [1, ...x!.base.slice(1)]))
  yield { op: 'gated_delta_net', operands: [...shared, ...rest], note: 'one q and k' }
  const three = whole('f32', [2, 5, 3, 16])
  yield { op: 'gated_delta_net', operands: [three, three, ...rest], support: 'refused' }
}

/** Lower triangles that are well conditioned; what lies above the diagonal is nobody's. */
const triangle = (n: number): Values => {
  const random = new Random(n)
  const list = Array.from({ length: n * n }, (_, i) => {
    const row = Math.floor(i / n)
    const column = i % n
    if (column > row) return Number.NaN
    return column === row ? random.between(0.5, 2) : random.between(-1, 1) / Math.sqrt(n)
  })
  return { list: list.length === 0 ? [0] : list }
}

function* triangles(): Generator<RowDraft> {
  const op = 'solve_tri'
  for (const [n, columns, batches] of [
    [10, 3, [4, 3]],
    [11, 5, [1, 1]],
    [17, 9, [2, 4]],
    [30, 8, [7, 1]],
    [42, 10, [5, 2]],
    [64, 10, [2, 2]],
    [64, 64, [2, 2]],
    [79, 64, [1, 2]],
    [100, 65, [1, 1]],
    [1, 1, [1, 1]],
    [3, 130, [1, 2]],
    [0, 4, [1, 1]],
    [4, 0, [1, 1]],
  ] as const) {
    const a = whole('f32', [...batches, n, n], triangle(n))
    const note = `triangle of ${n}`
    yield { op, operands: [a, whole('f32', [...batches, n, columns])], note }
    yield { op, operands: [a, gaps('f32', [...batches, n, columns])], note }
  }
  const transposed = permuted('f32', [2, 9, 9], [0, 2, 1], { low: 0.5, high: 1 })
  yield { op, operands: [transposed, whole('f32', [2, 9, 4])] }
  const cut = whole('f32', [3, 4])
  yield { op, operands: [cut, whole('f32', [3, 4])], support: 'refused' }
  yield { op, operands: [whole('f32', [4, 4]), whole('f32', [3, 4])], support: 'refused' }
}

export function* recurrent(): Generator<RowDraft> {
  yield* shortConvolutions()
  yield* scans()
  yield* tokenStates()
  yield* deltas()
  yield* triangles()
}
