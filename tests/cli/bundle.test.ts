// leaven bundle from outside: one file that tells its story anywhere, and what damage does to it.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readBundle } from '../../src/files/bundle.ts'
import { load } from '../../src/index.ts'
import { libraryFor, platformOf } from '../../src/native/platforms.ts'
import { splitModel } from '../engine/split_model.ts'
import { model as demo, root, runCli } from './run_cli.ts'

const work = mkdtempSync(join(tmpdir(), 'leaven-bundle-'))
afterAll(() => rmSync(work, { recursive: true, force: true }))

const linux = process.platform === 'linux'
const app = 'tests/cli/bundled_app.ts'
const cache = join(work, 'cache')
let expected = ''

interface Said {
  text?: string
  library?: { path: string; from: string }
  mappedBytes?: number
  error?: { name: string; code?: string; message: string }
}

const run = (
  command: string | string[],
  environment: Record<string, string> = { LEAVEN_CACHE: cache },
): Said => {
  const child = Bun.spawnSync(typeof command === 'string' ? [command] : command, {
    env: environment,
    timeout: 60_000,
  })
  expect(child.stderr.toString()).toBe('')
  return JSON.parse(child.stdout.toString())
}

const bundle = async (output: string, ...args: string[]) => {
  const { status, stdout, stderr } = await runCli(['bundle', app, ...args, '-o', output, '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout) as { files: { path: string; bytes: number }[]; models: string[] }
}

const story = join(work, 'story')
beforeAll(async () => {
  await using model = await load(join(root, demo))
  const options = { maxTokens: 12, temperature: 0 }
  expected = (await model.generate('Once upon a time', options)).text
  await bundle(story, demo)
})

/** A copy that a test may damage; the next one takes its place. */
const copyOf = (path: string): string => {
  const copy = join(work, 'copy')
  copyFileSync(path, copy)
  return copy
}

describe('a bundled program', () => {
  test.if(linux)('is one file that tells its story in an empty folder, model mapped', () => {
    const empty = mkdtempSync(join(work, 'empty-'))
    const moved = join(empty, 'moved')
    renameSync(copyOf(story), moved)
    const said = run(moved)
    expect(said.text).toBe(expected)
    expect(said.library!.from).toBe('executable')
    expect(said.mappedBytes).toBeGreaterThanOrEqual(statSync(join(root, demo)).size)
    expect(readdirSync(empty)).toEqual(['moved'])
  })

  test.if(linux)('holds the very bytes of the model', () => {
    const [found] = readBundle(story)!
    const { offset, size } = found!.parts[0]!
    expect(found!.name).toBe('stories-tiny-q8_0.gguf')
    const model = readFileSync(join(root, demo))
    expect(
      readFileSync(story)
        .subarray(offset, offset + size)
        .equals(model),
    ).toBe(true)
  })

  test('can have its model beside it, and says what is missing when it is not', async () => {
    const folder = mkdtempSync(join(work, 'beside-'))
    const { files } = await bundle(join(folder, 'teller'), demo, '--sidecar')
    expect(files.map(({ path }) => path)).toEqual(
      ['teller', 'teller.models'].map((name) => join(folder, name)),
    )
    expect(readdirSync(folder).sort()).toEqual(['teller', 'teller.models'])
    expect(run(join(folder, 'teller')).text).toBe(expected)
    rmSync(join(folder, 'teller.models'))
    const { error } = run(join(folder, 'teller'))
    expect(error).toMatchObject({ name: 'BundleError', code: 'BUNDLE_DAMAGED' })
    expect(error!.message).toContain(`${join(folder, 'teller.models')}: `)
  })

  test('can have several models, split ones among them, which it names', async () => {
    using split = await splitModel(3)
    const output = join(work, 'several')
    const { models } = await bundle(output, demo, split.paths[0]!)
    expect(models).toEqual(['stories-tiny-q8_0.gguf', 'part-00001-of-00003.gguf'])
    for (const name of models) expect(run([output, name]).text).toBe(expected)
    expect(run(output).error).toMatchObject({ name: 'RangeError' })
    const other = run([output, 'other.gguf']).error!
    expect(other.message).toContain(models.join(', '))
  })
})

describe.if(linux)('a damaged program says so, whatever was damaged', () => {
  test('an executable that was cut short', () => {
    const cut = copyOf(story)
    truncateSync(cut, statSync(cut).size - 1000)
    expect(run(cut).error).toMatchObject({ name: 'BundleError', code: 'BUNDLE_DAMAGED' })
  })

  test('bytes that came behind it', () => {
    const longer = copyOf(story)
    writeFileSync(longer, 'x', { flag: 'a' })
    expect(run(longer).error).toMatchObject({ name: 'BundleError' })
  })

  /** The program with bytes written over it. */
  const overwritten = (offset: number, bytes: Uint8Array): string => {
    const copy = copyOf(story)
    const file = openSync(copy, 'r+')
    writeSync(file, bytes, 0, bytes.length, offset)
    closeSync(file)
    return copy
  }

  test('a directory that was overwritten', () => {
    const damaged = overwritten(statSync(story).size - 70, new Uint8Array([0]))
    expect(run(damaged).error).toMatchObject({ name: 'BundleError', code: 'BUNDLE_DAMAGED' })
  })

  test('a model that was overwritten', () => {
    const [model] = readBundle(story)!
    const damaged = overwritten(model!.parts[0]!.offset + 8, new Uint8Array(1000).fill(0xff))
    expect(run(damaged).error).toMatchObject({ name: 'GgufError', code: 'GGUF_INVALID' })
  })
})

describe.if(linux)('the library of a program is found', () => {
  const blocked = join(work, 'a file')
  writeFileSync(blocked, '')
  const nowhere = { HOME: join(blocked, 'home'), TMPDIR: join(blocked, 'tmp') }

  test('in LEAVEN_CACHE when home and the temporary folder are no folders', () => {
    const own = mkdtempSync(join(work, 'own-'))
    const said = run(story, { ...nowhere, LEAVEN_CACHE: own })
    expect(said.text).toBe(expected)
    expect(said.library!.path).toStartWith(`${own}/libleaven-`)
  })

  test('in the cache of home when TMPDIR does not exist', () => {
    const home = mkdtempSync(join(work, 'home-'))
    const said = run(story, { HOME: home, TMPDIR: join(work, 'no such folder') })
    expect(said.library!.path).toStartWith(`${home}/.cache/leaven/libleaven-`)
  })

  test('in a folder of its own when the temporary folder is open to others', () => {
    const open = mkdtempSync(join(work, 'open-'))
    chmodSync(open, 0o1777)
    const said = run(story, { ...nowhere, TMPDIR: open })
    expect(said.library!.path).toStartWith(`${open}/leaven-${process.getuid!()}/libleaven-`)
    expect(statSync(join(open, `leaven-${process.getuid!()}`)).mode & 0o777).toBe(0o700)
  })

  test('in memory when someone else prepared that folder, and nothing there is loaded', () => {
    const hostile = mkdtempSync(join(work, 'hostile-'))
    chmodSync(hostile, 0o1777)
    const prepared = join(hostile, `leaven-${process.getuid!()}`)
    mkdirSync(prepared)
    chmodSync(prepared, 0o777)
    const said = run(story, { ...nowhere, TMPDIR: hostile })
    expect(said.text).toBe(expected)
    expect(said.library!.path).toStartWith('/proc/self/fd/')
    expect(readdirSync(prepared)).toEqual([])
  })

  test('in memory when no folder can be written to', () => {
    expect(run(story, nowhere).text).toBe(expected)
  })

  const mounts = (options: string) => {
    const point = mkdtempSync(join(work, 'mount-'))
    const setUp = `mount -t tmpfs -o ${options} tmpfs '${point}' && exec "$0"`
    return { point, command: ['unshare', '--mount', 'sh', '-c', setUp, story] }
  }
  const canMount =
    linux && Bun.spawnSync(['unshare', '--mount', 'mount', '-t', 'tmpfs', 'x', work]).success

  test.if(canMount).each(['noexec', 'ro'])('elsewhere when the cache is mounted %s', (option) => {
    const { point, command } = mounts(option)
    const home = mkdtempSync(join(work, 'home-'))
    const { PATH } = process.env as { PATH: string }
    const said = run(command, { PATH, LEAVEN_CACHE: point, HOME: home, TMPDIR: point })
    expect(said.text).toBe(expected)
    expect(said.library!.path).toStartWith(home)
  })

  test('by LEAVEN_LIBRARY before all others, which is named when it is wrong', () => {
    const own = join(root, 'zig-out/lib/libleaven.so')
    const said = run(story, { LEAVEN_LIBRARY: own })
    expect(said).toMatchObject({ text: expected, library: { path: own, from: 'environment' } })
    const wrong = run(story, { LEAVEN_LIBRARY: join(work, 'nothing.so') })
    expect(wrong.error).toMatchObject({ name: 'DeviceError' })
    expect(wrong.error!.message).toContain('nothing.so')
  })
})

describe('what cannot be bundled is refused, and nothing is left behind', () => {
  const broken = join(work, 'broken.ts')
  writeFileSync(broken, "import './nothing.ts'\n")
  const cut = join(work, 'cut.gguf')
  writeFileSync(cut, readFileSync(join(root, demo)).subarray(0, 1_000_000))

  test.each([
    [['bundle', app], 2, 'MODEL is missing'],
    [['bundle', 'no.ts', demo], 1, 'no.ts: no such file'],
    [['bundle', app, 'no.gguf'], 1, 'no.gguf'],
    [['bundle', app, cut], 1, 'an unfinished download?'],
    [['bundle', app, demo, demo], 2, 'two models are named stories-tiny-q8_0.gguf'],
    [['bundle', app, demo, '--target', 'linux'], 2, '--target takes one of bun-linux-x64, '],
    [['bundle', broken, demo, '-o', join(work, 'broken')], 1, 'nothing.ts'],
  ] as const)('%p', async (args, expectedStatus, message) => {
    const { status, stdout, stderr } = await runCli([...args])
    expect(stderr).toContain(message)
    expect({ status, stdout }).toEqual({ status: expectedStatus, stdout: '' })
    expect(readdirSync(work)).not.toContain('broken')
    expect(readdirSync(work).filter((name) => name.startsWith('.leaven-'))).toEqual([])
  })

  test('a target is the platform that its library was built for', () => {
    expect(platformOf('bun-linux-x64-baseline-musl')).toBe('linux-x64-musl')
    expect(platformOf('bun-linux-x64-modern')).toBe('linux-x64')
    expect(platformOf('bun-linux-arm64-v1.4.5')).toBe('linux-arm64')
    expect(platformOf('bun-darwin-arm64')).toBe('darwin-arm64')
    expect(platformOf('bun-windows-x64-baseline')).toBe('windows-x64')
    expect(platformOf('bun-freebsd-x64')).toBeUndefined()
    expect(libraryFor('windows-x64')).toEndWith('leaven.dll')
  })
})
