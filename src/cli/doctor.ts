// leaven doctor: what was found on this machine, what was chosen, and why.
import type { Command } from './command.ts'
import { type DoctorReport, examine, isHealthy, type ModelReport } from './doctor_report.ts'
import { inBytes, print, printable, printJson, table } from './terminal.ts'

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'say what was found on this machine, what was chosen, and why',
  operands: ['[MODEL]'],
  details: [
    'With MODEL it says whether that model runs here, and in how much memory. The status is 1\n' +
      'when something stands against it. Attach the output to a report of a problem.',
  ],
  options: {},
  examples: ['leaven doctor', 'leaven doctor model.gguf --json'],
  async run(args) {
    const report = await examine(args.operands[0])
    if (args.has('json')) await printJson({ ...report, healthy: isHealthy(report) })
    else await print(`${asText(report)}\n`)
    return isHealthy(report) ? undefined : 1
  },
}

type Row = readonly [topic: string, finding: string]

const asText = (report: DoctorReport): string => {
  const { leaven, bun, platform, model } = report
  const rows: Row[] = [
    ['leaven', leaven],
    ['bun', `${bun.version}, ${bun.path}`],
    ['platform', `${platform.os} ${platform.release}, ${platform.processor}`],
    ...Object.entries(report.environment).map(([name, value]): Row => ['set', `${name}=${value}`]),
    ['library', libraryText(report)],
    ...nativeRows(report),
    ...report.cacheFolders.map(({ path, problem }): Row => {
      return ['cache folder', `${path}: ${problem === undefined ? 'usable' : `no, ${problem}`}`]
    }),
    ...(model ? modelRows(model) : []),
    ['verdict', isHealthy(report) ? 'all is well' : 'see the problem above'],
  ]
  return table(
    rows.map(([topic, finding]) => [topic, printable(finding)]),
    [],
  )
}

const origins = {
  environment: 'named by LEAVEN_LIBRARY',
  build: 'built from these sources',
  executable: 'embedded in this executable',
} as const

const libraryText = ({ library }: DoctorReport): string =>
  'problem' in library ? `PROBLEM: ${library.problem}` : `${library.path}, ${origins[library.from]}`

const nativeRows = ({ kernels, threads, devices = [], gpu, environment }: DoctorReport): Row[] => {
  if (!kernels || !threads || !gpu) return []
  const why = environment.LEAVEN_ISA ? 'asked for by LEAVEN_ISA' : 'the best of this processor'
  return [
    ['kernels', `${kernels.chosen}, ${why}, which runs ${kernels.available.join(', ')}`],
    ['threads', `${threads.chosen}, one for each processor that this process may use`],
    ...devices.map(({ id, description, memoryFree, memoryTotal }): Row => {
      const memory = `${inBytes(memoryFree)} free of ${inBytes(memoryTotal)}`
      return ['device', `${id}: ${description}, ${memory}`]
    }),
    ['gpu', gpu.found ? `yes: ${gpu.why}` : `none: ${gpu.why}`],
  ]
}

const modelRows = (model: ModelReport): Row[] => {
  const rows: Row[] = [['model', model.path]]
  if (model.architecture !== undefined) {
    const types = Object.entries(model.types ?? {}).map(
      ([type, size]) => `${type} ${inBytes(size)}`,
    )
    rows.push(['', `architecture ${model.architecture}; ${types.join(', ')}`])
  }
  if (model.cache !== undefined) {
    const [weights, cache] = [inBytes(model.weights ?? 0), inBytes(model.cache)]
    rows.push(['', `${weights} of weights, ${cache} of cache for ${model.contextSize} tokens`])
    const free = inBytes(model.memoryFree ?? 0)
    rows.push(['', model.fits ? `fits: ${free} are free` : `PROBLEM: only ${free} are free`])
  }
  if (model.problem !== undefined) rows.push(['', `PROBLEM: ${model.problem}`])
  return rows
}
