// A file that exists in memory only: the last resort for a library where no folder can be written
// to, as in a container with a read-only root. Linux alone has such files.
import { dlopen, ptr } from 'bun:ffi'
import { closeSync, writeSync } from 'node:fs'

/** Flags of memfd_create(2). Kernels before 6.3 refuse the second and need no such leave. */
const closeOnExec = 1
const executable = 0x10

const musl = process.arch === 'arm64' ? 'libc.musl-aarch64.so.1' : 'libc.musl-x86_64.so.1'

const createFile = (name: string): number => {
  const bytes = new TextEncoder().encode(`${name}\0`)
  const problems: string[] = []
  for (const libc of ['libc.so.6', musl]) {
    try {
      const { symbols, close } = dlopen(libc, {
        memfd_create: { args: ['ptr', 'u32'], returns: 'i32' },
      })
      let file = symbols.memfd_create(ptr(bytes), closeOnExec | executable)
      if (file < 0) file = symbols.memfd_create(ptr(bytes), closeOnExec)
      close()
      if (file >= 0) return file
      problems.push('the system refuses files in memory')
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  throw new Error(problems.join('; '))
}

/**
 * Calls `open` with the path of a file in memory that holds `bytes`; the path is good during the
 * call. Throws where there are no such files.
 */
export const openInMemory = <T>(bytes: Uint8Array, name: string, open: (path: string) => T): T => {
  if (process.platform !== 'linux') throw new Error('only Linux has files in memory')
  const file = createFile(name)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    return open(`/proc/self/fd/${file}`)
  } finally {
    closeSync(file)
  }
}
