// Compiles a graph into a program: schedule, ask the device, allocate, lower, prepare.
import { Arena } from '../device/arena.ts'
import { Device, devices } from '../device/device.ts'
import { type InputData, Program, type ProgramLayout, type RunOptions } from '../device/program.ts'
import { Queue } from '../device/queue.ts'
import { checkInstance, checkObject, checkSignal, checkWhole, shown } from '../errors/arguments.ts'
import { LeavenError } from '../errors/index.ts'
import { profileImage } from '../native/devices.ts'
import { allocate } from './allocate.ts'
import { Graph } from './graph.ts'
import { lowering } from './lower.ts'
import { schedule } from './schedule.ts'
import type { Node, Tensor } from './tensor.ts'
import { atOnce, inTurns } from './turns.ts'

/** As many as zig/cpu/pool.zig keeps. */
const threadsMax = 256

export interface CompileOptions {
  /** Where to run; the CPU by default. */
  device?: Device
  queue?: Queue
  /** Programs that share an arena run one after another. */
  arena?: Arena
  /** CPU threads; one per processor by default. */
  threads?: number
}

/**
 * Collects a graph: `build` makes inputs and ops, and returns one result or several by name.
 *
 * ```ts
 * const g = graph((b) => {
 *   const x = b.input('x', 'f32', [2, 3])
 *   return x.mul(x)
 * })
 * const { output } = await compute(g, { x: new Float32Array([1, 2, 3, 4, 5, 6]) })
 * ```
 */
export const graph = (build: (b: Graph) => Tensor | Record<string, Tensor>): Graph => {
  if (typeof build !== 'function')
    throw new TypeError(`build must be a function, not ${shown(build)}`)
  const g = new Graph()
  const result = build(g)
  checkObject('what build returns', result)
  if (isTensor(result)) g.output('output', result)
  else for (const [name, tensor] of Object.entries(result)) g.output(name, tensor)
  return g
}

const isTensor = (value: Tensor | Record<string, Tensor>): value is Tensor =>
  Array.isArray((value as Tensor).dims)

/** The image and layout for `device`, a function of the graph and the device's profile alone. */
export const compileLayout = (g: Graph, device: Device): ProgramLayout =>
  atOnce(layoutStages(g, device))

/** Compiling in stages of a millisecond or so, between which other work may have its turn. */
function* layoutStages(g: Graph, device: Device): Generator<void, ProgramLayout> {
  const plan = schedule(g)
  yield
  const places = allocate(plan, () => 0)
  yield
  const layout = yield* lowering(g, plan, places, device.number)
  yield
  const profile = profileImage(device.number, layout.image, plan.nodes.length)
  for (const [i, { supported }] of profile.entries()) {
    if (!supported) throw unsupported(plan.nodes[i]!, device)
  }
  if (profile.every(({ scratchBytes }) => scratchBytes === 0)) return layout
  const scratch = new Map(plan.nodes.map((node, i) => [node, profile[i]!.scratchBytes]))
  yield
  const again = allocate(plan, (node) => scratch.get(node) ?? 0)
  return yield* lowering(g, plan, again, device.number)
}

const unsupported = (node: Node, device: Device): LeavenError => {
  const types = node.sources.map((t) => t?.dtype ?? 'none').join(', ')
  const label = node.label === '' ? '' : ` (${node.label})`
  return new LeavenError(
    'UNSUPPORTED',
    `${node.op}${label}: ${device.id} cannot do it for ${types}`,
  )
}

/** A compiled graph with a queue and an arena of its own unless `options` shares them. */
export const compile = (g: Graph, options: CompileOptions = {}): Program => {
  checkCompile(g, options)
  const device = deviceOf(options)
  return prepare(compileLayout(g, device), device, options)
}

/** Like `compile`, letting the event loop turn between its stages. */
export const compileAsync = async (g: Graph, options: CompileOptions = {}): Promise<Program> => {
  checkCompile(g, options)
  const device = deviceOf(options)
  return prepare(await inTurns(layoutStages(g, device)), device, options)
}

const checkCompile = (g: Graph, options: CompileOptions): void => {
  checkInstance('the graph', g, Graph, 'a Graph')
  checkObject('options', options)
  const { device, queue, arena, threads = 0 } = options
  if (device !== undefined) checkInstance('device', device, Device, 'a Device')
  if (queue !== undefined) checkInstance('queue', queue, Queue, 'a Queue')
  if (arena !== undefined) checkInstance('arena', arena, Arena, 'an Arena')
  checkWhole('threads', threads, 0, threadsMax)
}

const deviceOf = (options: CompileOptions): Device =>
  options.device ?? options.queue?.device ?? devices()[0]!

const prepare = (layout: ProgramLayout, device: Device, options: CompileOptions): Program => {
  const queue = options.queue ?? device.createQueue()
  const arena = options.arena ?? new Arena(device)
  const owned: Disposable[] = []
  if (options.queue === undefined) owned.push(queue)
  if (options.arena === undefined) owned.push(arena)
  try {
    return new Program(layout, { queue, arena, threads: options.threads, owned })
  } catch (error) {
    for (const part of owned) part[Symbol.dispose]()
    throw error
  }
}

/** Compiles, runs once and forgets the program: copies of all outputs by name. */
export const compute = async (
  g: Graph,
  inputs: Readonly<Record<string, InputData>>,
  options: CompileOptions & RunOptions = {},
): Promise<Record<string, Float32Array<ArrayBuffer>>> => {
  checkCompile(g, options)
  checkSignal(options.signal)
  const device = options.device ?? devices()[0]!
  using queue = device.createQueue()
  using arena = new Arena(device)
  using program = compile(g, { ...options, device, queue, arena })
  return await program.run(inputs, options)
}
