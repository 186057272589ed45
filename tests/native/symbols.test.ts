// The library's symbols: what it offers is what src/native calls, and it wants nothing odd.
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { symbols } from '../../src/native/symbols.ts'
import { isElf, readDynamicSymbols } from './elf.ts'

const path = process.env.LEAVEN_LIBRARY || join(import.meta.dir, '../../zig-out/lib/libleaven.so')
const file = Bun.file(path)
const bytes = (await file.exists()) ? await file.bytes() : new Uint8Array(0)

// macOS and Windows libraries have other formats; what they hold comes from the same sources.
test.if(isElf(bytes))('the library exports the functions of symbols.ts and no others', () => {
  const exported = readDynamicSymbols(bytes).filter(({ defined }) => defined)
  expect(exported.map(({ name }) => name).sort()).toEqual(Object.keys(symbols).sort())
})

test.if(isElf(bytes))('no instruction was left to a function that does not exist', () => {
  const wanted = readDynamicSymbols(bytes).filter(({ defined }) => !defined)
  expect(wanted.length).toBeGreaterThan(0)
  // A misspelt intrinsic would be looked for as a symbol of another library.
  expect(wanted.map(({ name }) => name).filter((name) => /^llvm|leaven/.test(name))).toEqual([])
})
