// Low-rank adapters (LoRA, Hu et al. 2021, arXiv:2106.09685) as GGUF files hold them.
import type { DeviceBuffer } from '../device/buffer.ts'
import type { Device } from '../device/device.ts'
import { checkObject, shown } from '../errors/arguments.ts'
import { UnsupportedModelError } from '../errors/index.ts'
import { type Gguf, type GgufTensor, readGguf } from '../files/index.ts'
import { isDType } from '../native/dtype.ts'
import { adapterName, type StoredTensor } from '../nn/weights.ts'

/** An adapter file and how much of it is added; 1 is all. */
export interface LoraRef {
  path: string
  scale?: number
}

/** What adapters add to a model's weights: further tensors, by name, and their memory. */
export interface Adapters {
  readonly weights: ReadonlyMap<string, StoredTensor>
  readonly buffers: readonly DeviceBuffer[]
}

/**
 * Reads adapters for a model with these weights. Each adapted weight W becomes
 * W + scale * alpha / rank * B A. Throws GgufError or UnsupportedModelError.
 */
export const loadAdapters = async (
  refs: readonly LoraRef[],
  architecture: string,
  model: ReadonlyMap<string, StoredTensor>,
  device: Device,
): Promise<Adapters> => {
  const weights = new Map<string, StoredTensor>()
  const buffers: DeviceBuffer[] = []
  try {
    for (const [index, ref] of refs.entries()) {
      checkObject(`lora[${index}]`, ref)
      const { path, scale = 1 } = ref
      if (!Number.isFinite(scale)) throw new RangeError(`lora[${index}].scale ${shown(scale)}`)
      using gguf = await readGguf(path)
      gguf.checkData()
      checkKind(gguf, architecture)
      const alpha = gguf.metadata.number('adapter.lora.alpha', { fallback: 0 })
      for (const { name, a, b } of pairsOf(gguf)) {
        checkPair(name, a, b, model.get(name))
        const rank = a.shape.at(-2)!
        const factor = alpha === 0 ? scale : (scale * alpha) / rank
        const add = async (part: 'a' | 'b' | 'scale', stored: Promise<StoredTensor>) =>
          weights.set(adapterName(name, index, part), await stored)
        await add('a', copyIn(gguf, a, device, buffers))
        await add('b', copyIn(gguf, b, device, buffers))
        await add('scale', scalar(factor, device, buffers))
      }
    }
    return { weights, buffers }
  } catch (error) {
    for (const buffer of buffers) buffer.dispose()
    throw error
  }
}

const checkKind = (gguf: Gguf, architecture: string) => {
  const { metadata } = gguf
  const kind = metadata.string('adapter.type', { fallback: '' })
  if (kind !== 'lora') {
    throw new UnsupportedModelError('adapter.type', kind, 'the file is no LoRA adapter')
  }
  const made = metadata.string('general.architecture')
  if (made !== architecture) {
    throw new UnsupportedModelError(
      'general.architecture',
      made,
      `the adapter is for '${made}', the model is '${architecture}'`,
    )
  }
}

interface Pair {
  name: string
  a: GgufTensor
  b: GgufTensor
}

const pairsOf = (gguf: Gguf): Pair[] =>
  gguf.tensors.flatMap((a) => {
    if (a.name.endsWith('.lora_b')) {
      const partner = `${a.name.slice(0, -1)}a`
      if (gguf.tensorsByName.has(partner)) return []
      throw new UnsupportedModelError(a.name, undefined, `${partner} is missing`)
    }
    if (!a.name.endsWith('.lora_a')) {
      throw new UnsupportedModelError(a.name, undefined, 'this tensor is no part of an adapter')
    }
    const b = gguf.tensorsByName.get(`${a.name.slice(0, -1)}b`)
    if (b === undefined) throw new UnsupportedModelError(a.name, undefined, 'lora_b is missing')
    return [{ name: a.name.slice(0, -'.lora_a'.length), a, b }]
  })

/** a is [rank, inputs] and b [outputs, rank] for a weight [outputs, inputs]. */
const checkPair = (
  name: string,
  a: GgufTensor,
  b: GgufTensor,
  weight: StoredTensor | undefined,
) => {
  if (weight === undefined) {
    throw new UnsupportedModelError(name, undefined, 'the model has no such weight')
  }
  if (name.startsWith('token_embd.')) {
    throw new UnsupportedModelError(name, undefined, 'adapted embeddings are not supported')
  }
  const [outputs, inputs] = weight.shape.slice(-2)
  const [rank, aInputs] = a.shape.slice(-2)
  const [bOutputs, bRank] = b.shape.slice(-2)
  const fits = rank === bRank && aInputs === inputs && bOutputs === outputs
  if (!fits || weight.shape.length !== 2) {
    throw new UnsupportedModelError(
      name,
      [a.shape, b.shape],
      `[${b.shape}] x [${a.shape}] does not fit a weight [${weight.shape}]`,
    )
  }
}

const copyIn = async (
  gguf: Gguf,
  tensor: GgufTensor,
  device: Device,
  buffers: DeviceBuffer[],
): Promise<StoredTensor> => {
  if (!isDType(tensor.type)) {
    throw new UnsupportedModelError(tensor.name, tensor.type, `type ${tensor.type}`)
  }
  const buffer = device.createBuffer({ size: tensor.sizeBytes, usage: 'weights' })
  buffers.push(buffer)
  buffer.set(await gguf.readData(tensor))
  return { dtype: tensor.type, shape: tensor.shape, buffer, offset: 0 }
}

const scalar = async (value: number, device: Device, buffers: DeviceBuffer[]) => {
  const buffer = device.createBuffer({ size: 4, usage: 'weights' })
  buffers.push(buffer)
  buffer.set(Float32Array.of(value))
  return { dtype: 'f32' as const, shape: [1], buffer, offset: 0 }
}
