// gpt-oss answers in harmony: messages with a header (channel, recipient) and a body.
// Format: https://github.com/openai/harmony
import { readJson } from './json_value.ts'
import { findMark, heldLength } from './marks.ts'
import { type OutputParser, type ParsedPart, type ParserOptions, randomId } from './parts.ts'

const marks = ['<|start|>', '<|channel|>', '<|message|>', '<|end|>', '<|return|>', '<|call|>']

/** What a message's body is. */
type Kind = 'header' | 'reasoning' | 'text' | 'call'

export class HarmonyParser implements OutputParser {
  readonly #options: ParserOptions
  #buffer = ''
  #kind: Kind = 'header'
  #header = ''
  /** A header has begun: text outside of any message is shown as text. */
  #inHeader = false
  /** Text outside of any message has been given out: no header will come of what follows. */
  #isOutside = false
  #name = ''
  #body = ''
  #parts: ParsedPart[] = []

  constructor(options: ParserOptions = {}) {
    this.#options = options
    if (options.startsInReasoning) this.#kind = 'reasoning'
  }

  push(delta: string): ParsedPart[] {
    this.#buffer += delta
    for (let found = findMark(this.#buffer, marks); found; found = findMark(this.#buffer, marks)) {
      this.#write(this.#buffer.slice(0, found.at))
      this.#mark(found.mark)
      this.#buffer = this.#buffer.slice(found.at + found.mark.length)
    }
    const free = this.#buffer.length - heldLength(this.#buffer, marks)
    this.#write(this.#buffer.slice(0, free))
    this.#buffer = this.#buffer.slice(free)
    return this.#take()
  }

  end(): ParsedPart[] {
    this.#write(this.#buffer)
    this.#buffer = ''
    this.#finish()
    return this.#take()
  }

  #take(): ParsedPart[] {
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  #write(text: string): void {
    if (text === '') return
    if (this.#kind === 'call') this.#body += text
    else if (this.#kind !== 'header') this.#emit(this.#kind, text)
    else if (this.#inHeader) this.#header += text
    else this.#outside(text)
  }

  /** The prompt's end may have the answer begin within the header, after `assistant`. */
  #outside(text: string): void {
    this.#header += text
    if (!this.#isOutside && /^\s*(t(o(=\S*)?)?)?\s*$/.test(this.#header)) return
    this.#isOutside = true
    this.#emit('text', this.#header)
    this.#header = ''
  }

  #mark(mark: string): void {
    if (mark === '<|message|>') this.#open()
    else if (mark === '<|channel|>') {
      // A recipient before the channel belongs to the same header.
      if (this.#kind !== 'header') this.#finish()
      this.#header += ' channel='
      this.#inHeader = true
    } else {
      this.#finish()
      this.#inHeader = mark === '<|start|>'
    }
  }

  /** The header is complete: `channel=analysis`, `to=functions.name`, a content type. */
  #open(): void {
    const channel = /channel=\s*(\w+)/.exec(this.#header)?.[1]
    const recipient = /\bto=(\S+?)(?=\s|<|$)/.exec(this.#header)?.[1]
    this.#header = ''
    this.#inHeader = false
    this.#isOutside = false
    this.#name = recipient?.replace(/^functions\./, '') ?? ''
    if (this.#name !== '') this.#kind = 'call'
    else this.#kind = channel === 'analysis' ? 'reasoning' : 'text'
  }

  #finish(): void {
    if (this.#kind === 'call') this.#finishCall()
    else if (this.#kind === 'header' && !this.#inHeader) this.#emit('text', this.#header)
    this.#kind = 'header'
    this.#header = ''
    this.#inHeader = false
    this.#isOutside = false
    this.#name = ''
    this.#body = ''
  }

  #finishCall(): void {
    const body = this.#body.trim()
    const json = body === '' ? { value: {} } : readJson(body)
    const isCode = !json && this.#name === 'python'
    if (!json && !isCode) this.#emit('text', this.#body)
    else {
      const args = json ? json.value : { code: this.#body }
      const id = (this.#options.newId ?? randomId)()
      this.#parts.push({ type: 'tool-call', id, name: this.#name, args })
    }
  }

  #emit(type: 'text' | 'reasoning', text: string): void {
    if (text === '') return
    const last = this.#parts.at(-1)
    if (last?.type === type) this.#parts[this.#parts.length - 1] = { type, text: last.text + text }
    else this.#parts.push({ type, text })
  }
}
