/** Operation output: checks what a handler returns. R88, R227. */
import { Problem } from '../errors/problem.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import type { OwnOperation } from '../resources/machine.ts'
import { readInput } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { HandlerFault } from './handler-fault.ts'

/** The handlers of writes return nothing. */
export function refuseOutput(returned: unknown): void {
  if (returned !== undefined)
    throw new HandlerFault('It returns a value; what it decides is said by set, change and the like.')
}

/** The output of an operation as JSON, checked like a body. */
export function outputText({ output }: OwnOperation, returned: unknown, { settings }: Resource): string {
  const given = returned ?? {}
  if (!isObject(given))
    throw new HandlerFault(`It returns ${valueInWords(returned)}; return an object with the fields of \`output\`.`)
  try {
    return JSON.stringify(Object.fromEntries(readInput(output, structuredClone(given), settings)))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw new HandlerFault(`Its output is not as declared: ${error.violations.map(({ message }) => message).join(' ')}`)
  }
}
