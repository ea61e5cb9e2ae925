/** Operation output: checks what a handler returns. R88, R227. */
import { isObject, valueInWords } from '../fields/value-check.ts'
import type { OwnOperation } from '../resources/machine.ts'
import { readInput } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { HandlerFault, readFaultless } from './handler-fault.ts'

/** Refuses a result of a handler of writes, which must return nothing. */
export function refuseOutput(returned: unknown): void {
  if (returned !== undefined)
    throw new HandlerFault('It returns a value, which is not used; write with set, change and the like.')
}

/** The output of an operation as JSON, checked like a body. */
export function outputText({ output }: OwnOperation, returned: unknown, { settings }: Resource): string {
  const result = returned ?? {}
  if (!isObject(result))
    throw new HandlerFault(`It returns ${valueInWords(returned)}; return an object with the fields of \`output\`.`)
  const read = readFaultless('Its output is not as declared', () =>
    readInput(output, structuredClone(result), settings),
  )
  return JSON.stringify(Object.fromEntries(read))
}
