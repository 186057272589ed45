// Tool-call and reasoning formats: stream parsers of answers, and what constrains calls.
export { detectFormat, formatByName, formatNames, promptOpensReasoning } from './detect.ts'
export type { CallConstraint, ConstraintPart, FormatName, ToolFormat } from './format.ts'
export type { OutputParser, ParsedCall, ParsedPart, ParserOptions, ToolSpec } from './parts.ts'
