// A prompt without a single token.
import { LeavenError } from './leaven_error.ts'

/** Thrown when a prompt is empty and the vocabulary adds no beginning-of-sequence token. */
export class EmptyPromptError extends LeavenError {
  constructor() {
    super('EMPTY_PROMPT', 'the prompt has no tokens; give at least one character or token')
  }
}
