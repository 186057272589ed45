// Embedded libraries are extracted to private folders only, whole, and whoever else is at it.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DeviceError } from '../../src/errors/index.ts'
import { candidateFolders, materialise, openExtracted, openFrom } from '../../src/native/extract.ts'

const posix = process.platform !== 'win32'
const isRoot = process.getuid?.() === 0
const source = join(import.meta.dir, '../../src/native/extract.ts')

let work: string
beforeAll(() => {
  work = realpathSync(mkdtempSync(join(tmpdir(), 'leaven-extract-')))
})
afterAll(() => rmSync(work, { recursive: true, force: true }))

/** An unused path in a folder of ours. */
const fresh = (): string => join(mkdtempSync(join(work, 'case-')), 'cache')

const bytes = new TextEncoder().encode('a library, as far as files go')
const place = (folder: string): string => materialise(bytes, folder, 'libx', '.so')

test('run from source, the path is used as it is', () => {
  expect(openExtracted('/somewhere/libx.so', 'libx', (path) => path.length)).toBe(18)
})

test('the file holds the bytes, is named by their hash, and folder and file are private', () => {
  const folder = fresh()
  const path = place(folder)
  const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
  expect(basename(path)).toBe(`libx-${hash}.so`)
  expect(readFileSync(path)).toEqual(Buffer.from(bytes))
  expect(readdirSync(folder)).toEqual([basename(path)])
  if (posix) {
    expect(lstatSync(folder).mode & 0o777).toBe(0o700)
    expect(lstatSync(path).mode & 0o077).toBe(0)
  }
})

test('a file that is right already is used, not written again', () => {
  const folder = fresh()
  const before = lstatSync(place(folder), { bigint: true })
  const after = lstatSync(place(folder), { bigint: true })
  expect(after.ino).toBe(before.ino)
  expect(after.mtimeNs).toBe(before.mtimeNs)
})

describe.if(posix)('a planted file is replaced, never loaded or written through', () => {
  const plant = (how: (path: string) => void): void => {
    const folder = fresh()
    const path = place(folder)
    rmSync(path)
    how(path)
    expect(place(folder)).toBe(path)
    expect(lstatSync(path).isFile()).toBe(true)
    expect(readFileSync(path)).toEqual(Buffer.from(bytes))
    expect(lstatSync(path).mode & 0o022).toBe(0)
  }

  test('other bytes of the same length', () =>
    plant((path) => writeFileSync(path, bytes.toReversed(), { mode: 0o700 })))

  test('a cut file', () => plant((path) => writeFileSync(path, bytes.subarray(1), { mode: 0o700 })))

  test('the right bytes that others can write to', () =>
    plant((path) => {
      writeFileSync(path, bytes)
      chmodSync(path, 0o777)
    }))

  test('a link, whose target stays as it was', () => {
    const target = join(work, 'victim')
    writeFileSync(target, bytes)
    plant((path) => symlinkSync(target, path))
    expect(lstatSync(target).isFile()).toBe(true)
  })

  test('a named pipe, without waiting for its writer', () =>
    plant((path) => expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0)))
})

describe.if(posix)('a folder that is not ours alone is refused', () => {
  test('a link to a folder', () => {
    const folder = fresh()
    mkdirSync(`${folder}-real`, { mode: 0o700 })
    symlinkSync(`${folder}-real`, folder)
    expect(() => place(folder)).toThrow('a link or a file')
    expect(readdirSync(`${folder}-real`)).toEqual([])
  })

  test('one that others can write to', () => {
    const folder = fresh()
    mkdirSync(folder)
    chmodSync(folder, 0o777)
    expect(() => place(folder)).toThrow('other users can write to it (mode 777)')
    expect(readdirSync(folder)).toEqual([])
  })

  test('one below a folder whose entries others can rename', () => {
    const folder = fresh()
    chmodSync(join(folder, '..'), 0o777)
    expect(() => place(folder)).toThrow('other users can rename folders')
    chmodSync(join(folder, '..'), 0o1777)
    expect(readFileSync(place(folder))).toEqual(Buffer.from(bytes))
  })

  test.if(isRoot)('one of another user', () => {
    const folder = fresh()
    mkdirSync(folder, { mode: 0o700 })
    chownSync(folder, 65534, 65534)
    expect(() => place(folder)).toThrow('it belongs to user 65534')
  })
})

describe('folders are tried in turn', () => {
  const blocked = (): string => {
    const file = fresh()
    writeFileSync(file, 'no folder can be made below a file')
    return join(file, 'leaven')
  }

  test('one that cannot be written is passed over', () => {
    const good = fresh()
    const path = openFrom(bytes, 'libx', '.so', (path) => path, [blocked(), good])
    expect(path.startsWith(good)).toBe(true)
  })

  test.if(posix && !isRoot)('a read-only one is passed over', () => {
    const closed = fresh()
    mkdirSync(closed, { mode: 0o500 })
    const good = fresh()
    const path = openFrom(bytes, 'libx', '.so', (path) => path, [closed, good])
    expect(path.startsWith(good)).toBe(true)
  })

  test('one from which the library cannot be loaded, as with noexec, is passed over', () => {
    const noexec = fresh()
    const good = fresh()
    const open = (path: string): string => {
      if (path.startsWith(noexec)) throw new Error('failed to map segment')
      return path
    }
    expect(openFrom(bytes, 'libx', '.so', open, [noexec, good]).startsWith(good)).toBe(true)
  })

  test('when none works the error names each with its reason', () => {
    const folders = [blocked(), fresh()]
    const open = () => {
      throw new Error('failed to map segment')
    }
    const attempt = () => openFrom(bytes, 'libx', '.so', open, folders)
    expect(attempt).toThrow(DeviceError)
    for (const part of [...folders, 'failed to map segment', 'LEAVEN_CACHE']) {
      expect(attempt).toThrow(part)
    }
  })

  test('the environment decides the order, and a relative XDG folder is ignored', () => {
    const folders = (environment: Record<string, string>): string[] => {
      const code = `import { candidateFolders } from ${JSON.stringify(source)}
        console.log(JSON.stringify(candidateFolders()))`
      const { PATH } = process.env
      const env = { PATH, HOME: '/home/baker', USERPROFILE: '/home/baker', ...environment }
      // Bun itself keeps its cache in a relative XDG folder.
      const child = Bun.spawnSync([process.execPath, '-e', code], { env, cwd: work })
      return JSON.parse(child.stdout.toString())
    }
    if (!posix) return expect(candidateFolders().length).toBeGreaterThan(1)
    const both = folders({ LEAVEN_CACHE: '/a', XDG_CACHE_HOME: '/b', TMPDIR: '/t' })
    const own = `/t/leaven-${process.getuid?.()}`
    expect(both).toEqual(['/a', '/b/leaven', '/home/baker/.cache/leaven', own])
    const relative = folders({ XDG_CACHE_HOME: 'b', TMPDIR: '/t' })
    expect(relative).toEqual(['/home/baker/.cache/leaven', own])
  })
})

test('processes that start at once all find a whole file and leave no other', async () => {
  const folder = fresh()
  const code = `import { materialise } from ${JSON.stringify(source)}
    const bytes = new Uint8Array(4 << 20).fill(7)
    while (Date.now() < ${Date.now() + 400}) {}
    const path = materialise(bytes, ${JSON.stringify(folder)}, 'libx', '.so')
    if (!Buffer.from(bytes).equals(require('fs').readFileSync(path))) process.exit(3)
    console.log(path)`
  const children = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe', stderr: 'inherit' }),
  )
  const paths = await Promise.all(children.map((child) => new Response(child.stdout).text()))
  expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0, 0])
  expect(new Set(paths).size).toBe(1)
  expect(readdirSync(folder)).toEqual([basename(paths[0]!.trim())])
})

test('inside an executable that was moved, the embedded file is extracted', async () => {
  const folder = mkdtempSync(join(work, 'app-'))
  writeFileSync(join(folder, 'libx.so'), bytes)
  writeFileSync(
    join(folder, 'app.ts'),
    `import embedded from './libx.so' with { type: 'file' }
     import { openExtracted } from ${JSON.stringify(source)}
     console.log(openExtracted(embedded, 'libx', (path) => path))`,
  )
  const built = Bun.spawnSync(
    [process.execPath, 'build', '--compile', join(folder, 'app.ts'), '--outfile', 'app'],
    { cwd: folder },
  )
  expect(built.stderr.toString()).not.toContain('error')
  const file = posix ? 'app' : 'app.exe'
  const moved = join(mkdtempSync(join(work, 'moved-')), file)
  renameSync(join(folder, file), moved)
  rmSync(join(folder, 'libx.so'))
  const cache = fresh()
  const run = () =>
    Bun.spawnSync([moved], { env: { ...process.env, LEAVEN_CACHE: cache } }).stdout.toString()
  const path = run().trim()
  expect(path.startsWith(join(cache, 'libx-'))).toBe(true)
  expect(readFileSync(path)).toEqual(Buffer.from(bytes))
  expect(run().trim()).toBe(path)
}, 60_000)
