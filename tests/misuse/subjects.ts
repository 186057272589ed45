// The public functions with arguments that are right; the tests put wrong ones in their place.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as files from '../../src/files/index.ts'
import * as leaven from '../../src/index.ts'
import * as tensor from '../../src/tensor.ts'
import { demoModel } from '../engine/altered_model.ts'

/** A function under test. `args` must be right: a test calls it with them first. */
export interface Subject {
  readonly name: string
  readonly args: readonly unknown[]
  call(...args: never[]): unknown
}

/** Resources that the subjects use. */
export interface Bench extends AsyncDisposable {
  readonly subjects: readonly Subject[]
}

/** Few tokens and a small context, so that whatever is accepted ends soon. */
const small = { contextSize: 32, batchSize: 8 }
const written = join(tmpdir(), `leaven-misuse-${process.pid}.gguf`)

const loading = (): Subject[] => [
  {
    name: 'load',
    args: [
      demoModel,
      {
        device: 'cpu',
        gpuLayers: 'fit',
        mmap: true,
        contextSize: 32,
        batchSize: 8,
        threads: 1,
        kv: { type: 'f16' },
        lora: [],
        signal: AbortSignal.timeout(600_000),
        onProgress: () => {},
      },
    ],
    call: leaven.load,
  },
  { name: 'load of parts', args: [[demoModel], small], call: leaven.load },
  {
    name: 'load of a FileSlice',
    args: [demoModel, 0, Bun.file(demoModel).size, 'name'],
    call: (...args: ConstructorParameters<typeof leaven.FileSlice>) =>
      leaven.load(new leaven.FileSlice(...args), small),
  },
  { name: 'bundledModel', args: ['name'], call: leaven.bundledModel },
]

const sampling = {
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  seed: 1,
  typicalP: 1,
  topNSigma: 0,
  dynamicTemperature: { range: 0.5, exponent: 1 },
  xtc: { probability: 0.1, threshold: 0.1 },
  penalties: { repeat: 1.1, frequency: 0, presence: 0, lastN: 64 },
  dry: { multiplier: 0.8, base: 1.75, allowedLength: 2, lastN: 64, breakers: ['\n'] },
  bias: new Map([[5, -1]]),
  adaptiveP: { target: 0.5, decay: 0.9 },
  infill: false,
}

const generating = (model: leaven.Model): Subject[] => [
  {
    name: 'model.generate',
    args: [
      'Once',
      {
        ...sampling,
        maxTokens: 2,
        stop: ['x'],
        overflow: 'error',
        parseSpecial: false,
        signal: AbortSignal.timeout(600_000),
      },
    ],
    call: (...args: Parameters<leaven.Model['generate']>) => model.generate(...args),
  },
  {
    name: 'model.generate with mirostat',
    args: ['Once', { maxTokens: 2, mirostat: { version: 2, tau: 5, eta: 0.1 } }],
    call: (...args: Parameters<leaven.Model['generate']>) => model.generate(...args),
  },
  {
    name: 'model.generate of ids',
    args: [[1, 2, 3], { maxTokens: 2 }],
    call: (...args: Parameters<leaven.Model['generate']>) => model.generate(...args),
  },
  {
    name: 'generation.toResponse',
    args: [{ format: 'text' }],
    call: (...args: Parameters<leaven.Generation['toResponse']>) => {
      using generation = model.generate('Once', { maxTokens: 1 })
      return generation.toResponse(...args).text()
    },
  },
  {
    name: 'generation.then',
    args: [() => {}, () => {}],
    call: (...args: Parameters<leaven.Generation['then']>) =>
      model.generate('Once', { maxTokens: 1 }).then(...args),
  },
  {
    name: 'model.evaluate',
    args: [Int32Array.of(1, 2, 3), { signal: AbortSignal.timeout(600_000) }],
    call: (...args: Parameters<leaven.Model['evaluate']>) => model.evaluate(...args),
  },
  {
    name: 'measurePerplexity',
    args: [
      model,
      'Once upon a time there was a king. '.repeat(2),
      { runLength: 8, runsMax: 1, signal: AbortSignal.timeout(600_000), onProgress: () => {} },
    ],
    call: leaven.measurePerplexity,
  },
]

const tokenizing = ({ tokenizer }: leaven.Model): Subject[] => [
  {
    name: 'tokenizer.encode',
    args: ['Once', { addSpecial: true, parseSpecial: true, untrusted: [0, 2], repeatBos: false }],
    call: (...args: Parameters<leaven.Tokenizer['encode']>) => tokenizer.encode(...args),
  },
  {
    name: 'tokenizer.encodeAsync',
    args: ['Once', { signal: AbortSignal.timeout(600_000) }],
    call: (...args: Parameters<leaven.Tokenizer['encodeAsync']>) => tokenizer.encodeAsync(...args),
  },
  {
    name: 'tokenizer.encodeBytes',
    args: [new Uint8Array([65, 66]), { untrusted: [0, 1] }],
    call: (...args: Parameters<leaven.Tokenizer['encodeBytes']>) => tokenizer.encodeBytes(...args),
  },
  {
    name: 'tokenizer.decode',
    args: [[1, 2, 3], {}],
    call: (...args: Parameters<leaven.Tokenizer['decode']>) => tokenizer.decode(...args),
  },
  {
    name: 'tokenizer.decodeBytes',
    args: [[1, 2, 3], {}],
    call: (...args: Parameters<leaven.Tokenizer['decodeBytes']>) => tokenizer.decodeBytes(...args),
  },
  {
    name: 'tokenizer.pieceBytes',
    args: [3, { special: true }],
    call: (...args: Parameters<leaven.Tokenizer['pieceBytes']>) => tokenizer.pieceBytes(...args),
  },
  ...(['pieceText', 'isSpecial', 'isEndOfGeneration'] as const).map((name) => ({
    name: `tokenizer.${name}`,
    args: [3],
    call: (id: number) => tokenizer[name](id),
  })),
  { name: 'tokenizer.check', args: [[1]], call: (ids: number[]) => tokenizer.check(ids) },
  { name: 'tokenizer.idOf', args: ['<s>'], call: (piece: string) => tokenizer.idOf(piece) },
]

const reading = (gguf: files.Gguf): Subject[] => [
  { name: 'openGguf', args: [demoModel, { split: true }], call: files.openGguf },
  {
    name: 'readGguf',
    args: [demoModel, { split: true, signal: AbortSignal.timeout(600_000) }],
    call: files.readGguf,
  },
  {
    name: 'writeGguf',
    args: [
      written,
      {
        metadata: { a: 'text', b: { type: 'u32', value: 1 }, c: ['x'] },
        tensors: [{ name: 't', type: 'f32', shape: [1, 2], data: new Float32Array(2) }],
        alignment: 32,
      },
      { signal: AbortSignal.timeout(600_000), onProgress: () => {} },
    ],
    call: files.writeGguf,
  },
  {
    name: 'gguf.readData',
    args: [gguf.tensors[0], 0, 16],
    call: (...args: Parameters<files.Gguf['readData']>) => gguf.readData(...args),
  },
  ...(['get', 'has', 'string', 'bytes'] as const).map((name) => ({
    name: `metadata.${name}`,
    args: ['general.name'],
    call: (key: string) => gguf.metadata[name](key),
  })),
  {
    name: 'metadata.integer',
    args: ['llama.block_count', { min: 1, max: 100, fallback: 1 }],
    call: (key: string, options: files.NumberOptions<number>) =>
      gguf.metadata.integer(key, options),
  },
  {
    name: 'metadata.number',
    args: ['llama.rope.freq_base', { min: 1, max: 1e9, fallback: 1 }],
    call: (key: string, options: files.NumberOptions<number>) => gguf.metadata.number(key, options),
  },
  {
    name: 'metadata.numberEach',
    args: ['llama.block_count', 3, { integer: true }],
    call: (key: string, count: number, options: object) =>
      gguf.metadata.numberEach(key, count, options),
  },
  {
    name: 'metadata.strings',
    args: ['tokenizer.ggml.tokens', { fallback: 1 }],
    call: (key: string, options: object) => gguf.metadata.strings(key, options),
  },
  {
    name: 'metadata.numbers',
    args: ['tokenizer.ggml.token_type', { fallback: 1 }],
    call: (key: string, options: object) => gguf.metadata.numbers(key, options),
  },
]

interface Devices {
  device: tensor.Device
  buffer: tensor.DeviceBuffer
  other: tensor.DeviceBuffer
  queue: tensor.Queue
  fence: tensor.Fence
  program: tensor.Program
}

const devices = ({ device, buffer, other, queue, fence }: Devices): Subject[] => [
  {
    name: 'device.createBuffer',
    args: [{ size: 64, type: 'shared', usage: 'any' }],
    call: (o: { size: number }) => device.createBuffer(o),
  },
  {
    name: 'device.map',
    args: [demoModel, 0, 64],
    call: (...args: Parameters<tensor.Device['map']>) => device.map(...args),
  },
  {
    name: 'buffer.window',
    args: [0, 8],
    call: (...args: [number, number]) => buffer.window(...args),
  },
  {
    name: 'buffer.set',
    args: [new Uint8Array(4), 8],
    call: (...args: Parameters<tensor.DeviceBuffer['set']>) => buffer.set(...args),
  },
  { name: 'buffer.get', args: [0, 8], call: (...args: [number, number]) => buffer.get(...args) },
  {
    name: 'buffer.getInto',
    args: [new Uint8Array(4), 8],
    call: (...args: Parameters<tensor.DeviceBuffer['getInto']>) => buffer.getInto(...args),
  },
  {
    name: 'buffer.fill',
    args: [7, 0, 8],
    call: (...args: Parameters<tensor.DeviceBuffer['fill']>) => buffer.fill(...args),
  },
  {
    name: 'queue.copy',
    args: [{ buffer, offset: 0 }, { buffer: other, offset: 8 }, 8],
    call: (...args: Parameters<tensor.Queue['copy']>) => queue.copy(...args),
  },
  {
    name: 'queue.fill',
    args: [buffer, 1, 0, 8],
    call: (...args: Parameters<tensor.Queue['fill']>) => queue.fill(...args),
  },
  {
    name: 'queue.signal',
    args: [fence, 1],
    call: (...args: Parameters<tensor.Queue['signal']>) => queue.signal(...args),
  },
  {
    name: 'queue.wait',
    args: [fence, 1, { signal: AbortSignal.timeout(600_000) }],
    // A wait for what never comes is ended, since it is no mistake.
    call: async (f: tensor.Fence, value: number, options: { signal?: AbortSignal }) => {
      const signal = AbortSignal.timeout(50)
      const given = options?.signal instanceof AbortSignal ? { signal } : options
      await queue.wait(f, value, given === undefined ? { signal } : given)
    },
  },
  { name: 'fence.signal', args: [1], call: (value: number) => fence.signal(value) },
  { name: 'new Arena', args: [device], call: (d: tensor.Device) => new tensor.Arena(d) },
  {
    name: 'arena.reserve',
    args: [64],
    call: (bytes: number) => {
      using arena = new tensor.Arena(device)
      arena.reserve(bytes)
    },
  },
]

const square = (b: tensor.Graph) => {
  const x = b.input('x', 'f32', [1, 4])
  return x.mul(x)
}

const programs = ({ device, queue, program }: Devices): Subject[] => [
  {
    name: 'program.run',
    args: [{ x: new Float32Array(4) }, { signal: AbortSignal.timeout(600_000), extents: {} }],
    call: (...args: Parameters<tensor.Program['run']>) => program.run(...args),
  },
  {
    name: 'program.runSync',
    args: [{ x: new Float32Array(4) }, { extents: {} }],
    call: (...args: Parameters<tensor.Program['runSync']>) => program.runSync(...args),
  },
  {
    name: 'program.lease',
    args: [{ x: new Float32Array(4) }, {}],
    call: (...args: Parameters<tensor.Program['lease']>) => program.lease(...args),
  },
  {
    name: 'lease.view',
    args: ['output'],
    call: async (name: string) => {
      using lease = await program.lease({ x: new Float32Array(4) })
      lease.view(name)
    },
  },
  { name: 'program.input', args: ['x'], call: (name: string) => program.input(name) },
  {
    name: 'compile',
    args: [tensor.graph(square), { device, queue, arena: new tensor.Arena(device), threads: 1 }],
    call: tensor.compile,
  },
  {
    name: 'compute',
    args: [
      tensor.graph(square),
      { x: new Float32Array(4) },
      { device, threads: 1, signal: AbortSignal.timeout(600_000), extents: {} },
    ],
    call: tensor.compute,
  },
  { name: 'graph', args: [square], call: tensor.graph },
]

const graphs = ({ buffer }: Devices, shared = new tensor.Graph()): Subject[] => [
  {
    name: 'graph.extent',
    args: ['n', 8],
    call: (...args: [string, number]) => new tensor.Graph().extent(...args),
  },
  {
    name: 'graph.input',
    args: ['x', 'f32', [2, 4]],
    call: (...args: Parameters<tensor.Graph['input']>) => new tensor.Graph().input(...args),
  },
  {
    name: 'graph.weight',
    args: [buffer, 0, 'f32', [2, 4]],
    call: (...args: Parameters<tensor.Graph['weight']>) => {
      const g = new tensor.Graph()
      g.output(
        'y',
        g
          .weight(...args)
          .contiguous()
          .mul(g.input('x', 'f32', [1])),
      )
      tensor.compile(g).dispose()
    },
  },
  {
    name: 'graph.state',
    args: [buffer, 0, 'f32', [2, 4]],
    call: (...args: Parameters<tensor.Graph['state']>) => new tensor.Graph().state(...args),
  },
  {
    name: 'graph.output',
    args: ['y', shared.input('x', 'f32', [1])],
    call: (...args: Parameters<tensor.Graph['output']>) => {
      shared.outputs.splice(0)
      shared.output(...args)
      tensor.compile(shared).dispose()
    },
  },
  {
    name: 'graph.within',
    args: ['label', () => 1],
    call: (...args: [string, () => unknown]) => new tensor.Graph().within(...args),
  },
]

/** Methods of Tensor by their names, so that one that is added is tested too. */
const tensors = (): Subject[] => {
  const g = new tensor.Graph()
  const x = g.input('x', 'f32', [2, 8])
  const rows = g.input('rows', 'i32', [2])
  const prototype = tensor.Tensor.prototype as unknown as Record<string, unknown>
  const methods = prototype as Record<string, (...args: never[]) => unknown>
  const names = Object.getOwnPropertyNames(prototype).filter((name) => {
    const { value } = Object.getOwnPropertyDescriptor(prototype, name)!
    return name !== 'constructor' && typeof value === 'function'
  })
  const right: Record<string, unknown[]> = {
    reshape: [[8, 2]],
    permute: [[1, 0]],
    slice: [0, 0, 1],
    cast: ['f16'],
    getRows: [rows],
  }
  return names.map((name) => ({
    name: `tensor.${name}`,
    args: right[name] ?? [x, x, x, x],
    call: (...args: never[]) => methods[name]!.apply(x, args),
  }))
}

/** Everything at once; dispose of it when the calls are over. */
export const openBench = async (): Promise<Bench> => {
  const model = await leaven.load(demoModel, small)
  const gguf = files.openGguf(demoModel)
  const [device] = tensor.devices() as [tensor.Device]
  const own = {
    device,
    buffer: device.createBuffer({ size: 256 }),
    other: device.createBuffer({ size: 256 }),
    queue: device.createQueue(),
    fence: new tensor.Fence(),
    program: tensor.compile(tensor.graph(square)),
  }
  return {
    subjects: [
      ...loading(),
      ...generating(model),
      ...tokenizing(model),
      ...reading(gguf),
      ...devices(own),
      ...programs(own),
      ...graphs(own),
      ...tensors(),
    ],
    async [Symbol.asyncDispose]() {
      const { device: _, ...resources } = own
      for (const resource of Object.values(resources)) resource.dispose()
      gguf.dispose()
      await model[Symbol.asyncDispose]()
      await Bun.file(written)
        .delete()
        .catch(() => {})
    },
  }
}
