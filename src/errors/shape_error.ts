// Operands whose shapes or dtypes do not fit an op.
import { LeavenError } from './leaven_error.ts'

/** `op` is the op's name, `shapes` its operands' shapes, outermost dimension first. */
export class ShapeError extends LeavenError {
  readonly op: string
  readonly shapes: readonly (readonly number[])[]

  constructor(op: string, shapes: readonly (readonly number[])[], problem: string) {
    const list = shapes.map((shape) => `[${shape.join(', ')}]`).join(' x ')
    super('SHAPE_MISMATCH', `${op}: ${problem}, ${list}`)
    this.op = op
    this.shapes = shapes
  }
}
