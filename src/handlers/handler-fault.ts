/** Handler fault: a mistake in the code of a handler. It is answered with 500, and its cause is only logged. R227. */
import { Problem, type Violation } from '../errors/problem.ts'

/** The message of a fault is for the log. */
export class HandlerFault extends Error {}

/** The fault of values that are checked like those of a caller. */
export const violationFault = (says: string, faults: readonly Violation[]): HandlerFault =>
  new HandlerFault(`${says}: ${faults.map(({ message }) => message).join(' ')}`)

/** What `read` returns. Its refusal, which a caller would get, is the fault of the handler. */
export function readFaultless<T>(says: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof Problem ? violationFault(says, error.violations) : error
  }
}

export const writesWrongly = (resource: string): string => `It writes to ${resource} what it does not allow`

/** A refusal of a handler, which names fields of the newest version. */
export class HandlerRefusal extends Problem {}

/** What the caller is answered if a handler throws: the refusal that it throws, or a failure that hides the cause. */
export function failureOfHandler(name: string, thrown: unknown): unknown {
  if (thrown instanceof Problem) return thrown
  const { message, stack } = thrown instanceof Error ? thrown : new Error(`it throws ${JSON.stringify(thrown)}`)
  const failure = new Error(`The handler ${name} failed: ${message}`, { cause: thrown })
  // The place in the handler is of use, and that in the engine is not.
  return Object.assign(failure, { stack: `The handler ${name} failed: ${stack}` })
}

/** Thrown if a row or a list that a handler has read changed since: it runs again. */
export class ReadsChanged extends Error {
  readonly row: string
  /** Whether nothing has changed yet, but other requests queue for the row. */
  readonly queues: boolean

  constructor(row: string, queues = false) {
    super(`${row} has changed since a handler read it.`)
    this.row = row
    this.queues = queues
  }
}
