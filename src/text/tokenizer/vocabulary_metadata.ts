// Reads a vocabulary from GGUF metadata (keys tokenizer.ggml.*), whoever parsed the file.
import { UnsupportedModelError } from '../../errors/index.ts'
import type { Strings, StringTable } from './string_table.ts'
import type { SpecialIds, VocabularySource } from './vocabulary_source.ts'

/** The value of a metadata key, or undefined; 64-bit integers may be bigints. */
export type MetadataLookup = (key: string) => unknown

const PREFIX = 'tokenizer.ggml.'

/** Later names win; both spellings of "separator" and three older names occur in files. */
const ID_KEYS: readonly (readonly [string, keyof SpecialIds])[] = [
  ['cls_token_id', 'bos'],
  ['bos_token_id', 'bos'],
  ['eos_token_id', 'eos'],
  ['eot_token_id', 'eot'],
  ['eom_token_id', 'eom'],
  ['unknown_token_id', 'unknown'],
  ['separator_token_id', 'separator'],
  ['seperator_token_id', 'separator'],
  ['padding_token_id', 'padding'],
  ['mask_token_id', 'mask'],
  ['fim_pre_token_id', 'fimPrefix'],
  ['fim_suf_token_id', 'fimSuffix'],
  ['fim_mid_token_id', 'fimMiddle'],
  ['fim_pad_token_id', 'fimPadding'],
  ['fim_rep_token_id', 'fimRepository'],
  ['fim_sep_token_id', 'fimSeparator'],
  ['prefix_token_id', 'fimPrefix'],
  ['suffix_token_id', 'fimSuffix'],
  ['middle_token_id', 'fimMiddle'],
]

/**
 * The vocabulary a GGUF file describes. String arrays may be JavaScript arrays, string tables,
 * objects with `table()` that give one, or with `length` and `bytes(i)`; number arrays may be typed
 * arrays or anything with `toTypedArray()`.
 *
 * @throws UnsupportedModelError when a key is missing or has a value of the wrong kind.
 * @example const source = vocabularyFromMetadata((key) => metadata.get(key))
 */
export function vocabularyFromMetadata(get: MetadataLookup): VocabularySource {
  const read = (key: string): unknown => get(PREFIX + key)
  const model = optionalString(read('model'), 'model')
  if (model === undefined) throw bad('model', undefined, 'the file carries no vocabulary')
  const tokens = read('tokens')
  const isNone = model === 'none' || model === 'no_vocab'
  if (tokens === undefined && !isNone) throw bad('tokens', undefined, 'the token list is missing')
  const ids: Partial<SpecialIds> = {}
  for (const [key, role] of ID_KEYS) {
    if (key === 'cls_token_id' && model !== 'bert') continue
    const value = read(key)
    if (value !== undefined) ids[role] = number(value, key)
  }
  const scores = isNone ? undefined : read('scores')
  const types = isNone ? undefined : read('token_type')
  const merges = read('merges')
  const charsmap = read('precompiled_charsmap')
  const architecture = get('general.architecture')
  const name = get('general.name')
  return {
    model,
    pre: optionalString(read('pre'), 'pre'),
    name: typeof name === 'string' ? name : undefined,
    architecture: typeof architecture === 'string' ? architecture : undefined,
    tokens: tokens === undefined ? dummyTokens(get) : strings(tokens, 'tokens'),
    scores: scores === undefined ? undefined : floats(numbers(scores, 'scores')),
    types: types === undefined ? undefined : integers(numbers(types, 'token_type')),
    merges: merges === undefined ? undefined : strings(merges, 'merges'),
    ids,
    addBos: boolean(read('add_bos_token'), 'add_bos_token'),
    addEos: boolean(read('add_eos_token'), 'add_eos_token'),
    addSeparator: boolean(read('add_sep_token'), 'add_sep_token'),
    addSpacePrefix: boolean(read('add_space_prefix'), 'add_space_prefix'),
    removeExtraWhitespaces: boolean(read('remove_extra_whitespaces'), 'remove_extra_whitespaces'),
    lowercase: boolean(read('normalizer.lowercase'), 'normalizer.lowercase'),
    stripAccents: boolean(read('normalizer.strip_accents'), 'normalizer.strip_accents'),
    precompiledCharsmap:
      charsmap === undefined
        ? undefined
        : Uint8Array.from(numbers(charsmap, 'precompiled_charsmap'), (value) => value & 255),
  }
}

/** Models without a vocabulary say at most how many ids they have. */
function dummyTokens(get: MetadataLookup): StringTable {
  const architecture = get('general.architecture')
  const value = get(`${String(architecture)}.vocab_size`)
  const count = typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0
  if (!Number.isInteger(count) || count < 0 || count > 2 ** 24) {
    throw bad('tokens', value, `a vocabulary of ${String(value)} tokens`)
  }
  const offsets = new Uint32Array(count)
  return { count, bytes: new Uint8Array(0), starts: offsets, ends: offsets }
}

function bad(key: string, value: unknown, problem: string): UnsupportedModelError {
  return new UnsupportedModelError(PREFIX + key, value, problem)
}

function optionalString(value: unknown, key: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  throw bad(key, value, `expected a string, found ${typeof value}`)
}

function boolean(value: unknown, key: string): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value) !== 0
  throw bad(key, value, `expected a boolean, found ${typeof value}`)
}

function number(value: unknown, key: string): number {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
  throw bad(key, value, `expected a number, found ${typeof value}`)
}

function numbers(value: unknown, key: string): ArrayLike<number> {
  const array =
    typeof value === 'object' && value !== null && 'toTypedArray' in value
      ? (value as { toTypedArray(): unknown }).toTypedArray()
      : value
  const isNumbers =
    ArrayBuffer.isView(array) &&
    !(
      array instanceof BigInt64Array ||
      array instanceof BigUint64Array ||
      array instanceof DataView
    )
  if (isNumbers) return array as unknown as ArrayLike<number>
  if (Array.isArray(array) && array.every((entry) => typeof entry === 'number')) return array
  throw bad(key, value, 'expected an array of numbers')
}

const floats = (values: ArrayLike<number>): Float32Array =>
  values instanceof Float32Array ? values : Float32Array.from(values)

const integers = (values: ArrayLike<number>): Int32Array =>
  values instanceof Int32Array ? values : Int32Array.from(values)

function strings(value: unknown, key: string): Strings {
  if (Array.isArray(value)) {
    const isText = (entry: unknown) => typeof entry === 'string' || entry instanceof Uint8Array
    if (value.every(isText)) return value
  } else if (typeof value === 'object' && value !== null) {
    if ('table' in value && typeof value.table === 'function') return value as Strings
    if ('starts' in value && 'ends' in value) return value as StringTable
    if ('length' in value && 'bytes' in value && typeof value.bytes === 'function') {
      return value as Strings
    }
  }
  throw bad(key, value, 'expected an array of strings')
}
