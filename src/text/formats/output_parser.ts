// The stream parser that formats with begin and end marks share.
import type { CallBody, RawCall } from './call_body.ts'
import { findMark, heldLength, mayBecome } from './marks.ts'
import { type OutputParser, type ParsedPart, type ParserOptions, randomId } from './parts.ts'

/** How a format marks what is not plain text. */
export interface MarkedFormat {
  /** Reasoning blocks; recognised before any text of the answer, where models write them. */
  readonly reasoning: readonly (readonly [open: string, close: string])[]
  /** Begin marks of calls. */
  readonly calls: readonly CallMark[]
  /** Marks without a meaning of their own, dropped where they stand. */
  readonly dropped?: readonly string[]
  /** Marks dropped only right after a call, such as its end mark. */
  readonly afterCall?: readonly string[]
  /** Calls that begin without a mark, at the start of the answer and after another call. */
  readonly bare?: BareCalls
}

export interface CallMark {
  readonly open: string
  readonly body: (options: ParserOptions) => CallBody
}

export interface BareCalls {
  /** Whether text could begin a call: `no`, `maybe` (more is needed) or `yes`. */
  readonly begins: (text: string) => 'no' | 'maybe' | 'yes'
  readonly body: (options: ParserOptions) => CallBody
}

type State =
  | { readonly kind: 'text' }
  | { readonly kind: 'reasoning'; readonly close: string }
  | { readonly kind: 'call'; readonly open: string; readonly body: CallBody }

export class MarkedParser implements OutputParser {
  readonly #format: MarkedFormat
  readonly #options: ParserOptions
  /** Received and not decided; in a call: all since its begin mark. */
  #buffer = ''
  #state: State = { kind: 'text' }
  /** No text since the start, a reasoning block or a call: white space may belong to the markup. */
  #fresh = true
  #afterBlock = false
  #afterCall = false
  /** Nothing of the reasoning block has been given out. */
  #atBlockStart = true
  #parts: ParsedPart[] = []

  constructor(format: MarkedFormat, options: ParserOptions = {}) {
    this.#format = format
    this.#options = options
    const [first] = format.reasoning
    if (options.startsInReasoning && first) this.#state = { kind: 'reasoning', close: first[1] }
  }

  push(delta: string): ParsedPart[] {
    this.#buffer += delta
    while (this.#advance(false)) {
      // Each round consumes a mark.
    }
    return this.#take()
  }

  end(): ParsedPart[] {
    while (this.#advance(true)) {
      // Each round consumes a mark.
    }
    if (this.#buffer !== '') {
      this.#emit(this.#state.kind === 'reasoning' ? 'reasoning' : 'text', this.#buffer)
    }
    this.#buffer = ''
    return this.#take()
  }

  #take(): ParsedPart[] {
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  /** True when the state changed and the rest of the buffer must be looked at again. */
  #advance(ended: boolean): boolean {
    if (this.#state.kind === 'reasoning') return this.#reason(this.#state.close)
    if (this.#state.kind === 'call') return this.#call(this.#state.open, this.#state.body, ended)
    return (this.#fresh && this.#begin()) || this.#text(ended)
  }

  /** Looks for marks that count only before text. */
  #begin(): boolean {
    const rest = this.#buffer.trimStart()
    const opening = this.#format.reasoning.find(([open]) => rest.startsWith(open))
    if (opening) {
      this.#buffer = rest.slice(opening[0].length)
      this.#state = { kind: 'reasoning', close: opening[1] }
      this.#atBlockStart = true
      this.#afterCall = false
      return true
    }
    const closing = this.#afterCall && this.#format.afterCall?.find((mark) => rest.startsWith(mark))
    if (closing) {
      this.#buffer = rest.slice(closing.length)
      return true
    }
    const bare = this.#bare()
    if (bare?.begins(rest) !== 'yes') return false
    this.#state = { kind: 'call', open: '', body: bare.body(this.#options) }
    return true
  }

  #bare(): BareCalls | undefined {
    return this.#options.tools?.length ? this.#format.bare : undefined
  }

  /** Whether the buffer may still become a mark that counts only before text. */
  #undecided(): boolean {
    const rest = this.#buffer.trimStart()
    if (rest === '') return true
    const opens = this.#format.reasoning.map(([open]) => open)
    if (mayBecome(rest, opens)) return true
    if (this.#afterCall && mayBecome(rest, this.#format.afterCall ?? [])) return true
    return this.#bare()?.begins(rest) === 'maybe'
  }

  #text(ended: boolean): boolean {
    const { calls, dropped = [] } = this.#format
    const marks = [...calls.map(({ open }) => open), ...dropped]
    const found = findMark(this.#buffer, marks)
    if (found) {
      this.#emit('text', this.#buffer.slice(0, found.at))
      this.#buffer = this.#buffer.slice(found.at + found.mark.length)
      const call = calls.find(({ open }) => open === found.mark)
      if (call) this.#state = { kind: 'call', open: call.open, body: call.body(this.#options) }
      return true
    }
    if (!ended && this.#fresh && this.#undecided()) return false
    const held = ended ? 0 : heldLength(this.#buffer, marks)
    this.#emit('text', this.#buffer.slice(0, this.#buffer.length - held))
    this.#buffer = this.#buffer.slice(this.#buffer.length - held)
    return false
  }

  /** Line ends next to the marks belong to them. */
  #reason(close: string): boolean {
    const found = findMark(this.#buffer, [close])
    if (found) {
      this.#emit('reasoning', this.#buffer.slice(0, found.at).replace(/\n+$/, ''))
      this.#buffer = this.#buffer.slice(found.at + close.length)
      this.#state = { kind: 'text' }
      this.#restart(false)
      return true
    }
    let end = this.#buffer.length - heldLength(this.#buffer, [close])
    while (end > 0 && this.#buffer[end - 1] === '\n') end--
    this.#emit('reasoning', this.#buffer.slice(0, end))
    this.#buffer = this.#buffer.slice(end)
    return false
  }

  #call(open: string, body: CallBody, ended: boolean): boolean {
    const result = body.read(this.#buffer, ended)
    if (result === 'more') return false
    this.#state = { kind: 'text' }
    if (result === 'reject') {
      if (open === '') this.#fresh = false
      this.#emit('text', open)
      return this.#buffer !== ''
    }
    for (const call of result.calls) this.#parts.push(this.#finished(call))
    this.#buffer = this.#buffer.slice(result.end)
    this.#restart(true)
    return this.#buffer !== ''
  }

  #finished({ name, args, id }: RawCall): ParsedPart {
    const newId = this.#options.newId ?? randomId
    return { type: 'tool-call', id: id ?? newId(), name, args }
  }

  #restart(afterCall: boolean): void {
    this.#fresh = true
    this.#afterBlock = true
    this.#afterCall = afterCall
  }

  #emit(type: 'text' | 'reasoning', text: string): void {
    let shown = text
    if (type === 'text' && this.#fresh && this.#afterBlock) shown = text.trimStart()
    if (type === 'reasoning' && this.#atBlockStart) shown = text.replace(/^\n+/, '')
    if (shown === '') return
    this.#atBlockStart = false
    if (type === 'text') {
      this.#fresh = false
      this.#afterBlock = false
      this.#afterCall = false
    }
    const last = this.#parts.at(-1)
    if (last?.type === type) this.#parts[this.#parts.length - 1] = { type, text: last.text + shown }
    else this.#parts.push({ type, text: shown })
  }
}
