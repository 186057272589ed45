// Runs the command line in a child process, as people and scripts do.
import { join } from 'node:path'

export const root = join(import.meta.dir, '../..')
export const model = 'models/stories-tiny-q8_0.gguf'

export const command = (...args: string[]): string[] => [
  process.execPath,
  join(root, 'src/cli/main.ts'),
  ...args,
]

export interface Outcome {
  status: number
  stdout: string
  stderr: string
}

/** Paths of `args` are relative to the repository. */
export async function runCli(args: string[], stdin = ''): Promise<Outcome> {
  const child = Bun.spawn(command(...args), {
    cwd: root,
    stdin: new Blob([stdin]),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 60_000,
  })
  const [stdout, stderr, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { status, stdout, stderr }
}

/** The same on a terminal: what it shows, and the status. `drive` may type into it. */
export async function runOnTerminal(
  args: string[],
  drive: (shown: string, type: (keys: string) => void) => void = () => {},
): Promise<{ status: number; shown: string }> {
  const decoder = new TextDecoder()
  let shown = ''
  const child = Bun.spawn(command(...args), {
    cwd: root,
    timeout: 60_000,
    terminal: {
      data(terminal, bytes) {
        shown += decoder.decode(bytes, { stream: true })
        drive(shown, (keys) => terminal.write(keys))
      },
    },
  })
  const status = await child.exited
  child.terminal?.close()
  return { status, shown }
}
