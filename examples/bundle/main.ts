// A program with its model inside: `leaven bundle examples/bundle/main.ts MODEL.gguf -o story`.
// Argument: a prompt if you like. Run from source it reads the model of this repository.
import { bundledModel, load } from '../../src/index.ts'

const prompt = process.argv[2] ?? 'Once upon a time'
await using model = await load(bundledModel() ?? 'models/stories-tiny-q8_0.gguf')
process.stdout.write(prompt)
for await (const text of model.generate(prompt, { maxTokens: 60, temperature: 0 }).text) {
  process.stdout.write(text)
}
process.stdout.write('\n')
