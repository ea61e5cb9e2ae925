/** Pointer: places in a body, as JSON Pointers and in messages. Part 7, error body. */
import type { Violation } from './problem.ts'

/** Adds a violation at a place in the body. */
export function addViolation(faults: Violation[], at: string, type: string, says: string): undefined {
  faults.push({ message: `${pointerLabel(at)} ${says}`, type, in: 'body', pointer: at })
}

/** A name as a part of a JSON Pointer. R155. */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** The last name of a pointer, with its index in a list: `/items/0/qty` is `qty`, `/tags/0` is `tags[0]`. */
function pointerLabel(at: string): string {
  if (at === '') return 'The body'
  const [last = '', before = ''] = at.split('/').reverse()
  const name = before !== '' && /^\d+$/.test(last) ? `${before}[${last}]` : last
  return shortName(name.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** A name for a message, cut if it is too long. */
export function shortName(name: string): string {
  if (name === '') return '""'
  return name.length > 100 ? `${name.slice(0, 100).toWellFormed()}…` : name
}
