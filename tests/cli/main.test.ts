// The command line from outside: help, mistakes, and commands that need no model.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sample } from '../tier.ts'
import { model, root, runCli } from './run_cli.ts'

const names = [
  ...['generate', 'inspect', 'tokenize', 'template', 'perplexity', 'bundle', 'devices', 'doctor'],
]
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

describe('help', () => {
  test('names every command', async () => {
    const { status, stdout } = await runCli(['--help'])
    expect(status).toBe(0)
    for (const name of names) expect(stdout).toContain(`  ${name} `)
    expect(stdout).toContain(version)
  })

  test('is what one gets without a command, with status 2', async () => {
    const { status, stdout } = await runCli([])
    expect(status).toBe(2)
    expect(stdout).toContain('Usage: leaven COMMAND')
  })

  test.each(names)('of %s has its options and fits 100 columns', async (name) => {
    const { status, stdout } = await runCli([name, '--help'])
    expect(status).toBe(0)
    expect(stdout).toStartWith(`Usage: leaven ${name} `)
    expect(stdout).toContain('--json')
    expect(stdout).toContain('Examples:')
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
    expect((await runCli(['help', name])).stdout).toBe(stdout)
  })

  test('--version prints it', async () => {
    expect((await runCli(['--version'])).stdout).toBe(`${version}\n`)
    expect(JSON.parse((await runCli(['--version', '--json'])).stdout)).toEqual({ version })
  })
})

describe('mistakes end with status 2, a line that says what, and nothing on stdout', () => {
  test.each([
    [['genrate', 'x'], 'leaven: unknown command genrate; did you mean generate?'],
    [['--verson'], 'leaven: unknown option --verson'],
    [['generate'], 'leaven generate: MODEL is missing'],
    [
      ['generate', 'm.gguf', 'x', '--temprature', '1'],
      'leaven generate: unknown option --temprature; did you mean --temperature?',
    ],
    [['generate', 'm.gguf', 'x', '--temperature', '-1'], 'temperature must be'],
    [['generate', 'm.gguf', 'x', '--top-p', '2'], 'topP must be in [0, 1], got 2'],
    [['generate', 'm.gguf', 'x', '--top-k', 'many'], '--top-k takes a number, not "many"'],
    [['generate', 'm.gguf', 'x', '--max-tokens', '1.5'], '--max-tokens takes a whole number'],
    [['generate', 'm.gguf', 'x', '--seed', '18446744073709551616'], 'seed must lie in'],
    [['generate', 'm.gguf', 'x', '--stop', ''], '--stop takes a text that is not empty'],
    [['generate', 'm.gguf', 'x', '--gpu-layers', 'some'], '--gpu-layers takes a number'],
    [['generate', 'm.gguf', 'Once', 'upon'], 'unexpected "upon"; quote what has spaces'],
    [['tokenize', model, 'a b', '--decode'], '--decode takes ids, not "a"'],
  ] as const)('%p', async (args, message) => {
    const { status, stdout, stderr } = await runCli([...args])
    expect(stderr).toContain(message)
    expect(stderr.trimEnd().split('\n')).toHaveLength(2)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  })
})

describe('failures end with status 1 and one line', () => {
  test.each([
    [['inspect', 'no-such.gguf'], 'no-such.gguf'],
    [['inspect', 'README.md'], 'README.md: magic at byte 0: this is not a GGUF file'],
    [['generate', 'no-such.gguf', 'x'], 'no-such.gguf: no such file'],
    [['generate', 'tests', 'x'], 'tests: not a file'],
    [['generate', 'tests/golden/gguf/ok_one_tensor.gguf', 'x'], 'general.architecture'],
    [['tokenize', 'tests/golden/gguf/ok_one_tensor.gguf', 'x'], 'tokenizer.ggml'],
  ] as const)('%p', async (args, message) => {
    const { status, stdout, stderr } = await runCli([...args])
    expect(stderr).toStartWith('leaven: ')
    expect(stderr).toContain(message)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  })
})

describe('inspect', () => {
  test('shows metadata with long arrays cut, and totals by type', async () => {
    const { status, stdout } = await runCli(['inspect', model])
    expect(status).toBe(0)
    expect(stdout).toMatch(/^general\.architecture +string +"llama"$/m)
    expect(stdout).toMatch(/^llama\.attention\.layer_norm_rms_epsilon +f32 +0\.00001$/m)
    expect(stdout).toMatch(/^tokenizer\.ggml\.tokens +string\[3072\] +"<unk>", .*, …$/m)
    expect(stdout).toMatch(/^q8_0 +43 +2\.73 million +2\.90 MB$/m)
    expect(stdout).not.toContain('token_embd.weight')
  })

  test('--tensors lists every tensor', async () => {
    const { stdout } = await runCli(['inspect', model, '--tensors'])
    expect(stdout).toMatch(/^token_embd\.weight +q8_0 +\[3072, 192\] +626688$/m)
  })

  test('--json has the same for programs, --full everything', async () => {
    const { stdout } = await runCli(['inspect', model, '--json', '--tensors', '--full'])
    const info = JSON.parse(stdout)
    expect(info.metadata['tokenizer.ggml.tokens'].values).toHaveLength(3072)
    expect(info.metadata['llama.block_count']).toEqual({ type: 'u32', value: 6 })
    expect(info.tensors).toHaveLength(info.tensorCount)
    expect(info).toMatchObject({ version: 3, alignment: 32, dataProblem: null })
    const parameters = info.tensors.map(({ shape }: { shape: number[] }) =>
      shape.reduce((a, b) => a * b, 1),
    )
    expect(info.parameterCount).toBe(parameters.reduce((a: number, b: number) => a + b, 0))
  })

  test('integers beyond 2^53 are whole', async () => {
    const file = 'tests/golden/gguf/ok_all_kv_types.gguf'
    const { stdout } = await runCli(['inspect', file])
    expect(stdout).toMatch(/^a\.u64 +u64 +9223372036854775813$/m)
    const info = JSON.parse((await runCli(['inspect', file, '--json'])).stdout)
    expect(info.metadata['a.u64'].value).toBe('9223372036854775813')
  })

  test('a file whose data are cut off is shown, and said to be', async () => {
    const file = 'tests/golden/gguf/bad_truncated_data.gguf'
    const { status, stdout } = await runCli(['inspect', file])
    expect(status).toBe(0)
    expect(stdout).toContain('The data are not whole')
    expect(JSON.parse((await runCli(['inspect', file, '--json'])).stdout).dataProblem).toContain(
      'ends at 80',
    )
  })

  const manifest = JSON.parse(
    readFileSync(join(root, 'tests/golden/cases/gguf/manifest.json'), 'utf8'),
  ) as { id: string; expect: string }[]
  const rejected = manifest.filter((entry) => entry.expect === 'reject')
  const step = Math.ceil(rejected.length / sample({ test: 6, ci: 100, full: 100 }))

  test.each(rejected.filter((_, i) => i % step === 0).map(({ id }) => id))(
    'a broken file (%s) gives one line',
    async (id) => {
      const { status, stdout, stderr } = await runCli([
        'inspect',
        `tests/golden/cases/gguf/${id}.gguf`,
      ])
      expect(stderr).toStartWith('leaven: tests/golden/cases/gguf/')
      expect(stderr.trimEnd().split('\n')).toHaveLength(1)
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    },
  )
})

describe('tokenize', () => {
  test('shows ids and tokens; decoding gives the text back', async () => {
    const { stdout } = await runCli(['tokenize', model, 'Once upon'])
    expect(stdout).toMatch(/^ *1 {2}<s>$/m)
    expect(stdout).toMatch(/^ *\d+ {2}" upon"$/m)
    const ids = (await runCli(['tokenize', model, 'Once upon', '--ids'])).stdout.trim()
    expect((await runCli(['tokenize', model, ids, '--decode'])).stdout).toBe('Once upon\n')
  })

  test('--json counts, and reads stdin without its last line break', async () => {
    const { stdout } = await runCli(['tokenize', model, '--json', '--no-special'], 'Once\n')
    const { count, tokens } = JSON.parse(stdout)
    expect(tokens.map(({ text }: { text: string }) => text).join('')).toBe('Once')
    expect(tokens).toHaveLength(count)
  })
})

describe('devices', () => {
  test('lists at least the CPU, with its memory', async () => {
    const { status, stdout } = await runCli(['devices', '--json'])
    expect(status).toBe(0)
    const [cpu] = JSON.parse(stdout)
    expect(cpu).toMatchObject({ id: 'cpu', type: 'cpu' })
    expect(cpu.memoryTotal).toBeGreaterThanOrEqual(cpu.memoryFree)
    expect(cpu.memoryFree).toBeGreaterThan(0)
    expect((await runCli(['devices'])).stdout).toMatch(/^cpu +cpu +.* free of /m)
  })
})
