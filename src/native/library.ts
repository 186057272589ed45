// Finds and opens the native library: `LEAVEN_LIBRARY`, else the one built for this platform,
// which `bun build --compile` embeds.
import { dlopen, type Library } from 'bun:ffi'
import { DeviceError } from '../errors/index.ts'
import { isEmbedded, openExtracted } from './extract.ts'
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

/** How the library was found. */
export interface LibraryOrigin {
  path: string
  /** Named by LEAVEN_LIBRARY, built beside the sources, or embedded in this executable. */
  from: 'environment' | 'build' | 'executable'
}

let opened = ''

const open = (path: string): Native => {
  const native = dlopen(path, symbols).symbols
  const found = native.leaven_digest()
  if (found !== digest) {
    throw new DeviceError(
      'cpu',
      `${path} was built from other op tables (${found}, not ${digest}); run \`npm run build\``,
    )
  }
  opened = path
  return native
}

let from: LibraryOrigin['from'] = 'environment'

const load = async (): Promise<Native> => {
  const own = process.env.LEAVEN_LIBRARY
  if (own) return openNamed(own)
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
  from = isEmbedded(path) ? 'executable' : 'build'
  return openExtracted(path, 'libleaven', open)
}

const openNamed = (path: string): Native => {
  try {
    return open(path)
  } catch (cause) {
    if (cause instanceof DeviceError) throw cause
    const problem = cause instanceof Error ? cause.message : String(cause)
    throw new DeviceError('native', `LEAVEN_LIBRARY=${path}: ${problem}`, {}, { cause })
  }
}

/** The library's functions; `src/native` alone calls them. */
export const native: Native = await load()

export const libraryOrigin: LibraryOrigin = { path: opened, from }

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
