// Documentation is true: links lead somewhere, commands are run by CI or listed with who runs them.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brokenLinks, commandsOf, unknownCommands } from '../../scripts/tidy/documents.ts'
import { readTexts } from '../../scripts/tidy/files.ts'

const root = join(import.meta.dir, '../..')
const documents = readTexts(root).filter(({ path }) => path.endsWith('.md'))
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const scriptNames = new Set(Object.keys(scripts))

test('every relative link leads to a file, and to a heading if it names one', () => {
  const problems = documents.flatMap((file) => brokenLinks(file, root, documents))
  expect(problems).toEqual([])
})

test('a link to a file or heading that is not there is found', () => {
  const file = {
    path: 'docs/a.md',
    text: '# The bread\n[a](#the-bread) [b](../LICENSE) [c](https://x.y)\n[d](b.md)\n[e](#rolls)',
  }
  const lines = brokenLinks(file, root, [file]).map(({ line }) => line)
  expect(lines).toEqual([3, 4])
})

test('every command in a sh block is run by CI or listed', () => {
  expect(documents.flatMap((file) => unknownCommands(file, scriptNames))).toEqual([])
  expect(documents.flatMap(commandsOf).map(({ command }) => command)).toContain('npm test')
})

test('a command that nobody runs, or whose script is not there, is found', () => {
  const file = {
    path: 'a.md',
    text: '```sh\nnpm test   # all of it\nnpm run bake\nmake world\n```\n```ts\nmake\n```',
  }
  expect(unknownCommands(file, scriptNames).map(({ line }) => line)).toEqual([3, 4])
})
