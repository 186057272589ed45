// A model's own chat template: Jinja, rendered as Python's Jinja2 does it in transformers.
import { TemplateError } from '../../errors/index.ts'
import type { Block } from './ast.ts'
import { Budget, defaultLimits, type Limits } from './budget.ts'
import { cutAtOpenEnd, leaveOpen } from './continue_message.ts'
import { execute } from './execute.ts'
import { Fault, SyntaxFault } from './fault.ts'
import { fromJs } from './from_js.ts'
import { defineGlobals } from './globals.ts'
import { goTemplateAt } from './go_template.ts'
import { normaliseSource } from './lexer.ts'
import { Machine } from './machine.ts'
import { parse } from './parse.ts'
import { RenderedPrompt } from './prompt.ts'
import { Scope } from './scope.ts'
import { Builder, trustedText } from './text.ts'

/** Longest source of a template, UTF-16 units; published ones have at most some 30 000. */
const sourceMax = 1 << 20

/** A message as templates read it: `role`, `content`, and whatever else the template knows. */
export interface TemplateMessage {
  readonly role: string
  readonly content?: unknown
  readonly [field: string]: unknown
}

export interface TemplateOptions {
  readonly bosToken?: string | undefined
  readonly eosToken?: string | undefined
  /** Other tokens by the names templates use, such as `pad_token`. */
  readonly tokens?: Readonly<Record<string, string>>
  /** The time `strftime_now` tells; local time zone. */
  readonly clock?: () => Date
  readonly limits?: Partial<Limits>
}

export interface RenderInput {
  readonly messages: readonly TemplateMessage[]
  /** Tools as JSON-schema functions: `{ type: 'function', function: { name, … } }`. */
  readonly tools?: readonly unknown[] | undefined
  readonly documents?: readonly unknown[] | undefined
  /** Ends the prompt with the header of the answer. Default: false. */
  readonly addGenerationPrompt?: boolean | undefined
  /** Ends the prompt inside the last message, for the model to go on with it. Default: false. */
  readonly continueFinalMessage?: boolean | undefined
  /** Further variables, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined
}

/**
 * A compiled chat template.
 *
 * ```ts
 * const template = ChatTemplate.compile(source, { bosToken: '<s>', eosToken: '</s>' })
 * const prompt = template.render({ messages, addGenerationPrompt: true })
 * ```
 */
export class ChatTemplate {
  /** As given to `compile`. */
  readonly source: string
  readonly #normalised: string
  readonly #body: Block
  readonly #options: TemplateOptions

  private constructor(source: string, normalised: string, body: Block, options: TemplateOptions) {
    this.source = source
    this.#normalised = normalised
    this.#body = body
    this.#options = options
  }

  /** Parses a template. Throws `TemplateError`, also for Go templates as Ollama uses them. */
  static compile(source: string, options: TemplateOptions = {}): ChatTemplate {
    if (source.length > sourceMax) {
      throw new TemplateError(1, 1, `${source.length} characters, more than ${sourceMax}`)
    }
    const normalised = normaliseSource(source)
    const go = goTemplateAt(normalised)
    if (go !== undefined) {
      const problem = 'this is a Go template, as Ollama uses them, not Jinja'
      throw located(normalised, go, new Fault(problem))
    }
    try {
      return new ChatTemplate(source, normalised, parse(normalised), options)
    } catch (error) {
      if (error instanceof SyntaxFault) throw located(normalised, error.at, error)
      throw error
    }
  }

  /**
   * Renders a conversation. Everything in `input` counts as untrusted text unless wrapped by
   * `trusted`; what the template itself writes, and the tokens of `compile`, are trusted.
   *
   * Throws `TemplateError` with the template's own words where it refuses the conversation (the
   * words alone are the message of its `cause`), and when a bound of `limits` is passed.
   */
  render(input: RenderInput): RenderedPrompt {
    if (!input.continueFinalMessage) return this.#run(input)
    if (input.addGenerationPrompt) {
      throw new TypeError('addGenerationPrompt and continueFinalMessage exclude each other')
    }
    return cutAtOpenEnd(this.#run({ ...input, messages: leaveOpen(input.messages) }))
  }

  #run(input: RenderInput): RenderedPrompt {
    const machine = new Machine(
      new Budget({ ...defaultLimits, ...this.#options.limits }),
      this.#options.clock ?? (() => new Date()),
    )
    try {
      const out = new Builder()
      execute(this.#body, this.#scope(input, machine), machine, out)
      const text = out.build()
      return new RenderedPrompt(text.value, text.marks)
    } catch (error) {
      if (error instanceof Fault) throw located(this.#normalised, machine.at, error)
      // Nesting is bounded, but how much stack a level takes is the engine's business.
      if (!(error instanceof RangeError)) throw error
      throw located(this.#normalised, machine.at, new Fault('nested too deeply for the stack'))
    }
  }

  #scope(input: RenderInput, machine: Machine): Scope {
    const globals = new Scope()
    defineGlobals(globals, machine)
    const scope = new Scope(globals)
    const { bosToken, eosToken, tokens } = this.#options
    for (const [name, token] of Object.entries({
      bos_token: bosToken,
      eos_token: eosToken,
      ...tokens,
    })) {
      if (token !== undefined) scope.set(name, trustedText(token))
    }
    const { messages, tools, documents, addGenerationPrompt, variables } = input
    const given = {
      messages,
      tools: tools ?? null,
      documents: documents ?? null,
      add_generation_prompt: addGenerationPrompt ?? false,
      ...variables,
    }
    for (const [name, value] of Object.entries(given)) {
      if (value !== undefined) scope.set(name, fromJs(value, machine.budget))
    }
    return scope
  }
}

/** The error of a fault at an offset of the normalised source. */
function located(source: string, at: number, fault: Fault): TemplateError {
  const before = source.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  const cause = fault.raised === undefined ? undefined : { cause: new Error(fault.raised) }
  return new TemplateError(line, column, fault.message, cause)
}
