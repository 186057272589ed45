// Run by event_loop.test.ts: how late a timer is while a model loads, reads a prompt and writes.
// Arguments: model file, prompt tokens, tokens to write. Prints one JSON object, with what the
// machine itself makes of a timer beside as many busy threads that have nothing to do with leaven.
import { load } from '../../src/index.ts'

const [path, promptTokens, writtenTokens] = process.argv.slice(2)
const periodMs = 10

const lateness: Record<string, number[]> = {}
let phase = 'idle'
let due = performance.now() + periodMs
const tick = () => {
  const now = performance.now()
  lateness[phase] ??= []
  lateness[phase]!.push(now - due)
  due = now + periodMs
  setTimeout(tick, periodMs)
}
setTimeout(tick, periodMs)

const threads = 2
const busy = URL.createObjectURL(
  new Blob(['const end = Date.now() + 2000; while (Date.now() < end); postMessage(0)']),
)
phase = 'baseline'
await Promise.all(
  Array.from({ length: threads }, () => new Promise((end) => (new Worker(busy).onmessage = end))),
)
phase = 'load'
await using model = await load(path!, { contextSize: 4096, threads })
phase = 'prefill'
const prompt = Int32Array.from({ length: Number(promptTokens) }, (_, i) => 300 + (i % 1000))
const generation = model.generate(prompt, {
  maxTokens: Number(writtenTokens),
  temperature: 0,
})
for await (const part of generation) {
  if (part.type === 'text' && part.tokens.length > 0) phase = 'decode'
}
// A second prompt, of another bucket, beside whatever the first has left.
phase = 'bucket change'
await model.generate(prompt.subarray(0, 40), { maxTokens: 4, temperature: 0 })

const summary = Object.fromEntries(
  Object.entries(lateness).map(([name, values]) => {
    const sorted = values.toSorted((a, b) => a - b)
    const at = (share: number) =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
    return [name, { ticks: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }]
  }),
)
const { baseline, ...measured } = lateness
const worst = (values: number[]) => {
  const sorted = values.toSorted((a, b) => a - b)
  return { p99: sorted[Math.floor(sorted.length * 0.99)]!, max: sorted.at(-1)! }
}
console.log(
  JSON.stringify({
    phases: summary,
    ticks: Object.values(measured).flat().length,
    measured: worst(Object.values(measured).flat()),
    baseline: worst(baseline!),
  }),
)
process.exit(0)
