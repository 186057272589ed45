// How long choosing a token takes: the default chain and others over 131,072 candidates.
//
//   bun bench/sampling.ts [--json]
//
// Medians and 99th percentiles of 400 calls each, on logits with a normal distribution.
import { createSampler, Mt19937, type SamplingOptions } from '../src/text/sampling/index.ts'

const tokenCount = 131_072
const callCount = 400

const chains: Record<string, SamplingOptions> = {
  'default (top-k 40, top-p 0.95, min-p 0.05, temperature 0.8)': {},
  'top-k off': { topK: 0 },
  'top-k and min-p off': { topK: 0, minP: 0 },
  'temperature alone': { topK: 0, topP: 1, minP: 0 },
  greedy: { temperature: 0 },
  'top-k 1000': { topK: 1000 },
  'default with penalties over 64 tokens': { penalties: { repeat: 1.1 } },
  'default with DRY over 1024 tokens': { dry: { multiplier: 0.8, lastN: 1024 } },
  'mirostat 2': { mirostat: { version: 2 } },
}

interface Times {
  median: number
  p99: number
}

function normalLogits(seed: bigint): Float32Array {
  const random = new Mt19937(seed)
  return Float32Array.from({ length: tokenCount }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - random.nextDouble()))
    return 3 * radius * Math.cos(2 * Math.PI * random.nextDouble())
  })
}

/** A mask that allows nine tokens of ten, as inside a string of JSON. */
const mask = new Uint32Array(tokenCount >>> 5).map((_, i) => ~(1 << (i * 7)) & ~(1 << (i * 13)))

function measure(options: SamplingOptions, allowed?: Uint32Array): Times {
  const inputs = [1n, 2n, 3n, 4n].map(normalLogits)
  const sampler = createSampler({ seed: 1, ...options }, tokenCount)
  const times: number[] = []
  for (let i = 0; i < 2 * callCount; i++) {
    const start = Bun.nanoseconds()
    const token = sampler.sample(inputs[i & 3]!, allowed)
    const time = Bun.nanoseconds() - start
    sampler.accept(token)
    if (i >= callCount) times.push(time / 1e6)
  }
  times.sort((a, b) => a - b)
  return { median: times[callCount >> 1]!, p99: times[Math.floor(callCount * 0.99)]! }
}

const results = Object.entries(chains).map(([name, options]) => ({ name, ...measure(options) }))
results.push({ name: 'default under a mask', ...measure({}, mask) })
if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ unit: 'ms', tokenCount, results }))
} else {
  console.log('median ms  p99 ms  chain')
  for (const { name, median, p99 } of results) {
    console.log(`${median.toFixed(3).padStart(9)}  ${p99.toFixed(3).padStart(6)}  ${name}`)
  }
}
