/** Detour: an error that is no failure, but leads a request another way. */

/**
 * Thrown where the request goes on in another way, often and not as a failure. It has no stack: collecting one would take longer
 * than the rest.
 */
export class Detour extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
  }
}
