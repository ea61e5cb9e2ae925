/** Detour: an error that is no failure, but leads a request another way. */

/**
 * Thrown to continue a request in another way. It is no failure and is thrown often. It has no stack: collecting one would
 * take longer
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
