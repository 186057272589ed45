// What leaven finds on a machine, what it chooses, and why.
import { availableParallelism, release } from 'node:os'
import { candidateFolders, folderProblem } from '../native/extract.ts'
import type { KernelSets } from '../native/kernels.ts'
import type { LibraryOrigin } from '../native/library.ts'
import { version } from './version.ts'

export interface DeviceReport {
  id: string
  type: string
  description: string
  memoryTotal: number
  memoryFree: number
}

export interface ModelReport {
  path: string
  /** Why it cannot run here; absent when it can. */
  problem?: string
  architecture?: string
  /** Bytes by type of weight, the most first. */
  types?: Readonly<Record<string, number>>
  /** Bytes. Weights are mapped: those that do not fit are read again and again. */
  weights?: number
  cache?: number
  contextSize?: number
  memoryFree?: number
  /** Whether weights and cache fit into free memory. */
  fits?: boolean
}

export interface DoctorReport {
  leaven: string
  bun: { version: string; path: string }
  platform: { os: string; release: string; processor: string }
  /** Variables that change what leaven does. */
  environment: Record<string, string>
  /** Where an executable keeps its library; from source there is no need of them. */
  cacheFolders: { path: string; problem?: string }[]
  library: LibraryOrigin | { problem: string }
  kernels?: KernelSets
  threads?: { chosen: number; processors: number }
  devices?: DeviceReport[]
  gpu?: { found: boolean; why: string }
  model?: ModelReport
}

/** Looks at everything; a part that fails is in the report, not thrown. */
export const examine = async (modelPath?: string): Promise<DoctorReport> => {
  const report: DoctorReport = {
    leaven: version,
    bun: { version: Bun.version, path: process.execPath },
    platform: { os: process.platform, release: release(), processor: process.arch },
    environment: settings(),
    cacheFolders: candidateFolders().map((path) => {
      const problem = folderProblem(path)
      return problem === undefined ? { path } : { path, problem }
    }),
    library: { problem: '' },
  }
  try {
    await examineNative(report)
  } catch (error) {
    report.library = { problem: messageOf(error) }
    return report
  }
  if (modelPath !== undefined) report.model = await examineModel(modelPath)
  return report
}

/** True when nothing that was looked at stands against generating text. */
export const isHealthy = ({ library, model }: DoctorReport): boolean =>
  !('problem' in library) && model?.problem === undefined && model?.fits !== false

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : `${error}`)

const settings = (): Record<string, string> => {
  const known = Object.entries(process.env).filter(([name]) => name.startsWith('LEAVEN_'))
  return Object.fromEntries(known.map(([name, value]) => [name, value ?? '']))
}

/** Imported here, since importing the library is what may fail. */
const examineNative = async (report: DoctorReport): Promise<void> => {
  const { libraryOrigin } = await import('../native/library.ts')
  const { kernelSets } = await import('../native/kernels.ts')
  const { devices } = await import('../device/device.ts')
  report.library = libraryOrigin
  report.kernels = kernelSets()
  const processors = availableParallelism()
  report.threads = { chosen: processors, processors }
  const list = devices()
  report.devices = list.map(({ id, type, description, memoryTotal, memoryFree }) => ({
    ...{ id, type, description, memoryTotal, memoryFree },
  }))
  const found = list.some(({ type }) => type !== 'cpu')
  const why = found ? 'it is among the devices' : 'this version of leaven has CPU kernels only'
  report.gpu = { found, why }
}

/** Loads it and makes room for a context, but runs nothing: that would read every weight. */
const examineModel = async (path: string): Promise<ModelReport> => {
  const { loadModel } = await import('../engine/load.ts')
  const { Model } = await import('../engine/model.ts')
  const { Context } = await import('../engine/context.ts')
  try {
    const loaded = await loadModel(path, {})
    await using model = new Model(loaded, {})
    const { architecture, types, weightBytes, contextSize } = model.info
    const about = { path, architecture, types, weights: weightBytes, contextSize }
    const { memoryFree } = loaded.device
    try {
      using context = new Context(loaded, { size: contextSize, batchSize: 1 })
      const { cache } = context.bytes
      return { ...about, cache, memoryFree, fits: weightBytes + cache <= memoryFree }
    } catch (error) {
      return { ...about, memoryFree, problem: messageOf(error) }
    }
  } catch (error) {
    return { path, problem: messageOf(error) }
  }
}
