// What a subcommand is, and the reading of its arguments.
import { parseArgs } from 'node:util'
import { nearest } from './nearest.ts'

export interface OptionSpec {
  /** What stands for the value in the help; an option without one is a switch. */
  value?: string
  /** May be given several times. */
  repeatable?: boolean
  short?: string
  help: string
}

export interface Command {
  readonly name: string
  readonly summary: string
  /** `FILE` is needed, `[PROMPT]` may be left out. */
  readonly operands: readonly string[]
  /** Paragraphs of the help, after its first line. */
  readonly details?: readonly string[]
  readonly options: Readonly<Record<string, OptionSpec>>
  readonly examples: readonly string[]
  /** Resolves to the exit status when that is not 0. */
  run(args: Arguments): Promise<number | undefined>
}

/** A mistake in the arguments: status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Options that every command has. */
export const sharedOptions: Readonly<Record<string, OptionSpec>> = {
  json: { help: 'print one JSON value, for programs' },
  help: { short: 'h', help: 'say what the command does' },
}

/** Arguments that fit a command. */
export class Arguments {
  readonly operands: readonly string[]
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(operands: readonly string[], values: ReadonlyMap<string, readonly string[]>) {
    this.operands = operands
    this.#values = values
  }

  has(option: string): boolean {
    return this.#values.has(option)
  }

  /** The value of an option; of the last one, if it was given several times. */
  text(option: string): string | undefined {
    return this.#values.get(option)?.at(-1)
  }

  /** All values of a repeatable option. */
  texts(option: string): readonly string[] {
    return this.#values.get(option) ?? []
  }

  /** A number, in any range: what takes it knows what it may be. */
  number(option: string): number | undefined {
    const text = this.text(option)
    if (text === undefined) return undefined
    const value = Number(text)
    if (text.trim() !== '' && Number.isFinite(value)) return value
    throw new UsageError(`--${option} takes a number, not ${JSON.stringify(text)}`)
  }

  /** A whole number of at least `min`. */
  count(option: string, min = 1): number | undefined {
    const value = this.number(option)
    if (value === undefined || (Number.isSafeInteger(value) && value >= min)) return value
    throw new UsageError(`--${option} takes a whole number from ${min} on, not ${value}`)
  }

  /** A whole number that is not negative, of any size. */
  bigint(option: string): bigint | undefined {
    const text = this.text(option)
    if (text === undefined) return undefined
    if (/^\d+$/.test(text)) return BigInt(text)
    throw new UsageError(`--${option} takes a whole number, not ${JSON.stringify(text)}`)
  }
}

/**
 * Reads what stands behind the command's name.
 *
 * @throws UsageError that names the argument and, where there is one, what was meant
 */
export function readArguments(command: Command, argv: readonly string[]): Arguments {
  const options = { ...command.options, ...sharedOptions }
  const { tokens } = parseArgs({
    args: [...argv],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(
      Object.entries(options).map(([name, { value, short }]) => [
        name,
        {
          type: value === undefined ? ('boolean' as const) : ('string' as const),
          ...(short === undefined ? {} : { short }),
        },
      ]),
    ),
  })
  const operands: string[] = []
  const values = new Map<string, string[]>()
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    const value = checkOption(options, token)
    values.set(token.name, [...(values.get(token.name) ?? []), value])
  }
  if (!values.has('help')) checkOperands(command, operands)
  return new Arguments(operands, values)
}

interface OptionToken {
  name: string
  rawName: string
  value?: string | undefined
  inlineValue?: boolean | undefined
}

function checkOption(
  options: Readonly<Record<string, OptionSpec>>,
  { name, rawName, value, inlineValue }: OptionToken,
): string {
  const spec = Object.hasOwn(options, name) ? options[name] : undefined
  if (spec === undefined) {
    const meant = nearest(name, Object.keys(options))
    throw new UsageError(
      `unknown option ${rawName}${meant === undefined ? '' : `; did you mean --${meant}?`}`,
    )
  }
  if (spec.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`)
    return ''
  }
  const isOption = value?.startsWith('--') && Object.hasOwn(options, value.slice(2))
  if (value === undefined || (isOption && !inlineValue)) {
    throw new UsageError(`${rawName} needs a value: ${rawName} ${spec.value}`)
  }
  return value
}

function checkOperands({ operands: wanted }: Command, given: readonly string[]): void {
  const missing = wanted.slice(given.length).find((name) => !name.startsWith('['))
  if (missing !== undefined) throw new UsageError(`${missing} is missing`)
  const isOpen = wanted.at(-1)?.endsWith('...]') ?? false
  if (given.length <= wanted.length || isOpen) return
  const extra = given[wanted.length]!
  throw new UsageError(
    `unexpected ${JSON.stringify(extra)}${extra.includes(' ') ? '' : '; quote what has spaces'}`,
  )
}
