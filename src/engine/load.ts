// Loads a model file: header, tokenizer, and weights where they lie.
import { stat } from 'node:fs/promises'
import type { DeviceBuffer } from '../device/buffer.ts'
import { type Device, type DeviceId, devices } from '../device/device.ts'
import {
  checkArray,
  checkCallback,
  checkObject,
  checkSignal,
  checkWhole,
  shown,
} from '../errors/arguments.ts'
import { DeviceError, LeavenError, UnsupportedModelError } from '../errors/index.ts'
import { FileSlice, type Gguf, type GgufFile, type GgufTensor, readGguf } from '../files/index.ts'
import { type Architecture, architectureOf, type DecoderConfig } from '../models/architecture.ts'
import { isDType } from '../native/dtype.ts'
import type { StoredTensor } from '../nn/weights.ts'
import {
  createTokenizerAsync,
  type Tokenizer,
  vocabularyFromMetadata,
} from '../text/tokenizer/index.ts'
import { type LoraRef, loadAdapters } from './adapters.ts'
import { type KvType, kvTypes } from './kv_memory.ts'

export interface LoadOptions {
  /** Where the model runs; only the CPU exists today. Default `auto`. */
  device?: 'auto' | DeviceId
  /** Layers on a GPU. Without a GPU every layer runs on the CPU, whatever is asked for. */
  gpuLayers?: 'fit' | 'all' | number
  /** Map the file (default), or read it into memory, which survives a file that shrinks. */
  mmap?: boolean
  /** Tokens a generation can hold, prompt included. Default: the model's own, at most 4096. */
  contextSize?: number
  /** Most tokens of one run. Default 512. */
  batchSize?: number
  /** CPU threads. Default: one per processor. */
  threads?: number
  /** How keys and values are cached. Default f16. */
  kv?: { type?: KvType }
  /** Low-rank adapters to add, in this order: files that fit the model. */
  lora?: readonly LoraRef[]
  signal?: AbortSignal
  /** Called with bytes of weights; once when the file is mapped. */
  onProgress?(progress: { loaded: number; total: number }): void
}

/** Everything a file holds, ready to run. */
export interface LoadedModel {
  readonly name: string
  readonly device: Device
  readonly architecture: Architecture
  readonly config: DecoderConfig
  readonly weights: ReadonlyMap<string, StoredTensor>
  readonly tokenizer: Tokenizer
  readonly gguf: Gguf
  readonly buffers: readonly DeviceBuffer[]
}

/**
 * A path, a file URL, a Blob, Bun.file(), or a part of a file: see `bundledModel`. The first part
 * of a split file is enough where the others lie beside it; else all are given, in an array.
 */
export type ModelSource = ModelFile | readonly ModelFile[]
export type ModelFile = string | URL | Blob | FileSlice

/**
 * Reads a GGUF file. Throws GgufError for one that is damaged, UnsupportedModelError for one that
 * cannot run here, OutOfMemoryError when it does not fit.
 */
export const loadModel = async (
  source: ModelSource,
  options: LoadOptions,
): Promise<LoadedModel> => {
  checkOptions(options)
  options.signal?.throwIfAborted()
  const device = deviceOf(options.device ?? 'auto')
  const gguf = await readGguf(await checkSource(source), optional({ signal: options.signal }))
  gguf.checkData()
  const architecture = architectureOf(gguf.metadata)
  const vocabulary = vocabularyFromMetadata((key) => gguf.metadata.get(key))
  const tokenizer = await createTokenizerAsync(vocabulary, optional({ signal: options.signal }))
  const config = architecture.config(gguf.metadata, outputRows(gguf, tokenizer.vocabularySize))
  const buffers: DeviceBuffer[] = []
  try {
    const weights = await loadWeights(gguf, device, options, buffers)
    const adapters = await loadAdapters(options.lora ?? [], architecture.name, weights, device)
    buffers.push(...adapters.buffers)
    for (const [name, tensor] of adapters.weights) weights.set(name, tensor)
    const name = gguf.metadata.string('general.name', { fallback: gguf.files[0]!.name })
    return { name, device, architecture, config, weights, tokenizer, gguf, buffers }
  } catch (error) {
    for (const buffer of buffers) buffer.dispose()
    throw error
  }
}

/** Leaves out what is undefined, as exact optional properties want it. */
const optional = <T extends object>(o: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(o).filter(([, value]) => value !== undefined)) as never

/** The output has as many rows as the embedding, which the vocabulary should match. */
const outputRows = (gguf: Gguf, tokenCount: number): number => {
  const embedding = gguf.tensorsByName.get('token_embd.weight')
  const rows = embedding?.shape.at(-2) ?? 1
  if (embedding !== undefined && tokenCount > 0 && rows < tokenCount) {
    throw new UnsupportedModelError(
      'token_embd.weight',
      embedding.shape,
      `it has ${rows} rows for a vocabulary of ${tokenCount} tokens`,
    )
  }
  return embedding === undefined ? tokenCount : rows
}

const checkOptions = (o: LoadOptions) => {
  checkObject('options', o)
  const { contextSize = 1, batchSize = 1, threads = 1, lora = [], kv = {} } = o
  checkWhole('contextSize', contextSize, 1, 2 ** 24)
  checkWhole('batchSize', batchSize, 1, 2 ** 16)
  checkWhole('threads', threads, 1, 256)
  checkArray('lora', lora)
  checkObject('kv', kv)
  checkSignal(o.signal)
  checkCallback('onProgress', o.onProgress)
  const layers = o.gpuLayers
  const known = layers === undefined || layers === 'fit' || layers === 'all'
  if (!known && !(Number.isInteger(layers) && (layers as number) >= 0)) {
    throw new RangeError(`gpuLayers must be 'fit', 'all' or a count, not ${shown(layers)}`)
  }
  const { type } = kv
  if (type !== undefined && !kvTypes.includes(type)) {
    throw new RangeError(`kv.type must be one of ${kvTypes.join(', ')}, not ${shown(type)}`)
  }
}

const deviceOf = (id: string): Device => {
  const all = devices()
  if (id === 'auto') return all[0]!
  const found = all.find((device) => device.id === id)
  if (found !== undefined) return found
  const name = typeof id === 'string' ? id : shown(id)
  throw new DeviceError(name, `no such device; there is ${all.map((d) => d.id).join(', ')}`)
}

const checkSource = async (source: ModelSource): Promise<ModelSource> => {
  for (const file of Array.isArray(source) ? source : [source]) await checkFile(file)
  return source
}

const checkFile = async (file: unknown): Promise<void> => {
  if (file instanceof Blob) return
  if (typeof file !== 'string' && !(file instanceof URL) && !(file instanceof FileSlice)) {
    throw new TypeError('load() takes a path, a file URL, a Blob, Bun.file() or a FileSlice')
  }
  const path = file instanceof FileSlice ? file.path : file
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new LeavenError('FILE_UNREADABLE', `${String(path)}: ${reasonOf(cause)}`, { cause })
  })
  if (!found.isFile()) throw new LeavenError('FILE_UNREADABLE', `${String(path)}: not a file`)
}

const reasonOf = (cause: NodeJS.ErrnoException): string =>
  cause.code === 'ENOENT' ? 'no such file' : cause.message

const loadWeights = async (
  gguf: Gguf,
  device: Device,
  options: LoadOptions,
  buffers: DeviceBuffer[],
): Promise<Map<string, StoredTensor>> => {
  const total = gguf.tensors.reduce((sum, tensor) => sum + tensor.sizeBytes, 0)
  const report = (loaded: number) => options.onProgress?.({ loaded, total })
  const weights = new Map<string, StoredTensor>()
  let loaded = 0
  for (const [index, file] of gguf.files.entries()) {
    const tensors = gguf.tensors.filter((tensor) => tensor.fileIndex === index)
    const range = options.mmap === false ? undefined : rangeOf(file)
    const mapped = range && device.map(range.path, range.offset, file.size)
    if (mapped !== undefined) buffers.push(mapped)
    for (const tensor of tensors) {
      const place =
        mapped !== undefined && isAligned(tensor, range!.offset)
          ? { buffer: mapped, offset: tensor.offset }
          : await copyTensor(gguf, tensor, device, options.signal, buffers)
      loaded += tensor.sizeBytes
      if (mapped === undefined) report(loaded)
      weights.set(tensor.name, { dtype: dtypeOf(tensor), shape: tensor.shape, ...place })
    }
  }
  report(total)
  return weights
}

/** Where the file can be mapped from; undefined for what is no file of this machine. */
const rangeOf = ({ source }: GgufFile): { path: string; offset: number } | undefined => {
  if (typeof source === 'string') return { path: source, offset: 0 }
  return source instanceof FileSlice ? source : undefined
}

/** Programs take weights at multiples of 8 bytes; maps begin on a page. */
const weightAlignment = 8

const isAligned = (tensor: GgufTensor, fileOffset: number): boolean =>
  (fileOffset + tensor.offset) % weightAlignment === 0

const dtypeOf = (tensor: GgufTensor) => {
  if (isDType(tensor.type)) return tensor.type
  throw new UnsupportedModelError(tensor.name, tensor.type, `type ${tensor.type} is not supported`)
}

/** Bytes read at a time, so that a large tensor leaves the event loop and aborts their turns. */
const chunkBytes = 8 << 20

const copyTensor = async (
  gguf: Gguf,
  tensor: GgufTensor,
  device: Device,
  signal: AbortSignal | undefined,
  buffers: DeviceBuffer[],
): Promise<{ buffer: DeviceBuffer; offset: number }> => {
  const buffer = device.createBuffer({ size: tensor.sizeBytes, usage: 'weights' })
  buffers.push(buffer)
  for (let at = 0; at < tensor.sizeBytes; at += chunkBytes) {
    signal?.throwIfAborted()
    const end = Math.min(at + chunkBytes, tensor.sizeBytes)
    buffer.set(await gguf.readData(tensor, at, end), at)
  }
  return { buffer, offset: 0 }
}
