// Escape sequences of string literals, as Python's unicode-escape codec reads them.
import { SyntaxFault } from './fault.ts'

const single: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\n': '',
}

/** Hexadecimal digits after \x, \u and \U. */
const lengths: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

const sequence = /\\(?:([0-7]{1,3})|([xuU])([\da-fA-F]*)|([\s\S]))/g

/** `body` is a literal without its quotes, `at` its offset for errors. */
export function decodeString(body: string, at: number): string {
  if (!body.includes('\\')) return body
  return body.replace(
    sequence,
    (whole, octal?: string, kind?: string, hex?: string, other?: string) => {
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
      if (kind !== undefined) {
        const length = lengths[kind]!
        if (hex!.length < length) throw new SyntaxFault(at, `\\${kind} needs ${length} digits`)
        const code = Number.parseInt(hex!.slice(0, length), 16)
        if (code > 0x10ffff) throw new SyntaxFault(at, `no such character: \\${kind}${hex}`)
        return String.fromCodePoint(code) + hex!.slice(length)
      }
      if (other === 'N') throw new SyntaxFault(at, 'characters by name (\\N{…}) are not supported')
      return single[other!] ?? whole
    },
  )
}
