// A library whose kernels check themselves, for fuzzing: built once, which takes minutes unless the
// Zig tests have built the same objects before.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')
const names = { darwin: 'lib/libleaven.dylib', win32: 'bin/leaven.dll' } as const

/** The path of the library, in a folder that the caller removes. */
export const buildSafeLibrary = (): { folder: string; path: string } => {
  const folder = mkdtempSync(join(tmpdir(), 'leaven-safe-'))
  const zig =
    Bun.which('zig') ?? join(root, `node_modules/@zigc/${process.platform}-${process.arch}/bin/zig`)
  const built = Bun.spawnSync([zig, 'build', '-Dsafe-kernels', '-p', folder], { cwd: root })
  if (built.exitCode !== 0) throw new Error(built.stderr.toString())
  const name = names[process.platform as keyof typeof names] ?? 'lib/libleaven.so'
  return { folder, path: join(folder, name) }
}
