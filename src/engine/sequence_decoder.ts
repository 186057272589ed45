// One sequence in a context of its own, extended token by token: what a generation drives.
import type { Context, Decoded, Row } from './context.ts'

/** The logits it gives are a view of native memory that ends with the next call. */
export class SequenceDecoder {
  private readonly context: Context
  private readonly giveBack: (context: Context) => Promise<void>
  private readonly row: Row = { token: 0, sequence: 0, position: 0, output: true }
  private readonly single: readonly Row[] = [this.row]
  private decoded: Decoded | undefined
  private count = 0
  private released = false

  constructor(context: Context, giveBack: (context: Context) => Promise<void>) {
    this.context = context
    this.giveBack = giveBack
  }

  get contextSize(): number {
    return this.context.size
  }

  /** Tokens held. */
  get length(): number {
    return this.count
  }

  /** Adds tokens and gives the logits that follow the last one. */
  async extend(tokens: Int32Array, signal?: AbortSignal): Promise<Float32Array> {
    this.end()
    for (let at = 0; at < tokens.length; at += this.context.batchSize) {
      this.end()
      const part = tokens.subarray(at, at + this.context.batchSize)
      const last = at + part.length === tokens.length
      this.decoded = await this.context.decode(this.rows(part, last), { signal })
      this.count += part.length
    }
    return this.decoded!.values
  }

  async release(): Promise<void> {
    if (this.released) return
    this.released = true
    this.end()
    await this.giveBack(this.context)
  }

  /** The usual single token reuses its row. */
  private rows(tokens: Int32Array, last: boolean): readonly Row[] {
    if (tokens.length === 1) {
      this.row.token = tokens[0]!
      this.row.position = this.count
      this.row.output = last
      return this.single
    }
    return Array.from(tokens, (token, i) => ({
      token,
      sequence: 0,
      position: this.count + i,
      output: last && i === tokens.length - 1,
    }))
  }

  private end() {
    this.decoded?.release()
    this.decoded = undefined
  }
}
