// The text files of the repository, as the tidy rules see them.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface TextFile {
  /** Relative to the root, with forward slashes. */
  path: string
  text: string
}

export interface Problem {
  path: string
  /** 1-based. */
  line: number
  message: string
}

/** What git ignores is not ours: the names of .gitignore, which lists folders and `*.suffix`. */
const ignored = (root: string): ((name: string) => boolean) => {
  const entries = readFileSync(join(root, '.gitignore'), 'utf8').split('\n').filter(Boolean)
  const names = new Set(['.git', ...entries.map((entry) => entry.replace(/\/$/, ''))])
  const suffixes = entries.filter((entry) => entry.startsWith('*')).map((entry) => entry.slice(1))
  return (name) => names.has(name) || suffixes.some((suffix) => name.endsWith(suffix))
}

/** Paths of all files below `root` that git would keep. */
export const listFiles = (root: string): string[] => {
  const isIgnored = ignored(root)
  const walk = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      if (isIgnored(entry.name)) return []
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      return entry.isDirectory() ? walk(path) : [path]
    })
  return walk('').sort()
}

const codeSuffix = /\.(ts|mjs|zig|c|h|m|metal|cu|sh)$/
const textSuffix = /\.(ts|mjs|zig|c|h|m|metal|cu|sh|md|json|toml|yml)$|(^|\/)(run|\.gitignore)$/

export const isCode = (path: string): boolean => codeSuffix.test(path) || path === '.ci/run'

/** `name.gen.suffix`: written by a generator, so that hand-written style does not apply. */
export const isGenerated = (path: string): boolean => /\.gen\.\w+$/.test(path)

/** Golden data and models are recorded facts with names of their own. */
const isData = (path: string): boolean =>
  /^(tests\/golden|models)\//.test(path) && !/\.(ts|md)$/.test(path)

export const readTexts = (root: string): TextFile[] =>
  listFiles(root)
    .filter((path) => textSuffix.test(path) && !isData(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

/** The 1-based line of a character offset. */
export const lineAt = (text: string, offset: number): number =>
  text.slice(0, offset).split('\n').length
