/** Handler fault: a mistake in the code of a handler. It is answered with 500, and its cause is only logged. R227. */

import { inspect } from 'node:util'
import { Detour } from '../errors/detour.ts'
import { Problem, type Violation } from '../errors/problem.ts'

/** A mistake of a handler. Its message is for the log, not for the caller. */
export class HandlerFault extends Error {}

/** The fault of values that are checked like those of a caller. */
export const violationFault = (says: string, faults: readonly Violation[]): HandlerFault =>
  new HandlerFault(`${says}: ${faults.map(({ message }) => message).join(' ')}`)

/** Returns the result of `read`. Its refusal, which a caller would get, becomes a fault of the handler. */
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

/** The error that user code has thrown. It can throw any value, also one that `String` or JSON cannot show. */
export const errorOf = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(`it throws ${inspect(thrown, { customInspect: false })}`)

/** The failure of a handler: nothing was written, and the service works otherwise. */
export class HandlerFailure extends Error {}

/** The error for the caller if a handler throws: the refusal that it throws, or a failure that hides the cause. */
export function failureOfHandler(name: string, thrown: unknown): unknown {
  if (thrown instanceof Problem) return thrown
  const { message, stack } = errorOf(thrown)
  const failure = new HandlerFailure(`The handler ${name} failed: ${message}`, { cause: thrown })
  // The stack leads to the place in the handler; a stack of the engine would not help.
  return Object.assign(failure, { stack: `The handler ${name} failed: ${stack}` })
}

/** Thrown if a row or a list has changed since a handler read it: the handler runs again. */
export class ReadsChanged extends Detour {
  readonly row: string
  /** Set if nothing has changed yet, but other requests queue for the row. */
  readonly queues: boolean

  constructor(row: string, queues = false) {
    super(`${row} has changed since a handler read it.`)
    this.row = row
    this.queues = queues
  }
}
