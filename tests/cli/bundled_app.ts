// A program to bundle, for tests: prints as JSON what it makes of its models.
// Arguments: the name of a model, or nothing when there is one.
const [wanted] = process.argv.slice(2)
let said: unknown
try {
  const { bundledModel, load } = await import('../../src/index.ts')
  const source = bundledModel(wanted)
  if (source === undefined) throw new Error('not bundled')
  await using model = await load(source)
  const { libraryOrigin } = await import('../../src/native/library.ts')
  const { nativeCounters } = await import('../../src/native/devices.ts')
  const { text } = await model.generate('Once upon a time', { maxTokens: 12, temperature: 0 })
  said = { text, library: libraryOrigin, mappedBytes: nativeCounters().mappedBytes }
} catch (error) {
  const { name, code, message } = error as Error & { code?: string }
  said = { error: { name, code, message } }
}
console.log(JSON.stringify(said))

export {}
