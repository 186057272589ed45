// Ops that carry a state from token to token. Values and states go along with the magnitudes that
// their rounding errors are measured by, which follow the same recurrences.
import type { TensorValue } from '../tensor_value.ts'
import { countOf, type Expected, eachIndex, placeOf, type Reference } from './reference.ts'

/** Numbers with what they were added up from. */
class Sized {
  readonly shape: readonly number[]
  readonly data: Float64Array
  readonly magnitude: Float64Array

  constructor(shape: readonly number[], data = new Float64Array(countOf(shape))) {
    this.shape = shape
    this.data = data
    this.magnitude = data.map(Math.abs)
  }

  set(at: number, value: number, magnitude: number): void {
    this.data[at] = value
    this.magnitude[at] = magnitude
  }

  add(at: number, value: number, magnitude: number): void {
    this.data[at]! += value
    this.magnitude[at]! += magnitude
  }

  expected(): Expected {
    return { dtype: 'f32', ...this }
  }
}

const { abs } = Math

/**
 * A short convolution (Gu and Dao 2023, arXiv:2312.00752): x [sequences, channels, width - 1 +
 * tokens] and kernel [channels, width] give [sequences, tokens, channels].
 */
export const ssmConv: Reference = ([x, kernel]) => {
  const [, sequences, channels, length] = x!.shape
  const width = kernel!.shape[3]
  const y = new Sized([1, sequences, length + 1 - width, channels])
  eachIndex(y.shape, ([, s, t, c], at) => {
    for (let k = 0; k < width; k++) {
      const from = placeOf(x!.shape, 0, s, c, t + k)
      const product = kernel!.data[c * width + k]! * x!.data[from]!
      y.add(at, product, abs(product))
    }
  })
  return [y.expected()]
}

const softplus = (x: number): number => (x > 40 ? x : Math.log1p(Math.exp(x)))

/**
 * state = state e^(d a) + d x b and y = state . c with d = softplus(dt). state [slots, heads,
 * head_dim, size], x [sequences, tokens, heads, head_dim], dt [sequences, tokens, heads], a [heads,
 * size or 1], b and c [sequences, tokens, groups, size], slots [sequences].
 */
export const ssmScan: Reference = ([start, x, dt, a, b, c, slots]) => {
  const [sequences, tokens, heads, dim] = x!.shape
  const size = start!.shape[3]
  const y = new Sized(x!.shape)
  const state = new Sized([sequences, heads, dim, size])
  eachIndex(state.shape, ([s, h, i, j], at) => {
    const from = placeOf(start!.shape, slots!.data[s]!, h, i, j)
    state.set(at, start!.data[from]!, abs(start!.data[from]!))
  })
  for (let t = 0; t < tokens; t++) {
    eachIndex(state.shape, ([s, h, i, j], at) => {
      const d = softplus(dt!.data[placeOf(dt!.shape, 0, s, t, h)]!)
      const group = Math.floor(h / (heads / b!.shape[2]))
      const decay = Math.exp(d * a!.data[h * a!.shape[3] + (a!.shape[3] === 1 ? 0 : j)]!)
      const input = d * x!.data[placeOf(x!.shape, s, t, h, i)]!
      const added = input * b!.data[placeOf(b!.shape, s, t, group, j)]!
      // e^u is wrong by as much as u is, which is |u| roundings.
      const reach = 1 + abs(Math.log(decay))
      const kept = state.magnitude[at]! * decay * Math.min(reach, 1e3)
      state.set(at, state.data[at]! * decay + added, kept + abs(added))
      const out = placeOf(y.shape, s, t, h, i)
      const weight = c!.data[placeOf(c!.shape, s, t, group, j)]!
      y.add(out, state.data[at]! * weight, state.magnitude[at]! * abs(weight))
    })
  }
  return [y.expected(), state.expected()]
}

/** One head of one sequence of ops over [tokens, heads, size] with states [size, size]. */
interface Head {
  readonly size: number
  readonly state: Sized
  /** Where the head's state begins, of rows of `size`. */
  readonly base: number
  /** A value of this head and token in source `i`. */
  get(i: number, element: number): number
  /** Adds to the head's result. */
  add(element: number, value: number, magnitude: number): void
}

/** Runs `step` for every token, sequence by sequence. */
const recurrence = (
  sources: readonly TensorValue[],
  start: TensorValue,
  step: (head: Head) => void,
): Expected[] => {
  const [, tokens, heads, size] = sources[0]!.shape
  const sequences = start.shape[0]
  const y = new Sized(sources[0]!.shape)
  const state = new Sized(start.shape, start.data.slice())
  const each = tokens / sequences
  for (let token = 0; token < tokens; token++) {
    for (let h = 0; h < heads; h++) {
      const sequence = Math.floor(token / each)
      const out = placeOf(y.shape, 0, token, h, 0)
      step({
        size,
        state,
        base: placeOf(state.shape, sequence, h, 0, 0),
        get: (i, element) => {
          const source = sources[i]!
          // What has no tokens is the same for all of them.
          const at = source.shape[1] === tokens ? token : 0
          return source.data[placeOf(source.shape, 0, at, h, element)]!
        },
        add: (element, value, magnitude) => y.add(out + element, value, magnitude),
      })
    }
  }
  return [y.expected(), state.expected()]
}

/** RWKV-6 (Peng et al. 2024, arXiv:2404.05892): rows of the state are keys, columns values. */
export const wkv6: Reference = ([k, v, r, first, decay, start]) => {
  // `first` is [heads, size]: the same for all tokens.
  const bonus = { ...first!, shape: [1, 1, first!.shape[2], first!.shape[3]] } as TensorValue
  return recurrence([k!, v!, r!, bonus, decay!], start!, (head) => {
    const { size, state, base, get, add } = head
    for (let i = 0; i < size; i++) {
      for (let j = 0; j < size; j++) {
        const at = base + i * size + j
        const product = get(0, i) * get(1, j)
        const seen = state.data[at]! + get(3, i) * product
        const seenSize = state.magnitude[at]! + abs(get(3, i) * product)
        add(j, seen * get(2, i), seenSize * abs(get(2, i)))
        const kept = state.magnitude[at]! * abs(get(4, i))
        state.set(at, state.data[at]! * get(4, i) + product, kept + abs(product))
      }
    }
  })
}

/** RWKV-7 (Peng et al. 2025, arXiv:2503.14456): rows of the state are values, columns keys. */
export const wkv7: Reference = ([r, w, k, v, a, b, start]) =>
  recurrence([r!, w!, k!, v!, a!, b!], start!, ({ size, state, base, get, add }) => {
    for (let i = 0; i < size; i++) {
      let removed = 0
      let removedSize = 0
      for (let j = 0; j < size; j++) {
        removed += state.data[base + i * size + j]! * get(4, j)
        removedSize += state.magnitude[base + i * size + j]! * abs(get(4, j))
      }
      for (let j = 0; j < size; j++) {
        const at = base + i * size + j
        const added = get(3, i) * get(2, j) + removed * get(5, j)
        const addedSize = abs(get(3, i) * get(2, j)) + removedSize * abs(get(5, j))
        const kept = state.magnitude[at]! * abs(get(1, j))
        state.set(at, state.data[at]! * get(1, j) + added, kept + addedSize)
        add(i, state.data[at]! * get(0, j), state.magnitude[at]! * abs(get(0, j)))
      }
    }
  })

/** Gated linear attention (Yang et al. 2023, arXiv:2312.06635): rows are keys, columns values. */
export const gatedLinearAttn: Reference = ([k, v, q, gate, start], { scale }) =>
  recurrence([k!, v!, q!, gate!], start!, ({ size, state, base, get, add }) => {
    for (let i = 0; i < size; i++) {
      for (let j = 0; j < size; j++) {
        const at = base + i * size + j
        const product = get(0, i) * get(1, j)
        const kept = state.magnitude[at]! * abs(get(3, i))
        state.set(at, state.data[at]! * get(3, i) + product, kept + abs(product))
        const weight = get(2, i) * scale!
        add(j, state.data[at]! * weight, state.magnitude[at]! * abs(weight))
      }
    }
  })

/**
 * The gated delta rule (Yang et al. 2024, arXiv:2412.06464): rows j of the state are values,
 * columns i keys. q and k [sequences', tokens, heads', size], v [sequences, tokens, heads, size],
 * gate and beta like v with one element or `size`; heads of q and k repeat as a whole.
 */
export const gatedDeltaNet: Reference = ([q, k, v, gate, beta, start]) => {
  const [sequences, tokens, heads, size] = v!.shape
  const y = new Sized(v!.shape)
  const state = new Sized(start!.shape, start!.data.slice())
  const shared = (t: TensorValue, [s, token, h, i]: readonly number[]): number => {
    const sequence = Math.floor(s! / (sequences / t.shape[0]))
    const element = t.shape[3] === 1 ? 0 : i!
    return t.data[placeOf(t.shape, sequence, token!, h! % t.shape[2], element)]!
  }
  eachIndex([tokens, sequences, heads, size], ([token, s, h, j]) => {
    const row = placeOf(state.shape, s, h, j, 0)
    let known = 0
    let knownSize = 0
    for (let i = 0; i < size; i++) {
      const decay = Math.exp(shared(gate!, [s, token, h, i]))
      const reach = 1 + Math.min(abs(Math.log(decay)), 1e3)
      state.set(row + i, state.data[row + i]! * decay, state.magnitude[row + i]! * decay * reach)
      known += state.data[row + i]! * shared(k!, [s, token, h, i])
      knownSize += state.magnitude[row + i]! * abs(shared(k!, [s, token, h, i]))
    }
    const strength = shared(beta!, [s, token, h, 0])
    const value = shared(v!, [s, token, h, j])
    const change = (value - known) * strength
    const changeSize = (abs(value) + knownSize) * abs(strength)
    const out = placeOf(y.shape, s, token, h, j)
    for (let i = 0; i < size; i++) {
      const key = shared(k!, [s, token, h, i])
      state.add(row + i, change * key, changeSize * abs(key))
      const weight = shared(q!, [s, token, h, i]) / Math.sqrt(size)
      y.add(out, state.data[row + i]! * weight, state.magnitude[row + i]! * abs(weight))
    }
  })
  return [y.expected(), state.expected()]
}

/** a x = b for lower triangular a [n, n], by forward substitution; b [n, columns]. */
export const solveTri: Reference = ([a, b]) => {
  const columns = b!.shape[3]
  const x = new Sized(b!.shape)
  eachIndex(b!.shape, ([p, q, row], at) => {
    let sum = b!.data[at]!
    let size = abs(sum)
    for (let earlier = 0; earlier < row; earlier++) {
      const factor = a!.data[placeOf(a!.shape, p, q, row, earlier)]!
      const known = at + (earlier - row) * columns
      sum -= factor * x.data[known]!
      size += abs(factor) * x.magnitude[known]!
    }
    const diagonal = a!.data[placeOf(a!.shape, p, q, row, row)]!
    x.set(at, sum / diagonal, size / abs(diagonal))
  })
  return [x.expected()]
}
