// leaven generate from outside: the demo model, pipes, a terminal, and ways to end it.
import { describe, expect, test } from 'bun:test'
import { command, model, root, runCli, runOnTerminal } from './run_cli.ts'

const prompt = 'Once upon a time'
const greedy = ['--temperature', '0']

describe('leaven generate', () => {
  test('prints the prompt and its continuation, and the speed on stderr', async () => {
    const args = ['generate', model, prompt, '--max-tokens', '12', ...greedy]
    const { status, stdout, stderr } = await runCli(args)
    expect(status).toBe(0)
    expect(stdout).toStartWith(prompt)
    expect(stdout.length).toBeGreaterThan(prompt.length + 12)
    expect(stdout).toEndWith('\n')
    expect(stderr).toMatch(/^prompt 5 tokens \(.* tokens\/s\), text 12 tokens \(.* tokens\/s\), /)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    const quiet = await runCli([...args, '--no-echo', '--quiet'])
    expect(quiet).toEqual({ status: 0, stdout: stdout.slice(prompt.length), stderr: '' })
  })

  test('--json prints one object, with the same text', async () => {
    const args = ['generate', model, prompt, '-n', '12', ...greedy]
    const { stdout, stderr } = await runCli([...args, '--json'])
    const result = JSON.parse(stdout)
    expect(stderr).toBe('')
    expect(result).toMatchObject({
      finishReason: 'length',
      usage: { promptTokens: 5, completionTokens: 12 },
      model: { architecture: 'llama' },
    })
    expect(result.tokens).toHaveLength(12)
    expect(result.timings.tokensPerSecond).toBeGreaterThan(0)
    expect(`${prompt}${result.text}\n`).toBe((await runCli(args)).stdout)
  })

  test('the same seed gives the same text, whatever the number of threads', async () => {
    const args = ['generate', model, prompt, '-n', '20', '--quiet', '--seed']
    const [one, two, other] = await Promise.all([
      runCli([...args, '9007199254740993', '--threads', '1']),
      runCli([...args, '9007199254740993', '--threads', '2', '--no-mmap']),
      runCli([...args, '4']),
    ])
    expect(one.stdout).toBe(two.stdout)
    expect(one.stdout).not.toBe(other.stdout)
  })

  test('ends in front of a stop string, of several the first', async () => {
    const args = ['generate', model, prompt, ...greedy, '-n', '100', '--json']
    const { text } = JSON.parse((await runCli(args)).stdout)
    const stop = text.slice(20, 24)
    const result = JSON.parse((await runCli([...args, '--stop', '§§', '--stop', stop])).stdout)
    expect(result.text).toBe(text.slice(0, text.indexOf(stop)))
    expect(result).toMatchObject({ finishReason: 'stop-string', stopString: stop })
  })

  test('reads the prompt from stdin, without its last line break', async () => {
    const { stdout } = await runCli(['generate', model, '-n', '3', '--quiet'], `${prompt}\n`)
    expect(stdout).toStartWith(prompt)
    expect(stdout.slice(0, -1)).not.toContain('\n')
  })

  test.each(['7', 'fit', 'all'])(
    '--gpu-layers %s is explained where there is no GPU',
    async (n) => {
      const { status, stderr } = await runCli([
        ...['generate', model, prompt, '-n', '1', '--gpu-layers', n],
      ])
      expect(status).toBe(0)
      expect(stderr).toContain('no GPU here that leaven can use: all 6 layers run on the CPU\n')
    },
  )

  test('a prompt longer than the context is refused with both numbers', async () => {
    const args = ['generate', model, 'word '.repeat(40), '--context', '16', '--no-echo']
    const { status, stderr } = await runCli(args)
    expect(status).toBe(1)
    expect(stderr).toMatch(/^leaven: the prompt needs \d+ tokens, the context holds 16$/m)
  })
})

const endless = ['generate', model, prompt, '--context', '20000', '--seed', '1']

describe('ending early', () => {
  test('who has read enough ends it, without a word', async () => {
    const child = Bun.spawn(command(...endless, '--quiet'), {
      ...{ cwd: root, stdout: 'pipe', stderr: 'pipe', timeout: 60_000 },
    })
    const reader = child.stdout.getReader()
    await reader.read()
    await reader.cancel()
    expect(await child.exited).toBe(0)
    expect(await new Response(child.stderr).text()).toBe('')
  })

  test('SIGINT ends it with status 130 and the text so far', async () => {
    const child = Bun.spawn(command(...endless), {
      ...{ cwd: root, stdout: 'pipe', stderr: 'pipe', timeout: 60_000 },
    })
    let text = ''
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) {
      text += decoder.decode(bytes, { stream: true })
      if (text.length > prompt.length) child.kill('SIGINT')
    }
    expect(await child.exited).toBe(130)
    expect(text).toStartWith(prompt)
    expect(text).toEndWith('\n')
    expect(await new Response(child.stderr).text()).toContain('ended by abort')
  })

  test('SIGINT with --json prints what there is', async () => {
    // Nothing tells from outside when the model is loaded; before, there is nothing to print.
    let stdout = ''
    for (let delay = 500; stdout === '' && delay <= 16_000; delay *= 2) {
      const child = Bun.spawn(command(...endless, '--json'), {
        ...{ cwd: root, stdout: 'pipe', stderr: 'pipe', timeout: 60_000 },
      })
      await Bun.sleep(delay)
      child.kill('SIGINT')
      stdout = await new Response(child.stdout).text()
      expect(await child.exited).toBe(130)
    }
    expect(JSON.parse(stdout).finishReason).toBe('abort')
  })
})

// Bun has pseudo-terminals on POSIX systems.
describe.skipIf(process.platform === 'win32')('on a terminal', () => {
  test('progress of loading is shown, and wiped away before the text', async () => {
    const { status, shown } = await runOnTerminal(['generate', model, prompt, '-n', '2'])
    expect(status).toBe(0)
    expect(shown).toMatch(/loading[^\n]*\r\x1b\[KOnce upon a time/)
  })

  test('Ctrl-C ends the text, and the line', async () => {
    let isPressed = false
    const { status, shown } = await runOnTerminal(endless, (seen, type) => {
      if (isPressed || !/Once upon a time.+/.test(seen)) return
      isPressed = true
      type('\x03')
    })
    expect(status).toBe(130)
    expect(shown).toMatch(/ended by abort\r?\n$/)
  })

  test('without a prompt it does not wait for someone to type', async () => {
    const { status, shown } = await runOnTerminal(['generate', model])
    expect(status).toBe(2)
    expect(shown).toContain('PROMPT is missing: give it as an argument, or pipe it in')
  })
})
