// A program that becomes one file: `bun build --compile examples/executable/main.ts --outfile
// story`. Argument: a model file, and a prompt if you like.
import { load } from '../../src/index.ts'

const [path, prompt = 'Once upon a time'] = process.argv.slice(2)
if (path === undefined) {
  console.error('usage: story MODEL.gguf [PROMPT]')
  process.exit(2)
}
await using model = await load(path)
process.stdout.write(prompt)
for await (const text of model.generate(prompt, { maxTokens: 60, temperature: 0 }).text) {
  process.stdout.write(text)
}
process.stdout.write('\n')
