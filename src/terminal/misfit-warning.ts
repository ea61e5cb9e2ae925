/** Misfit warning: a warning at start about rows that do not fit the declaration, with the command that lists them. The cellar. */

import type { Store } from '../flow/store.ts'
import type { Log } from '../flow/world.ts'
import type { Flag } from './command.ts'

export const allowMisfitsFlag: Flag = {
  about: 'Keeps rows that do not fit a declaration that became narrower, and describes their values in OpenAPI too.',
}

/** Logs one line for all recorded misfits. */
export function warnOfMisfits({ misfits = {} }: Store, log: Log): void {
  const all = Object.entries(misfits).flatMap(([collection, fields]) =>
    Object.entries(fields).map(([field, { rows, more }]) => ({ name: `${collection}.${field}`, rows, more })),
  )
  if (all.length === 0) return
  const counts = all.map(({ name, rows, more }) => `${name} of ${more ? 'at least ' : ''}${rows}`)
  log.warn(
    { misfits },
    `Rows do not fit what is declared: ${counts.join(', ')}. They are answered as they are; \`bylaw doctor\` names them.`,
  )
}
