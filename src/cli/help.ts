// The texts of --help.
import { type Command, type OptionSpec, sharedOptions } from './command.ts'

/** Two columns, the first as wide as its widest entry. */
const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}

const optionRow = ([name, spec]: [string, OptionSpec]): [string, string] => {
  const short = spec.short === undefined ? '    ' : `-${spec.short}, `
  const value = spec.value === undefined ? '' : ` ${spec.value}`
  return [`${short}--${name}${value}`, spec.help]
}

export const overallHelp = (commands: readonly Command[], version: string): string =>
  [
    `leaven ${version}: local models and tensors for Bun`,
    'Usage: leaven COMMAND [ARGUMENT ...]',
    columns(commands.map(({ name, summary }) => [name, summary])),
    columns([
      ['leaven COMMAND --help', 'says what a command takes'],
      ['leaven --version', 'prints the version'],
    ]),
  ].join('\n\n')

export const commandHelp = (command: Command): string => {
  const usage = ['Usage: leaven', command.name, ...command.operands, '[OPTION ...]'].join(' ')
  const summary = command.summary.replace(/^./, (letter) => letter.toUpperCase())
  const options = Object.entries({ ...command.options, ...sharedOptions })
  return [
    `${usage}\n${summary}.`,
    ...(command.details ?? []),
    columns(options.map(optionRow)),
    `Examples:\n${command.examples.map((example) => `  ${example}`).join('\n')}`,
  ].join('\n\n')
}
