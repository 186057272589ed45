// Chat templates: compile, render, prepare conversations, and explain prompts.
export { needsBos } from './bos.ts'
export type { Limits } from './budget.ts'
export {
  type BuiltinTemplate,
  builtinByName,
  builtinNames,
  builtinTemplate,
  type ModelHints,
} from './builtin.ts'
export {
  type ReasoningField,
  type TemplateCapabilities,
  type ThinkingSwitch,
  templateCapabilities,
} from './capabilities.ts'
export {
  ChatTemplate,
  type RenderInput,
  type TemplateMessage,
  type TemplateOptions,
} from './chat_template.ts'
export { type DescribeOptions, describePrompt } from './describe_prompt.ts'
export { TrustedString, trusted } from './from_js.ts'
export { type PrepareOptions, prepareMessages } from './prepare_messages.ts'
export { type Piece, RenderedPrompt, type Segment } from './prompt.ts'
export { type ChoiceOptions, chooseTemplate, type TemplateChoice } from './template_source.ts'
