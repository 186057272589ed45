// One tool-call and reasoning format: how to read it, and how to hold a model to it.
import type { OutputParser, ParserOptions, ToolSpec } from './parts.ts'

export type FormatName =
  | 'command-r'
  | 'deepseek'
  | 'deepseek-dsml'
  | 'deepseek-fenced'
  | 'function-gemma'
  | 'gemma-4'
  | 'glm'
  | 'granite'
  | 'harmony'
  | 'hermes'
  | 'kimi-k2'
  | 'llama-3'
  | 'minimax'
  | 'mistral'
  | 'mistral-list'
  | 'nemotron'
  | 'phi-4-mini'
  | 'plain'
  | 'qwen-coder'

/** What a call may consist of, in order. */
export type ConstraintPart =
  | { readonly literal: string }
  /** JSON that satisfies the schema. */
  | { readonly schema: unknown }
  /** Any text that does not contain `until`; the literal that follows is `until`. */
  | { readonly until: string }

export interface CallConstraint {
  /**
   * Output is free until one of these appears; the constraint applies from the first character of
   * it on. Each is the beginning of `begin` followed by a call.
   */
  readonly triggers: readonly string[]
  /** Around all calls of an answer, and between two of them. */
  readonly begin: string
  readonly separator: string
  readonly end: string
  /** One sequence of parts for each tool. */
  readonly calls: readonly {
    readonly tool: string
    readonly parts: readonly ConstraintPart[]
  }[]
}

export interface ToolFormat {
  readonly name: FormatName
  /**
   * Marks the parser looks for. Where they are special tokens, the detokenizer must render them,
   * and they must not end the answer before the parser has seen them.
   */
  readonly marks: readonly string[]
  /** Begin marks of reasoning, as a prompt may already hold them. */
  readonly reasoningMarks: readonly string[]
  parser(options?: ParserOptions): OutputParser
  /** Undefined where the format has no calls. */
  constraint(tools: readonly ToolSpec[]): CallConstraint | undefined
}

const anyObject = { type: 'object' }

/** The schema of a tool's arguments; without one any object. */
export function parametersOf(tool: ToolSpec): unknown {
  return tool.parameters ?? anyObject
}

/** The schema of `{ "name": …, "arguments": … }` for one tool. */
export function callSchema(tool: ToolSpec, name = 'name', args = 'arguments'): unknown {
  return {
    type: 'object',
    properties: { [name]: { const: tool.name }, [args]: parametersOf(tool) },
    required: [name, args],
    additionalProperties: false,
  }
}

interface Wrapping {
  readonly triggers: readonly string[]
  readonly begin?: string
  readonly separator?: string
  readonly end?: string
}

/** Builds a constraint from what stands around calls and the parts of one. */
export function constrain(
  tools: readonly ToolSpec[],
  { triggers, begin = '', separator = '', end = '' }: Wrapping,
  parts: (tool: ToolSpec) => readonly ConstraintPart[],
): CallConstraint {
  const calls = tools.map((tool) => ({ tool: tool.name, parts: parts(tool) }))
  return { triggers, begin, separator, end, calls }
}
