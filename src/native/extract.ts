// Brings an embedded library of a single-file executable to a place that dlopen can load from.
//
// Bun itself extracts embedded files to the temporary folder, which fails where that is read-only
// or mounted noexec, and trusts what lies there. Here each candidate folder must be ours alone, a
// file is named by the SHA-256 of its bytes and checked before use, and it appears by one rename.
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, extname, isAbsolute, join, resolve } from 'node:path'
import { DeviceError } from '../errors/index.ts'
import { openInMemory } from './memory_file.ts'

/** Paths that `with { type: 'file' }` imports have inside an executable. */
export const isEmbedded = (path: string): boolean =>
  path.startsWith('/$bunfs/') || /^[A-Z]:[\\/]~BUN[\\/]/.test(path)

/** The user that runs us; undefined on Windows, whose profile folders are private as they are. */
const user = process.getuid?.()

/** Write permission of group and others. */
const writableByOthers = 0o022

/**
 * Folders to extract to, best first: `$LEAVEN_CACHE`, `leaven` in `$XDG_CACHE_HOME` or `~/.cache`,
 * and one of the user's own in the temporary folder. None of them needs to exist.
 */
export const candidateFolders = (): string[] => {
  const { LEAVEN_CACHE: own, XDG_CACHE_HOME: xdg } = process.env
  const folders = []
  if (own) folders.push(resolve(own))
  // The XDG base directory specification has relative paths ignored.
  if (xdg && isAbsolute(xdg)) folders.push(join(xdg, 'leaven'))
  folders.push(join(homedir(), '.cache', 'leaven'), join(tmpdir(), `leaven-${user ?? 'user'}`))
  return [...new Set(folders)]
}

/** Throws when other users could put a file into `folder` or swap the folder for another. */
const checkPrivate = (folder: string): void => {
  const { uid, mode } = lstatSync(folder)
  if (uid !== user) throw new Error(`it belongs to user ${uid}, not ${user}`)
  if ((mode & writableByOthers) !== 0) {
    throw new Error(`other users can write to it (mode ${(mode & 0o777).toString(8)})`)
  }
  let above = realpathSync(folder)
  while (above !== dirname(above)) {
    above = dirname(above)
    const { uid: owner, mode: bits } = statSync(above)
    // In a sticky folder, as /tmp is, only its owner and ours may rename what is ours.
    const guarded = (bits & writableByOthers) === 0 || (bits & 0o1000) !== 0
    if ((owner !== user && owner !== 0) || !guarded) {
      throw new Error(`other users can rename folders in ${above}`)
    }
  }
}

/** Creates `folder` for us alone, or checks that an existing one is. */
const claimFolder = (folder: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!lstatSync(folder).isDirectory()) throw new Error('it is a link or a file, not a folder')
  if (user !== undefined) checkPrivate(folder)
}

/** What keeps `folder` from being used; undefined when nothing seems to. Creates nothing. */
export const folderProblem = (folder: string): string | undefined => {
  try {
    if (existsSync(folder)) {
      claimFolder(folder)
      accessSync(folder, constants.W_OK)
      return undefined
    }
    let above = dirname(folder)
    while (!existsSync(above)) above = dirname(above)
    if (!statSync(above).isDirectory()) return `${above} is no folder`
    accessSync(above, constants.W_OK)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** True when `path` is a plain file of ours with exactly these bytes. */
const holds = (path: string, bytes: Uint8Array): boolean => {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  let file: number
  try {
    // O_NONBLOCK, since opening a named pipe would wait for its writer.
    file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch {
    return false
  }
  try {
    const status = fstatSync(file)
    if (!status.isFile() || status.size !== bytes.length) return false
    const ours = status.uid === user && (status.mode & writableByOthers) === 0
    return (user === undefined || ours) && readFileSync(file).equals(bytes)
  } finally {
    closeSync(file)
  }
}

/** Writes beside `path` and renames: readers and concurrent starts see all of it or nothing. */
const publish = (path: string, bytes: Uint8Array): void => {
  const temporary = `${path}.${crypto.randomUUID()}`
  try {
    const file = openSync(temporary, 'wx', 0o700)
    try {
      writeFileSync(file, bytes)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    // Windows refuses to replace a library in use: whoever loaded it published the same bytes.
    if (!holds(path, bytes)) throw error
  }
}

/**
 * Puts `bytes` into `folder` as `<name>-<hash><suffix>` and returns the path. A file of that name
 * with other bytes, or one that others own or can write to, is replaced.
 */
export const materialise = (
  bytes: Uint8Array,
  folder: string,
  name: string,
  suffix: string,
): string => {
  claimFolder(folder)
  const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
  const path = join(folder, `${name}-${hash}${suffix}`)
  if (!holds(path, bytes)) publish(path, bytes)
  return path
}

/**
 * Calls `open` with a path of the library, which is `embeddedPath` itself when run from source.
 * Inside an executable each candidate folder is tried until extraction and `open` both succeed, so
 * that a folder mounted noexec, where only dlopen fails, is passed over as well. When none is left,
 * Linux can hold the file in memory.
 *
 * @param name the stem of the extracted file, for example `libleaven`
 * @throws DeviceError naming every folder tried and what was wrong with it
 * @example openExtracted(embedded, 'libleaven', (path) => dlopen(path, symbols))
 */
export const openExtracted = <T>(
  embeddedPath: string,
  name: string,
  open: (path: string) => T,
  folders: string[] = candidateFolders(),
): T => {
  if (!isEmbedded(embeddedPath)) return open(embeddedPath)
  return openFrom(readFileSync(embeddedPath), name, extname(embeddedPath), open, folders)
}

/** `openExtracted` for bytes in hand. */
export const openFrom = <T>(
  bytes: Uint8Array,
  name: string,
  suffix: string,
  open: (path: string) => T,
  folders: string[],
): T => {
  const tried: string[] = []
  for (const folder of folders) {
    try {
      return open(materialise(bytes, folder, name, suffix))
    } catch (error) {
      tried.push(`${folder}: ${error instanceof Error ? error.message : error}`)
    }
  }
  try {
    return openInMemory(bytes, name, open)
  } catch (error) {
    tried.push(`memory: ${error instanceof Error ? error.message : error}`)
  }
  throw new DeviceError(
    'native',
    `${name}${suffix} cannot be loaded from any cache folder (set LEAVEN_CACHE to a private ` +
      `folder that allows execution): ${tried.join('; ')}`,
  )
}
