// Reads the dynamic symbols of a shared library in the ELF format (64-bit, little-endian; System V
// ABI, chapter 4), so that tests need no tool for it.

export interface DynamicSymbol {
  name: string
  defined: boolean
}

const sectionHeader = { size: 64, type: 4, offset: 24, bytes: 32, link: 40 }
const symbolBytes = 24
const dynamicSymbols = 11
const local = 0

export const isElf = (file: Uint8Array): boolean =>
  [0x7f, 0x45, 0x4c, 0x46, 2, 1].every((byte, i) => file[i] === byte)

/** Every global or weak dynamic symbol: what the library exports, and what it wants of others. */
export const readDynamicSymbols = (file: Uint8Array): DynamicSymbol[] => {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const number = (at: number) => Number(view.getBigUint64(at, true))
  const headers = number(40)
  const section = (index: number) => {
    const at = headers + index * sectionHeader.size
    return {
      type: view.getUint32(at + sectionHeader.type, true),
      offset: number(at + sectionHeader.offset),
      bytes: number(at + sectionHeader.bytes),
      link: view.getUint32(at + sectionHeader.link, true),
    }
  }
  const count = view.getUint16(60, true)
  const table = Array.from({ length: count }, (_, i) => section(i)).find(
    ({ type }) => type === dynamicSymbols,
  )
  if (table === undefined) throw new Error('the library has no dynamic symbols')
  const names = section(table.link)
  const symbols: DynamicSymbol[] = []
  for (let at = table.offset + symbolBytes; at < table.offset + table.bytes; at += symbolBytes) {
    if (file[at + 4]! >> 4 === local) continue
    const start = names.offset + view.getUint32(at, true)
    const name = new TextDecoder().decode(file.subarray(start, file.indexOf(0, start)))
    symbols.push({ name, defined: view.getUint16(at + 6, true) !== 0 })
  }
  return symbols
}
