// A vocabulary of any size for models of random weights.
import type { GgufValueInput } from '../src/files/index.ts'

// Token types of SentencePiece vocabularies in GGUF.
const tokenType = { normal: 1, unknown: 2, control: 3, byte: 6 } as const
const specials = ['<unk>', '<s>', '</s>']
const wordStart = '\u2581'

/**
 * Tokenizer keys of a SentencePiece vocabulary of `count` pieces, all distinct: specials, bytes,
 * characters, and words made of syllables that are pieces too, so that merging can reach them.
 */
export const vocabularyKeys = (count: number): Record<string, GgufValueInput> => {
  const bytes = Array.from({ length: 256 }, (_, byte) => {
    return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`
  })
  const first = specials.length + bytes.length
  if (!Number.isSafeInteger(count) || count <= first) {
    throw new RangeError(`a vocabulary has more than ${first} pieces, not ${count}`)
  }
  const types = new Int32Array(count).fill(tokenType.normal)
  types.set([tokenType.unknown, tokenType.control, tokenType.control])
  types.fill(tokenType.byte, specials.length, first)
  return {
    'tokenizer.ggml.model': 'llama',
    'tokenizer.ggml.tokens': [...specials, ...bytes, ...pieces(count - first)],
    // Merges that come first in the vocabulary win.
    'tokenizer.ggml.scores': new Float32Array(count).map((_, id) => Math.min(0, first - id)),
    'tokenizer.ggml.token_type': types,
    'tokenizer.ggml.bos_token_id': { type: 'u32', value: 1 },
    'tokenizer.ggml.eos_token_id': { type: 'u32', value: 2 },
    'tokenizer.ggml.unknown_token_id': { type: 'u32', value: 0 },
    'tokenizer.ggml.add_bos_token': true,
    'tokenizer.ggml.add_space_prefix': true,
  }
}

/** `count` distinct pieces: characters, then syllables, then words of more and more of these. */
const pieces = (count: number): string[] => {
  const ascii = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index))
  const made = [wordStart, ...ascii].slice(0, count)
  const syllables = [...'bcdfghjklmnprstvwz'].flatMap((c) => [...'aeiou'].map((v) => c + v))
  let words = ['']
  while (made.length < count) {
    words = words.flatMap((word) => syllables.map((syllable) => word + syllable))
    for (const word of words) {
      if (made.length < count) made.push(word)
      if (made.length < count) made.push(wordStart + word)
    }
  }
  return made
}
