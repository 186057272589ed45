// Names by which published vocabularies call their special tokens where the metadata does not say.
// Lists gathered from the tokenizer files of the model families named beside them.

/** Ends one turn. The first that exists is the vocabulary's end-of-turn token. */
export const END_OF_TURN = [
  '<|eot_id|>', // Llama 3
  '<|im_end|>', // ChatML
  '<|end|>', // Phi 3, harmony
  '<end_of_turn>', // Gemma
  '<|endoftext|>', // GPT-2
  '<|end_of_text|>', // Granite
  '<EOT>',
  '_<EOT>',
  '[EOT]', // Kimi K2
  '<｜end▁of▁sentence｜>', // DeepSeek
  '<end_of_utterance>', // SmolDocling
] as const

export const END_OF_MESSAGE = ['<|eom_id|>'] as const

/** Every one of these ends a generation. */
export const END_OF_GENERATION = [
  '<|eot_id|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>', // harmony
  '<|call|>', // harmony
  '<|flush|>', // Solar Open
  '<|calls|>', // Solar Open
  '<end_of_turn>',
  '<|endoftext|>',
  '</s>',
  '<|eom_id|>',
  '<EOT>',
  '_<EOT>',
  '[EOT]',
  '[EOS]', // Kimi K2
  '<|end_of_text|>',
  '<end_of_utterance>',
  '<eos>',
  '<turn|>', // Gemma 4
  '<|tool_response>', // Gemma 4
  '<｜end▁of▁sentence｜>',
  '[e~[', // MiniMax
] as const

/** Fill in the middle: what goes in front, behind, between, and around files of a repository. */
export const FILL_IN_MIDDLE = {
  fimPrefix: [
    '<|fim_prefix|>', // Qwen
    '<fim-prefix>',
    '<fim_prefix>', // Granite, StarCoder
    '<｜fim▁begin｜>', // DeepSeek
    '<PRE>',
    '▁<PRE>', // CodeLlama
    '<|code_prefix|>', // GLM 4.5
    '<|prefix|>', // Falcon H1 Coder
  ],
  fimSuffix: [
    '<|fim_suffix|>',
    '<fim-suffix>',
    '<fim_suffix>',
    '<｜fim▁hole｜>',
    '<SUF>',
    '▁<SUF>',
    '<|code_suffix|>',
    '<|suffix|>',
  ],
  fimMiddle: [
    '<|fim_middle|>',
    '<fim-middle>',
    '<fim_middle>',
    '<｜fim▁end｜>',
    '<MID>',
    '▁<MID>',
    '<|code_middle|>',
    '<|middle|>',
  ],
  fimPadding: ['<|fim_pad|>', '<fim-pad>', '<fim_pad>', '<PAD>', '[PAD]'],
  fimRepository: ['<|fim_repo|>', '<|repo_name|>', '<fim-repo>', '<REPO>', '<reponame>'],
  fimSeparator: ['<|file_sep|>'],
} as const

/** Structure of harmony messages; shown as text although the files call them control tokens. */
export const HARMONY_MARKS = ['<|channel|>', '<|message|>', '<|start|>', '<|constrain|>'] as const
