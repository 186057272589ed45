#!/usr/bin/env bun
// The leaven command: finds the subcommand, runs it, and says what went wrong in one line.
import { bundleCommand } from './bundle.ts'
import { type Command, readArguments, UsageError } from './command.ts'
import { devicesCommand } from './devices.ts'
import { doctorCommand } from './doctor.ts'
import { generateCommand } from './generate.ts'
import { commandHelp, overallHelp } from './help.ts'
import { inspectCommand } from './inspect.ts'
import { nearest } from './nearest.ts'
import { perplexityCommand } from './perplexity.ts'
import { templateCommand } from './template.ts'
import { note, print, printable, printJson } from './terminal.ts'
import { tokenizeCommand } from './tokenize.ts'
import { version } from './version.ts'

const commands: readonly Command[] = [
  generateCommand,
  inspectCommand,
  tokenizeCommand,
  templateCommand,
  perplexityCommand,
  bundleCommand,
  devicesCommand,
  doctorCommand,
]

/** Runs the command line; returns the exit status. */
async function main([name, ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const about = commands.find((each) => each.name === rest[0])
    await print(`${about ? commandHelp(about) : overallHelp(commands, version)}\n`)
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-v') {
    if (rest.includes('--json')) await printJson({ version })
    else await print(`${version}\n`)
    return 0
  }
  const command = commands.find((each) => each.name === name)
  if (command === undefined) return misused('leaven', unknownCommand(name))
  try {
    const args = readArguments(command, rest)
    if (!args.has('help')) return (await command.run(args)) ?? 0
    await print(`${commandHelp(command)}\n`)
    return 0
  } catch (error) {
    if (error instanceof UsageError) return misused(`leaven ${name}`, error.message)
    throw error
  }
}

function unknownCommand(name: string): string {
  const what = name.startsWith('-') ? 'option' : 'command'
  const meant = nearest(
    name,
    commands.map((command) => command.name),
  )
  const guess = meant === undefined ? '' : `; did you mean ${meant}?`
  return `unknown ${what} ${name}${guess}`
}

function misused(who: string, problem: string): number {
  note(`${who}: ${printable(problem)}`)
  note(`${who} --help says what it takes.`)
  return 2
}

/** One line, whatever it is; LEAVEN_DEBUG=1 adds where it came from. */
function failed(error: unknown): number {
  // Who read our output has read enough.
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return 0
  note(`leaven: ${printable(error instanceof Error ? error.message : String(error))}`)
  if (process.env.LEAVEN_DEBUG && error instanceof Error) note(error.stack ?? '')
  return 1
}

// Writing reports its own failures; without a listener the event would end the process.
process.stdout.on('error', () => {})
process.exit(await main(process.argv.slice(2)).catch(failed))
