// Which folder may import which: imports point down only, in TypeScript and in Zig.
import { posix } from 'node:path'
import { blank, languageOf } from './blank.ts'
import { lineAt, type Problem, type TextFile } from './files.ts'

/**
 * The layers of src, top first, each with what it may import beyond itself. `errors` stands below
 * everything. `text` and `files` know no device, no native code and no model.
 */
const below: Record<string, string[]> = {
  errors: [],
  native: ['errors'],
  device: ['native', 'errors'],
  graph: ['device', 'native', 'errors'],
  files: ['errors'],
  text: ['files', 'errors'],
}
below.nn = [...Object.keys(below)]
below.models = [...Object.keys(below)]
below.engine = [...Object.keys(below)]
below.index = [...Object.keys(below)]
below.tensor = ['graph', 'device', 'native', 'errors']
below.cli = [...Object.keys(below)]
below.server = ['index', 'engine', 'text', 'errors']

/**
 * The layers of zig: `base` is the tables and types at its top level, `lib` the C ABI, `bench` a
 * program.
 */
const zigBelow: Record<string, string[]> = {
  base: [],
  kernels: ['base'],
  runtime: ['kernels', 'base'],
  cpu: ['runtime', 'kernels', 'base'],
  lib: ['cpu', 'runtime', 'kernels', 'base'],
  bench: ['cpu', 'runtime', 'kernels', 'base'],
}

/** `src/cli/main.ts` is in `cli`, `src/index.ts` in `index`. */
export const layerOf = (path: string): string | undefined => {
  const [top, name, inner] = path.split('/')
  if (name === undefined) return undefined
  const stem = name.replace(/\.\w+$/, '')
  if (top === 'src') return inner === undefined ? stem : name
  if (top !== 'zig') return undefined
  // The rows of the op table are part of it.
  if (name === 'ops') return 'base'
  if (inner !== undefined) return name
  return stem in zigBelow ? stem : 'base'
}

/**
 * The runtime knows devices by their vtable alone; one file lists those that are built in. One file
 * of TypeScript knows where the built library lies.
 */
const exceptions: Record<string, string[]> = {
  'zig/runtime/registry.zig': ['cpu'],
  'src/native/library.ts': ['zig-out'],
}

interface Import {
  target: string
  line: number
}

const importPatterns = {
  ts: /\b(?:from|import)\s*\(?\s*["']([^"'\n]+)["']/g,
  zig: /@import\("([^"\n]+)"\)/g,
}

/** Everything that a file imports, type-only imports too. */
export const importsOf = ({ path, text }: TextFile): Import[] => {
  const language = languageOf(path)
  if (language === 'c') return []
  const code = blank(text, language, { keepLiterals: true })
  return [...code.matchAll(importPatterns[language])].map((match) => ({
    target: match[1]!,
    line: lineAt(code, match.index),
  }))
}

/** The repository path of a relative import; Zig writes them without a leading `./`. */
const resolveImport = (path: string, target: string): string | undefined => {
  const isRelative = target.startsWith('.') || (path.endsWith('.zig') && target.endsWith('.zig'))
  return isRelative ? posix.join(posix.dirname(path), target) : undefined
}

export const importsPointDown = (file: TextFile): Problem[] => {
  const layer = layerOf(file.path)
  if (layer === undefined) return []
  const table = file.path.startsWith('src/') ? below : zigBelow
  const lower = table[layer]
  if (lower === undefined) {
    return [{ path: file.path, line: 1, message: `${layer} is no layer of the architecture` }]
  }
  const allowed = [...lower, ...(exceptions[file.path] ?? [])]
  return importsOf(file).flatMap(({ target, line }) => {
    const resolved = resolveImport(file.path, target)
    if (resolved === undefined) return []
    const other = layerOf(resolved) ?? resolved.split('/')[0]
    if (other === layer || (other !== undefined && allowed.includes(other))) return []
    const where = other ?? resolved
    return [{ path: file.path, line, message: `${layer} may not import ${where} (${target})` }]
  })
}

/** Only src/native knows the foreign function interface. */
export const ffiInNativeOnly = (file: TextFile): Problem[] => {
  if (!file.path.startsWith('src/') || layerOf(file.path) === 'native') return []
  return importsOf(file)
    .filter(({ target }) => target === 'bun:ffi')
    .map(({ line }) => ({ path: file.path, line, message: 'only src/native imports bun:ffi' }))
}
