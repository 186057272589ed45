// Streaming text: bytes to characters, and stop strings.
export { StopMatcher, type StopResult } from './stop_matcher.ts'
export { TextStream } from './text_stream.ts'
