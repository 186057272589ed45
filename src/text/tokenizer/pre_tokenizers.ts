// How byte-pair vocabularies cut text into words, by the names GGUF files use (tokenizer.ggml.pre).
//
// The expressions are those that the reference runner applies, because its ids are what files are
// tested with. They differ from the models' own in a few places: there `~` is no symbol, letters
// beyond ASCII count as both cases, and no pass sees past the end of the piece that it cuts.
import type { DigitGrouping } from './digit_groups.ts'

/** One pass over the text, or over each piece that the pass before made. */
export type Pass =
  /** Matches everywhere: each match is a piece. */
  | { readonly cover: string }
  /** Each match is a piece, and so is what lies between two matches. */
  | { readonly find: string }
  /** Cuts digits into groups of three. */
  | { readonly digits: DigitGrouping }

export interface PreTokenizer {
  readonly passes: readonly Pass[]
  /** A word that is a token as a whole stays whole, whatever the merges say. */
  readonly ignoreMerges?: true
  /** `always` overrides the file. */
  readonly addBos?: 'default' | 'always'
  readonly addSeparator?: true
  readonly cleanSpaces?: false
  /** Pieces are plain UTF-8 instead of the byte alphabet of GPT-2. */
  readonly plainPieces?: true
  /** Pieces write spaces as U+2581. */
  readonly marksSpaces?: true
  /** A run of line feeds that is a token stays whole. */
  readonly keepsLineFeeds?: true
  /** Files may come without merges. */
  readonly mergesAreOptional?: true
  /** There is no beginning-of-sequence token unless the file names one. */
  readonly noDefaultBos?: true
}

// \s and \S of the expressions below; JavaScript's own \s has U+FEFF and lacks U+0085.
const s = '\\p{White_Space}'
const S = '\\P{White_Space}'
const symbol = '[\\p{S}--~]'
const contraction = "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
const spaces = `${s}+(?!${S})|${s}+`
const lines = `${s}*[\\r\\n]+|${spaces}`
const notLetter = '[^\\r\\n\\p{L}\\p{N}]?'
const han =
  '\\u4E00-\\u9FFF\\u3400-\\u4DBF\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2EBEF}\\uF900-\\uFAFF' +
  '\\u{2F800}-\\u{2FA1F}'
const kana = '\\u3040-\\u30FF'

/** Letters of scripts with two cases, as DeepSeek LLM lists them. */
const casedLetters =
  'A-Za-z\\xB5\\xC0-\\xD6\\xD8-\\xF6\\xF8-\\u01BA\\u01BC-\\u01BF\\u01C4-\\u0293\\u0295-\\u02AF' +
  '\\u0370-\\u0373\\u0376\\u0377\\u037B-\\u037D\\u037F\\u0386\\u0388-\\u038A\\u038C' +
  '\\u038E-\\u03A1\\u03A3-\\u03F5\\u03F7-\\u0481\\u048A-\\u052F\\u0531-\\u0556\\u10A0-\\u10C5' +
  '\\u13A0-\\u13F5\\u13F8-\\u13FD\\u1C90-\\u1CBA\\u1CBD-\\u1CBF\\u1D00-\\u1D2B\\u1D6B-\\u1D77' +
  '\\u1D79-\\u1D9A\\u1E00-\\u1F15\\u1F18-\\u1F1D\\u1F20-\\u1F45\\u1F48-\\u1F4D\\u1F50-\\u1F57' +
  '\\u1F59\\u1F5B\\u1F5D\\u1F5F-\\u1F7D\\u1F80-\\u1FB4\\u1FB6-\\u1FBC\\u1FBE\\u1FC2-\\u1FC4' +
  '\\u1FC6-\\u1FCC\\u1FD0-\\u1FD3\\u1FD6-\\u1FDB\\u1FE0-\\u1FEC\\u1FF2-\\u1FF4\\u1FF6-\\u1FFC' +
  '\\u2102\\u2107\\u210A-\\u2113\\u2115\\u2119-\\u211D\\u2124\\u2126\\u2128\\u212A-\\u212D' +
  '\\u212F-\\u2134\\u2139\\u213C-\\u213F\\u2145-\\u2149\\u214E\\u2183\\u2184\\u2C00-\\u2C7B' +
  '\\u2C7E-\\u2CE4\\u2CEB-\\u2CEE\\u2CF2\\u2CF3\\uA640-\\uA66D\\uA680-\\uA69B\\uA722-\\uA76F' +
  '\\uA771-\\uA787\\uA78B-\\uA78E\\uAB70-\\uABBF\\uFB00-\\uFB06\\uFB13-\\uFB17\\uFF21-\\uFF3A' +
  '\\uFF41-\\uFF5A\\u{10400}-\\u{1044F}\\u{104B0}-\\u{104D3}\\u{104D8}-\\u{104FB}' +
  '\\u{10C80}-\\u{10CB2}\\u{10CC0}-\\u{10CF2}\\u{118A0}-\\u{118DF}\\u{1E900}-\\u{1E943}'

/** The family of Llama 3: contractions in any case, words with one mark in front, digits, marks. */
function words(digits: string, marks = '[\\r\\n]*', lineEnds = '[\\r\\n]+'): Pass {
  return {
    cover:
      `${contraction}|${notLetter}\\p{L}+|${digits}| ?[^${s}\\p{L}\\p{N}]+${marks}|` +
      `${s}*${lineEnds}|${spaces}`,
  }
}

/** The family of GPT-4o: a word is letters that are not small, then such as are not capital. */
function casedWords(letters: string, digits: string, contracted: string): Pass {
  const upper = `[${letters}--[a-z]]`
  const lower = `[${letters}--[A-Z]]`
  return {
    cover:
      `${notLetter}${upper}*${lower}+${contracted}|${notLetter}${upper}+${lower}*${contracted}|` +
      `${digits}| ?[^${s}\\p{L}\\p{N}]+[\\r\\n\\/]*|${lines}`,
  }
}

/** Words of either case, kept whole. */
function caselessWords(digits: string): Pass {
  return {
    cover:
      `${notLetter}[\\p{L}\\p{M}]+(?:${contraction})?|${digits}|` +
      ` ?[^${s}\\p{L}\\p{N}]+[\\r\\n\\/]*|${lines}`,
  }
}

/** The main pass of DeepSeek V3 and its relatives; `lineEnds` is where line breaks go. */
function marksAndWords(lineEnds: string): Pass {
  return {
    find:
      '[!"#$%&\'\\(\\)*+,\\-.\\/:;<=>?@\\[\\\\\\]^_`\\{\\|\\}~][A-Za-z]+|' +
      `[^\\r\\n\\p{L}\\p{P}${symbol}]?[\\p{L}\\p{M}]+| ?[\\p{P}${symbol}]+${lineEnds}|${spaces}`,
  }
}

const gpt2: Pass = {
  cover: `'(?:s|t|re|ve|m|ll|d)| ?\\p{L}+| ?\\p{N}+| ?[^${s}\\p{L}\\p{N}]+|${spaces}`,
}
const llama3 = words('\\p{N}{1,3}')
const qwen2 = words('\\p{N}')
const digit: Pass = { find: '\\p{N}' }
const threeDigits: Pass = { find: '\\p{N}{1,3}' }
const threeAsciiDigits: Pass = { find: '[0-9][0-9][0-9]' }
const lineBreak: Pass = { find: '[\\r\\n]' }
const lineFeeds: Pass = { cover: '[^\\n]+|\\n+' }
const cjk: Pass = { find: `[\\u4E00-\\u9FA5${kana}]+` }
const cjkWide: Pass = { find: '[\\u0800-\\u9FA5\\uAC00-\\uD7FF]+' }
const deepseekV3 = [threeDigits, cjk, marksAndWords(`[\\r\\n]*|${s}*[\\r\\n]+`)]
const noPunctuation: Pass = { find: ` ?[^\\(${s}\\|.,!?…。，、।۔،\\)]+` }
const oneMark = '[\\p{P}!-\\/:-@\\[-`\\{-~]'

const gptOneDigit = { passes: [digit, gpt2] } as const
const qwen = { passes: [qwen2], cleanSpaces: false } as const
const harmony = {
  passes: [casedWords('\\p{L}', '\\p{N}{1,3}', `(?:${contraction})?`)],
  cleanSpaces: false,
} as const
const deepseek = { passes: deepseekV3, cleanSpaces: false } as const
const gptWithSeparator = { passes: [gpt2], addSeparator: true } as const
const llama = { passes: [llama3], ignoreMerges: true, addBos: 'default' } as const
const bailing = {
  passes: [words('\\p{N}', '[\\r\\n]*', '[\\r\\n]')],
  cleanSpaces: false,
} as const
const gemma4 = {
  passes: [lineFeeds],
  plainPieces: true,
  marksSpaces: true,
  keepsLineFeeds: true,
  addBos: 'always',
} as const
const aya = {
  passes: [{ digits: 'bounded' }, caselessWords('\\p{N}{1,3}')],
  cleanSpaces: false,
} as const
const glm4 = { passes: [llama3], noDefaultBos: true } as const
const poro: PreTokenizer = { passes: [noPunctuation] }

const DEFAULT: PreTokenizer = {
  passes: [{ find: '[\\p{P}$+<=>\\^~\\|]+' }, gpt2, { find: '\\p{N}+' }, threeAsciiDigits],
}

const PRE_TOKENIZERS: Record<string, PreTokenizer> = {
  default: DEFAULT,

  llama3: llama,
  'llama-v3': llama,
  'llama-bpe': llama,
  falcon3: llama,
  'falcon-h1': llama,
  pixtral: llama,
  'midm-2.0': llama,
  lfm2: llama,
  'jina-v5-nano': llama,
  dbrx: { passes: [llama3] },
  'smaug-bpe': { passes: [llama3] },
  glm4,
  'chatglm-bpe': glm4,
  minicpm5: { passes: [threeDigits, words('\\p{N}+')], ignoreMerges: true },
  'jais-2': {
    passes: [
      llama3,
      // Runs of spaces are cut by powers of two; all else ends with something visible or a line
      // break.
      {
        cover:
          `^[^]*[${S}\\r\\n]$|` +
          ['512', '256', '128', '64', '32', '16', '8', '4', '1,2']
            .map((count) => `${s}{${count}}`)
            .join('|'),
      },
    ],
  },

  qwen2: qwen,
  'deepseek-r1-qwen': qwen,
  kormo: qwen,
  f2llmv2: qwen,
  hunyuan: qwen,
  'grok-2': qwen,
  'solar-open': qwen,
  megrez: { passes: [qwen2] },
  stablelm2: { passes: [qwen2] },
  laguna: { passes: [lineFeeds, qwen2], cleanSpaces: false },
  bailingmoe: bailing,
  bailingmoe2: bailing,
  'llada-moe': bailing,
  qwen35: {
    passes: [
      {
        cover:
          `${contraction}|${notLetter}[\\p{L}\\p{M}]+|\\p{N}|` +
          ` ?[^${s}\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${lines}`,
      },
    ],
    cleanSpaces: false,
  },
  ufakzeka: {
    passes: [{ cover: `${notLetter}\\p{L}+|\\p{N}| ?[^${s}\\p{L}\\p{N}]+[\\r\\n]*|${lines}` }],
    cleanSpaces: false,
  },
  'seed-coder': { passes: [words('\\p{N}', '')], cleanSpaces: false },
  'exaone-moe': {
    passes: [
      {
        // A word goes on over single spaces as long as a letter follows.
        cover:
          `${contraction}|${notLetter}\\p{L}(?:[\\p{L}\\p{M}]| (?=\\p{L}))*|\\p{N}|` +
          ` ?[^${s}\\p{L}\\p{N}]+[\\r\\n\\/]?|${s}*[\\r\\n]|${spaces}`,
      },
    ],
  },

  'gpt-4o': harmony,
  llama4: harmony,
  kanana2: harmony,
  talkie: harmony,
  'minimax-m2': harmony,
  tekken: {
    passes: [casedWords('\\p{L}', '\\p{N}', '')],
    cleanSpaces: false,
    ignoreMerges: true,
    addBos: 'default',
  },
  'granite-embed-multi-97m': {
    passes: [casedWords('[\\p{L}\\p{M}]', '\\p{N}{1,3}', `(?:${contraction})?`)],
    cleanSpaces: false,
    ignoreMerges: true,
  },
  tiny_aya: aya,
  cohere2moe: aya,
  youtu: {
    passes: [
      {
        find:
          '[\\uAC00-\\uD7A3\\u3131-\\u318E]+|[！…“”‘’—：；，\\u3001-\\u303F\\uFE30-\\uFE4F]+|' +
          `[\\u3105-\\u312F]+|[\\u4E00-\\u9FA5${kana}]+`,
      },
      caselessWords('\\p{N}'),
    ],
    cleanSpaces: false,
    ignoreMerges: true,
  },
  'kimi-k2': {
    passes: [
      {
        cover:
          `[${han}]+|${notLetter}[\\p{L}--[${han}]]+(?:${contraction})?|\\p{N}{1,3}|` +
          ` ?[^${s}\\p{L}\\p{N}]+[\\r\\n]*|${lines}`,
      },
    ],
    cleanSpaces: false,
    mergesAreOptional: true,
  },

  'gpt-2': { passes: [gpt2] },
  'phi-2': { passes: [gpt2] },
  'jina-es': { passes: [gpt2] },
  'jina-de': { passes: [gpt2] },
  'jina-v2-es': { passes: [gpt2] },
  'jina-v2-de': { passes: [gpt2] },
  gigachat: { passes: [gpt2] },
  'a.x-4.0': { passes: [gpt2] },
  mellum: { passes: [gpt2] },
  'modern-bert': { passes: [gpt2] },
  mpt: { passes: [gpt2] },
  olmo: { passes: [gpt2] },
  jais: { passes: [gpt2] },
  exaone4: { passes: [gpt2] },
  trillion: { passes: [gpt2], cleanSpaces: false },
  'granite-docling': { passes: [gpt2], cleanSpaces: false },
  'jina-v1-en': gptWithSeparator,
  'jina-v2-code': gptWithSeparator,
  'roberta-bpe': gptWithSeparator,

  starcoder: gptOneDigit,
  refact: gptOneDigit,
  codeshell: gptOneDigit,
  exaone: gptOneDigit,
  'minerva-7b': gptOneDigit,
  mellum2: gptOneDigit,
  'command-r': { passes: [digit, gpt2], cleanSpaces: false },
  smollm: { passes: [digit, gpt2], cleanSpaces: false },
  falcon: { passes: [{ find: '[\\p{P}$+<=>\\^~\\|`]+' }, gpt2, threeAsciiDigits] },
  chameleon: {
    passes: [
      { find: '<sentinel:[0-9]+>' },
      { find: 'IMGIMG[A-I]{1,4}Z' },
      { find: '[\\t\\n]|    |  ' },
      digit,
      { find: oneMark },
      gpt2,
    ],
    addBos: 'default',
    cleanSpaces: false,
  },

  'deepseek-llm': {
    passes: [
      lineBreak,
      { find: `${s}?[${casedLetters}]+` },
      { find: `${s}?[!-\\/:-~！-／：-～‘-‟\\u3000-。]+` },
      { find: `${s}+$` },
      cjkWide,
      { find: '\\p{N}+' },
    ],
    cleanSpaces: false,
  },
  'deepseek-coder': {
    passes: [lineBreak, { find: `${s}?\\p{L}+` }, { find: `${s}?\\p{P}+` }, cjkWide, digit],
    cleanSpaces: false,
  },
  'deepseek-v3': deepseek,
  'hunyuan-dense': deepseek,
  'joyai-llm': deepseek,
  hy_v4: deepseek,
  spark2_5: {
    passes: [threeDigits, cjk, marksAndWords('|[\\r\\n]'), digit],
    cleanSpaces: false,
  },
  afmoe: {
    passes: [
      { digits: 'glued' },
      {
        find:
          `[\\u4E00-\\u9FFF\\u3400-\\u4DBF\\uF900-\\uFAFF${kana}\\uFF65-\\uFF9F\\u2F00-\\u2FDF` +
          '\\u0E40-\\u0E7F\\u0E80-\\u0EFF\\u1780-\\u17FF\\u1000-\\u109F\\uAA60-\\uAA7F' +
          '\\uA9E0-\\uA9FF\\uAC00-\\uD7AF\\u1100-\\u11FF]+',
      },
      marksAndWords(`[\\r\\n]*|${s}*[\\r\\n]+`),
    ],
    cleanSpaces: false,
  },
  superbpe: { passes: [{ find: '\\p{N}+' }, { digits: 'apart' }], cleanSpaces: false },

  'poro-chat': { ...poro, cleanSpaces: false },
  bloom: poro,
  'gpt3-finnish': poro,
  viking: { passes: [noPunctuation, digit], cleanSpaces: false },

  gemma4,
  'granite-embed-multi-311m': gemma4,
  'sarvam-moe': {
    passes: [lineFeeds],
    plainPieces: true,
    marksSpaces: true,
    cleanSpaces: false,
  },
  whitespace: { passes: [{ find: `${S}+` }], plainPieces: true },
}

/** Every name that files use, for tests and documentation. */
export const preTokenizerNames: readonly string[] = Object.keys(PRE_TOKENIZERS)

/** The pre-tokenizer of that name; unknown and missing names warn and give the default. */
export function preTokenizerNamed(name: string, warnings: string[]): PreTokenizer {
  if (Object.hasOwn(PRE_TOKENIZERS, name)) return PRE_TOKENIZERS[name]!
  warnings.push(
    name === ''
      ? 'the file names no pre-tokenizer (tokenizer.ggml.pre); the default may give other ids'
      : `unknown pre-tokenizer '${name}'; the default may give other ids`,
  )
  return DEFAULT
}
