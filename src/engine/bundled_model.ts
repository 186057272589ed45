// The models that `leaven bundle` put into the program that runs, or beside it.
import { BundleError } from '../errors/index.ts'
import { type BundledFile, readBundle } from '../files/bundle.ts'
import type { FileSlice } from '../files/index.ts'

/** `leaven bundle` defines this when it compiles a program, so that a lost model is noticed. */
declare const LEAVEN_BUNDLE: BundlePlace

/** Whether the models are inside the executable, or in a file of the same name and `.models`. */
export type BundlePlace = 'inside' | 'beside'

/** The file of models that belongs to an executable whose signature allows nothing behind it. */
export const modelsBeside = (executable: string): string =>
  `${executable.replace(/\.exe$/i, '')}.models`

let known: readonly BundledFile[] | undefined

/**
 * The model inside this program, for `load`; undefined when the program was not made by
 * `leaven bundle`, so that it runs from source as well:
 *
 * ```ts
 * await using model = await load(bundledModel() ?? 'models/stories.gguf')
 * ```
 *
 * It is mapped where it lies, not copied. On Linux that is the executable itself; a macOS or
 * Windows program has a file `NAME.models` beside it, and the two must be moved together.
 *
 * @param name the file name of the model; may be left out when there is only one
 * @throws BundleError when the bundle is cut short, damaged or gone; RangeError when there is no
 *   model of that name, or there are several and none is named
 */
export const bundledModel = (name?: string): readonly FileSlice[] | undefined => {
  if (name !== undefined && typeof name !== 'string') {
    throw new TypeError(`name must be a string, not ${typeof name}`)
  }
  if (typeof LEAVEN_BUNDLE === 'undefined') return undefined
  known ??= findModels(LEAVEN_BUNDLE)
  const names = known.map((model) => model.name).join(', ')
  if (name === undefined) {
    if (known.length === 1) return known[0]!.parts
    throw new RangeError(`this program has several models; name one of ${names}`)
  }
  const found = known.find((model) => model.name === name)
  if (found === undefined) throw new RangeError(`this program has no model ${name}, but ${names}`)
  return found.parts
}

const findModels = (place: BundlePlace): readonly BundledFile[] => {
  const executable = process.execPath
  const path = place === 'inside' ? executable : modelsBeside(executable)
  let found: readonly BundledFile[] | undefined
  try {
    found = readBundle(path)
  } catch (cause) {
    if (cause instanceof BundleError) throw cause
    const problem = cause instanceof Error ? cause.message : String(cause)
    throw new BundleError(path, `the model of ${executable} cannot be read: ${problem}`, { cause })
  }
  if (found !== undefined) return found
  throw new BundleError(path, 'its model is not there: was the file cut short?')
}
