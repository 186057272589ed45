// Shows a rendered prompt to people: where its text comes from, which tokens are special.
import type { RenderedPrompt } from './prompt.ts'

export interface DescribeOptions {
  /** Special tokens of the vocabulary, to be told apart. Default: none. */
  readonly specialTokens?: Iterable<string>
  /** ANSI colours: special tokens, template text and content in three looks. Default: false. */
  readonly color?: boolean
  /** Draws line ends, tabs and spaces at the end of a line. Default: false. */
  readonly whitespace?: boolean
}

const reset = '\x1b[0m'
/** Bold magenta, dim, plain. */
const looks = { special: '\x1b[1;35m', template: '\x1b[2m', content: '' } as const

/**
 * The prompt as text for a terminal or a log; without options exactly the prompt. Control
 * characters in it are drawn, so that content cannot write to the terminal.
 *
 * ```ts
 * console.log(describePrompt(prompt, { color: true, specialTokens: ['<|im_start|>'] }))
 * ```
 */
export function describePrompt(prompt: RenderedPrompt, options: DescribeOptions = {}): string {
  const out: string[] = []
  let at = 0
  for (const piece of prompt.pieces(options.specialTokens ?? [])) {
    const end = at + piece.text.length
    if (piece.special) out.push(paint(piece.text, 'special', options))
    else out.push(...describePlain(prompt, at, end, options))
    at = end
  }
  return out.join('')
}

function describePlain(
  prompt: RenderedPrompt,
  start: number,
  end: number,
  options: DescribeOptions,
): string[] {
  const out: string[] = []
  let at = 0
  for (const { text, trusted } of prompt.segments()) {
    const from = Math.max(start, at)
    const to = Math.min(end, at + text.length)
    if (from < to) {
      out.push(paint(prompt.text.slice(from, to), trusted ? 'template' : 'content', options))
    }
    at += text.length
  }
  return out
}

function paint(text: string, kind: keyof typeof looks, options: DescribeOptions): string {
  const shown = drawControls(options.whitespace ? drawSpaces(text) : text)
  const look = options.color ? looks[kind] : ''
  return look === '' ? shown : `${look}${shown}${reset}`
}

function drawSpaces(text: string): string {
  return text
    .replace(/ +(?=\n|$)/g, (run) => '·'.repeat(run.length))
    .replaceAll('\t', '→\t')
    .replaceAll('\n', '⏎\n')
}

/** Control characters other than tab and newline, as Unicode's pictures of them. */
function drawControls(text: string): string {
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (one) => {
    const code = one.charCodeAt(0)
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? '␡' : '\ufffd'
  })
}
