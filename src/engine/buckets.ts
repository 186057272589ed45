// Programs by size of batch: compiled when first needed, kept while there is room for them.
import type { Program } from '../device/program.ts'
import { DisposedError } from '../errors/index.ts'

/** Programs kept per context; a bucket's program is a few hundred kilobytes. */
const programsMax = 24

/** What a run gives: logits, the hidden states before them, or keys rotated in place. */
export type ProgramKind = 'logits' | 'hidden' | 'rotate'

/** Row counts of the buckets: a factor of 4 apart, since rows within one cost nothing. */
export const bucketRows = (rows: number, rowsMax: number): number => {
  let bucket = 1
  while (bucket < rows) bucket *= 4
  return Math.min(bucket, rowsMax)
}

type Build = (kind: ProgramKind, rows: number, outputs: number) => Promise<Program>

/** The least recently used program goes when there are too many. */
export class Buckets implements Disposable {
  private readonly programs = new Map<string, Program>()
  private readonly build: Build
  private readonly rowsMax: number
  private compiled = 0
  private newest = ''
  private disposed = false

  constructor(rowsMax: number, build: Build) {
    this.rowsMax = rowsMax
    this.build = build
  }

  /** How many programs were compiled so far. */
  get compileCount(): number {
    return this.compiled
  }

  /** A program for at least `rows` rows and `outputs` of them wanted, at once if it is there. */
  get(kind: ProgramKind, rows: number, outputs: number): Program | Promise<Program> {
    const rowBucket = bucketRows(rows, this.rowsMax)
    // Either the last row is wanted, as in generation, or many, as in evaluation.
    const outputBucket = outputs <= 1 ? 1 : rowBucket
    const key = `${kind}/${rowBucket}/${outputBucket}`
    const program = this.programs.get(key)
    if (program === undefined) return this.add(key, this.build(kind, rowBucket, outputBucket))
    if (key !== this.newest) {
      this.programs.delete(key)
      this.programs.set(key, program)
      this.newest = key
    }
    return program
  }

  private async add(key: string, building: Promise<Program>): Promise<Program> {
    const program = await building
    if (this.disposed) {
      program.dispose()
      throw new DisposedError('context')
    }
    this.compiled += 1
    for (const [oldest, old] of this.programs) {
      if (this.programs.size < programsMax) break
      old.dispose()
      this.programs.delete(oldest)
    }
    this.programs.set(key, program)
    this.newest = key
    return program
  }

  /** Largest arena need so far. */
  get peakBytes(): number {
    return Math.max(0, ...[...this.programs.values()].map((program) => program.peakBytes))
  }

  dispose(): void {
    this.disposed = true
    for (const program of this.programs.values()) program.dispose()
    this.programs.clear()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
