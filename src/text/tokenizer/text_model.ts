// What every kind of tokenizer does with text that holds no special tokens.
import type { IdList } from './id_list.ts'
import type { Steps } from './steps.ts'

export interface TextModel {
  /**
   * Appends the ids of `text` to `out`. `afterSpecial` is true at the start of the whole text and
   * right after a special token, where some vocabularies put a space.
   */
  segment(text: Uint8Array, out: IdList, afterSpecial: boolean): Steps<void>
}
