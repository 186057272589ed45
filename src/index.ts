// "leaven": load a model, generate text.

export type { LoraRef } from './engine/adapters.ts'
export { bundledModel } from './engine/bundled_model.ts'
export {
  type FinishReason,
  type GenerateOptions,
  Generation,
  type Overflow,
  type Part,
  type Prompt,
  type ResponseOptions,
  type Result,
  type TextPart,
  type Timings,
  type Usage,
} from './engine/generation.ts'
export type { LoadOptions, ModelFile, ModelSource } from './engine/load.ts'
export {
  type EvaluateOptions,
  type Logits,
  load,
  type MemoryReport,
  Model,
  type ModelInfo,
} from './engine/model.ts'
export {
  measurePerplexity,
  type Perplexity,
  type PerplexityOptions,
} from './engine/perplexity.ts'
export * from './errors/index.ts'
export { FileSlice } from './files/index.ts'
export type { Tokenizer } from './text/tokenizer/index.ts'
