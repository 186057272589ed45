// Finds and opens the native library: `LEAVEN_LIBRARY`, else the one built for this platform,
// which `bun build --compile` embeds.
import { dlopen, type Library } from 'bun:ffi'
import { DeviceError } from '../errors/index.ts'
import { openExtracted } from './extract.ts'
import { digest } from './ops.gen.ts'
import { symbols } from './symbols.ts'

export type Native = Library<typeof symbols>['symbols']

/**
 * Path of the library that belongs to this build. Only literal paths are embedded into an
 * executable, and only the branch of the platform it is built for.
 */
const builtLibrary = async (): Promise<string> => {
  if (process.platform === 'darwin') {
    return (await import('../../zig-out/lib/libleaven.dylib', { with: { type: 'file' } })).default
  }
  if (process.platform === 'win32') {
    return (await import('../../zig-out/bin/leaven.dll', { with: { type: 'file' } })).default
  }
  return (await import('../../zig-out/lib/libleaven.so', { with: { type: 'file' } })).default
}

const open = (path: string): Native => {
  const native = dlopen(path, symbols).symbols
  const found = native.leaven_digest()
  if (found !== digest) {
    throw new DeviceError(
      'cpu',
      `${path} was built from other op tables (${found}, not ${digest}); run \`npm run build\``,
    )
  }
  return native
}

const load = async (): Promise<Native> => {
  const own = process.env.LEAVEN_LIBRARY
  if (own) return open(own)
  let path: string
  try {
    path = await builtLibrary()
  } catch (cause) {
    throw new DeviceError(
      'cpu',
      'the native library is not built; run `npm run build`',
      {},
      { cause },
    )
  }
  return openExtracted(path, 'libleaven', open)
}

/** The library's functions; `src/native` alone calls them. */
export const native: Native = await load()

const settings = () => {
  const { LEAVEN_ISA: isa, LEAVEN_CPU_DEVICES: cpus } = process.env
  if (cpus) native.leaven_virtual_cpus(Number(cpus) >>> 0)
  if (!isa) return
  const name = new TextEncoder().encode(isa)
  if (name.length === 0 || native.leaven_choose_isa(name, name.length) !== 0) {
    throw new DeviceError('cpu', `LEAVEN_ISA=${isa}: this processor has no such kernels`)
  }
}
settings()
