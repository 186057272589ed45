// Sampling: from logits to a token id.
export { Candidates } from './candidates.ts'
export { distribution, greedy } from './choose.ts'
export { type SamplingOptions, samplingDefaults } from './options.ts'
export { Mt19937 } from './random.ts'
export { createSampler, type Sampler } from './sampler.ts'
export { temperature } from './temperature.ts'
export { minP, topK, topP, topPMinP } from './truncate.ts'
