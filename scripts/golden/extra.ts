// Golden part `extra`: several sequences in one cache, shifts, rope overrides, types of the cache.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAdapters } from '../../src/engine/adapters.ts'
import { Context } from '../../src/engine/context.ts'
import type { KvType } from '../../src/engine/kv_memory.ts'
import type { LoadedModel } from '../../src/engine/load.ts'
import { loadCompressed, nmse, Recorded, unload } from '../recorded.ts'
import { type Report, type Run, selects } from './report.ts'

interface Decode {
  op: 'decode'
  tokens: number[]
  pos: number[]
  seq: number[][]
  logits_offset: number
  rows: number
  cols: number
}

interface SetLora {
  op: 'set_lora'
  file: string
  scale: number
}

type Step =
  | Decode
  | { op: 'seq_rm'; seq: number; p0: number; p1: number }
  | { op: 'seq_cp'; src: number; dst: number; p0: number; p1: number }
  | { op: 'seq_add'; seq: number; p0: number; p1: number; delta: number }
  | { op: 'clear' }
  | SetLora

interface Case {
  id: string
  model: string
  kv?: KvType
  kv_k?: KvType
  kv_v?: KvType
  flash_attn: boolean
  rope_freq_base?: number
  rope_freq_scale?: number
  rope_scaling?: string
  yarn_orig_ctx?: number
  steps: Step[]
}

export const run: Run = async (folder, report, { only }) => {
  const manifest = join(folder, 'manifest.json')
  if (!existsSync(manifest)) return
  const { data, cases } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    data: string
    cases: Case[]
  }
  const recorded = new Recorded(folder, data)
  for (const c of cases) {
    if (!selects(only, c.id)) continue
    let model: LoadedModel | undefined
    try {
      model = await loadCompressed(join(folder, '..', c.model, 'model.gguf.zst'))
      await checkCase(c, { cases, recorded, folder, report }, override(model, c))
    } catch (error) {
      report.fail(c.id, String(error))
    } finally {
      if (model) unload(model)
    }
  }
}

/** The model with the rotation that the case asks for. */
const override = (model: LoadedModel, c: Case): LoadedModel => {
  const scale = c.rope_freq_scale ?? model.config.rope.scale ?? 1
  const rope = { ...model.config.rope, scale, base: c.rope_freq_base ?? model.config.rope.base }
  if (c.rope_scaling === 'yarn') {
    rope.extrapolation = 1
    rope.magnitude = 1 + 0.1 * Math.log(1 / scale)
    rope.originalContext = c.yarn_orig_ctx ?? model.config.contextLength
  }
  return { ...model, config: { ...model.config, rope } }
}

/** What f32 sums in another order, or f16 weights and activations, leave. */
const baseTolerance = ({ model }: Case): number => (model.includes('f16') ? 1e-5 : 1e-9)

/**
 * A rounded cache moves results by what its type costs, and two implementations by independent
 * amounts: three times the distance of the recorded run from the recorded run with an f32 cache.
 */
const toleranceOf = (c: Case, step: Decode, cases: readonly Case[], data: Recorded): number => {
  const exact = cases.find(
    (other) => other.model === c.model && keyType(other) === 'f32' && valueType(other) === 'f32',
  )
  const twin = exact?.steps.find(
    (s) => s.op === 'decode' && s.tokens.join() === step.tokens.join() && s.rows === step.rows,
  )
  if (exact === c || twin === undefined || twin.op !== 'decode') return baseTolerance(c)
  const count = step.rows * step.cols
  const cost = nmse(data.at(step.logits_offset, count), data.at(twin.logits_offset, count))
  return Math.max(baseTolerance(c), 3 * cost)
}

const keyType = (c: Case): KvType => c.kv_k ?? c.kv ?? 'f16'
const valueType = (c: Case): KvType => c.kv_v ?? c.kv ?? 'f16'

interface Setting {
  cases: readonly Case[]
  recorded: Recorded
  folder: string
  report: Report
}

const checkCase = async (
  c: Case,
  { cases, recorded, folder, report }: Setting,
  model: LoadedModel,
) => {
  const sequences = Math.max(...c.steps.flatMap(sequencesOf), 0) + 1
  const open = (weights: LoadedModel['weights']) =>
    new Context(
      { ...model, weights },
      { size: 256, batchSize: 64, sequences, kv: { keys: keyType(c), values: valueType(c) } },
    )
  using owned = new DisposableStack()
  let context = owned.use(open(model.weights))
  const adapt = async ({ file, scale }: SetLora) => {
    const refs = [{ path: join(folder, file), scale }]
    const { weights, buffers } = await loadAdapters(refs, 'llama', model.weights, model.device)
    for (const buffer of buffers) owned.use(buffer)
    return owned.use(open(new Map([...model.weights, ...weights])))
  }
  for (const [i, step] of c.steps.entries()) {
    if (step.op === 'seq_rm') await context.remove(step.seq, step.p0, step.p1)
    else if (step.op === 'seq_cp') await context.copy(step.src, step.dst, step.p0, step.p1)
    else if (step.op === 'seq_add') await context.shift(step.seq, step.p0, step.p1, step.delta)
    else if (step.op === 'clear') await context.clear()
    else if (step.op === 'set_lora') context = await adapt(step)
    else {
      const rows = step.tokens.map((token, r) => {
        const [sequence, ...others] = step.seq[r]!
        if (others.length > 0) throw new Error('a row of several sequences is not supported yet')
        return { token, position: step.pos[r]!, sequence: sequence!, output: true }
      })
      const limit = toleranceOf(c, step, cases, recorded)
      using decoded = await context.decode(rows)
      const error = nmse(decoded.values, recorded.at(step.logits_offset, step.rows * step.cols))
      if (error <= limit) report.pass(`${c.id}/step ${i}`)
      else report.fail(`${c.id}/step ${i}`, `NMSE ${error.toExponential(2)}, at most ${limit}`)
    }
  }
}

const sequencesOf = (step: Step): number[] => {
  if (step.op === 'decode') return step.seq.flat()
  if (step.op === 'seq_cp') return [step.src, step.dst]
  return step.op === 'seq_rm' || step.op === 'seq_add' ? [step.seq] : []
}
