// Text from stdin, for operands that may be left out.
import { UsageError } from './command.ts'

/**
 * Everything from stdin, without the line break at its end that `echo` adds.
 *
 * @throws UsageError on a terminal, where it would only look as if nothing happened
 */
export async function readStdin(operand: string): Promise<string> {
  if (process.stdin.isTTY) {
    throw new UsageError(`${operand} is missing: give it as an argument, or pipe it in`)
  }
  return (await Bun.stdin.text()).replace(/\r?\n$/, '')
}
