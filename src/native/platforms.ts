// The platforms that the native library is built for, and where `zig build cross` puts each.
import { join } from 'node:path'

/** Named as in bun's `--target=bun-linux-x64-musl`. */
export const platforms = [
  'linux-x64',
  'linux-x64-musl',
  'linux-arm64',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
  'windows-x64',
  'windows-arm64',
] as const

export type Platform = (typeof platforms)[number]

const built = join(import.meta.dir, '../../zig-out')

/** Path of a platform's library, which may not have been built. */
export const libraryFor = (platform: Platform): string => {
  if (platform.startsWith('windows')) return join(built, platform, 'leaven.dll')
  return join(built, platform, platform.startsWith('darwin') ? 'libleaven.dylib' : 'libleaven.so')
}

/**
 * The platform of a compile target of bun, whose processor level and version do not matter here;
 * undefined for a target that there is no library for.
 *
 * @example platformOf('bun-linux-x64-baseline-musl') // 'linux-x64-musl'
 */
export const platformOf = (target: string): Platform | undefined => {
  const [, os, processor] = /^bun-(\w+)-(\w+)/.exec(target) ?? []
  const libc = /-musl(-|$)/.test(target) ? '-musl' : ''
  const name = `${os}-${processor}${libc}`
  return platforms.find((platform) => platform === name)
}
