// leaven devices: what models can run on here.
import type { Command } from './command.ts'
import { inBytes, print, printJson, table } from './terminal.ts'

export const devicesCommand: Command = {
  name: 'devices',
  summary: 'list the devices that models can run on here',
  operands: [],
  options: {},
  examples: ['leaven devices', 'leaven devices --json'],
  async run(args) {
    const { devices } = await import('../tensor.ts')
    const list = devices().map(
      ({ id, name, description, type, memoryTotal, memoryFree, features }) => ({
        ...{ id, name, description, type, memoryTotal, memoryFree, features },
      }),
    )
    if (args.has('json')) {
      await printJson(list)
      return undefined
    }
    const rows = list.map((device) => [
      device.id,
      device.type,
      `${inBytes(device.memoryFree)} free of ${inBytes(device.memoryTotal)}`,
      device.description,
      device.features.join(' '),
    ])
    await print(`${table([['device', 'type', 'memory', 'description', 'kernels'], ...rows], [])}\n`)
    return undefined
  },
}
