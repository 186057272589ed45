// A backend or device that failed or cannot be used.
import { LeavenError } from './leaven_error.ts'

/** `driver` and `runtime` are version strings where the backend knows them. */
export class DeviceError extends LeavenError {
  readonly backend: string
  readonly reason: string
  readonly driver: string | undefined
  readonly runtime: string | undefined

  constructor(
    backend: string,
    reason: string,
    versions: { driver?: string; runtime?: string } = {},
    options?: ErrorOptions,
  ) {
    super('DEVICE_FAILED', `${backend}: ${reason}`, options)
    this.backend = backend
    this.reason = reason
    this.driver = versions.driver
    this.runtime = versions.runtime
  }
}
