// "leaven/tensor": devices, buffers, queues and graphs, without language models.
export { Arena } from './device/arena.ts'
export { type BufferType, type BufferUsage, DeviceBuffer } from './device/buffer.ts'
export { Device, type DeviceId, devices } from './device/device.ts'
export { Fence } from './device/fence.ts'
export { type Lease, Program, type RunOptions } from './device/program.ts'
export { Queue } from './device/queue.ts'
export { type CompileOptions, compile, compute, graph } from './graph/compile.ts'
export type { Dim, Extent } from './graph/dims.ts'
export { Graph } from './graph/graph.ts'
export {
  type AttentionOperands,
  type AttentionOptions,
  type RopeOptions,
  Tensor,
} from './graph/tensor.ts'
export type { DType } from './native/dtype.ts'
