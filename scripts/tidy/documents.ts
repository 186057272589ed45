// Documentation that stays true: links resolve, and commands are run by CI or listed here.
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Problem, TextFile } from './files.ts'

/** Lines of a document outside (`prose`) or inside (by language) of fenced blocks. */
const linesOf = (text: string): { line: number; text: string; block: string | undefined }[] => {
  let block: string | undefined
  return text.split('\n').flatMap((content, index) => {
    const fence = /^\s*```(\S*)/.exec(content)
    if (fence === null) return [{ line: index + 1, text: content, block }]
    block = block === undefined ? fence[1] : undefined
    return []
  })
}

/** As GitHub makes the anchor of a heading. */
const slug = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')

const anchors = (text: string): Set<string> =>
  new Set(
    linesOf(text).flatMap((line) => {
      const heading = line.block === undefined ? /^#+ (.*)$/.exec(line.text)?.[1] : undefined
      return heading === undefined ? [] : [slug(heading)]
    }),
  )

/** Relative links whose file, or whose heading in it, is not there. */
export const brokenLinks = (file: TextFile, root: string, documents: TextFile[]): Problem[] => {
  const links = linesOf(file.text)
    .filter(({ block }) => block === undefined)
    .flatMap(({ line, text }) =>
      [...text.matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map((match) => ({ line, target: match[1]! })),
    )
  return links.flatMap(({ line, target }) => {
    if (/^[a-z]+:/.test(target)) return []
    const [name, anchor] = target.split('#')
    const path = name ? posix.join(posix.dirname(file.path), decodeURI(name)) : file.path
    if (path !== file.path && !existsSync(join(root, path))) {
      return [{ path: file.path, line, message: `the link to ${target} leads nowhere` }]
    }
    const document = documents.find((other) => other.path === path)
    if (!anchor || document === undefined || anchors(document.text).has(anchor)) return []
    return [{ path: file.path, line, message: `there is no heading for ${target}` }]
  })
}

/** Commands of documents and where each is run; a pattern covers its variants. */
const documented: { command: RegExp; runBy: string }[] = [
  { command: /^git clone \S+( \S+)?$/, runBy: 'CI starts from a clean clone' },
  { command: /^cd leaven$/, runBy: 'CI starts in the clone' },
  { command: /^npm run build$/, runBy: 'scripts/run.mjs, as the first step of demo and test' },
  { command: /^npm run demo$/, runBy: 'the demo stage' },
  { command: /^npm test$/, runBy: 'the test stages; the same files, a process each' },
  { command: /^npm run check$/, runBy: '.ci/run' },
  { command: /^npm run test:full$/, runBy: 'people: it takes hours' },
  { command: /^bun run golden( \S+)* --dir tests\/golden$/, runBy: 'the golden stage' },
  { command: /^bun run golden( \S+)*$/, runBy: 'the golden stages, where the full data is' },
  { command: /^bun scripts\/golden\/trim\.ts$/, runBy: 'tests/golden/layout.test.ts' },
  { command: /^bun test( \S+)*$/, runBy: 'the test stages' },
  { command: /^bun run bench( \S+)*$/, runBy: 'people: machines in CI are too noisy to compare' },
  { command: /^leaven \w+( .*)?$/, runBy: 'tests/cli' },
]

/** The commands in `sh` blocks, without prompts and comments. */
export const commandsOf = (file: TextFile): { line: number; command: string }[] =>
  linesOf(file.text)
    .filter(({ block }) => block === 'sh')
    .map(({ line, text }) => ({ line, command: text.replace(/(^|\s+)#.*$/, '').trim() }))
    .filter(({ command }) => command !== '')

export const unknownCommands = (file: TextFile, scripts: Set<string>): Problem[] =>
  commandsOf(file).flatMap(({ line, command }) => {
    const script = /^(?:npm|bun) run (\S+)/.exec(command)?.[1]
    if (script !== undefined && !scripts.has(script)) {
      return [{ path: file.path, line, message: `package.json has no script ${script}` }]
    }
    if (documented.some((entry) => entry.command.test(command))) return []
    const message = `"${command}" is neither run by CI nor listed in scripts/tidy/documents.ts`
    return [{ path: file.path, line, message }]
  })
