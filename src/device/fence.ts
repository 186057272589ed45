// Fences: values that grow, signalled by queues and waited for by queues or by JavaScript.
import { checkWhole } from '../errors/arguments.ts'
import { createFence, fenceValue, releaseFence, signalFence } from '../native/queues.ts'
import { Owned } from './owned.ts'

/** A timeline value, 0 at first. */
export class Fence extends Owned {
  constructor() {
    super('fence', createFence(), releaseFence)
  }

  get value(): number {
    return fenceValue(this.handle)
  }

  /** Raises the value to at least `value`, at once. */
  signal(value: number): void {
    checkWhole('a fence value', value)
    signalFence(this.handle, value)
  }
}
