/** Inspect: reads every row of a database as a declaration has it, and counts those that do not fit. The cellar. */
import type { Misfit, Misfits } from '../resources/bounds.ts'
import type { Collection } from '../resources/collection.ts'
import type { Steps } from '../store/cellar.ts'
import type { Dialect } from '../store/dialect.ts'
import { eachRow, type Row, standingIn } from './rows.ts'
import type { Change } from './schema.ts'
import { tally } from './tally.ts'

/** So many rows of a field are named. */
const mostNamed = 100

export function* inspected(
  { before, after }: Change,
  collections: readonly Collection[],
  dialect: Dialect,
  see: (row: Row) => void,
): Steps<Misfits> {
  const found: Record<string, Record<string, Misfit>> = {}
  if (before === null) return found
  for (const { shelf } of standingIn(collections, { before: before.layout, after }, dialect)) {
    const { name, rules } = shelf.collection
    const judged = [...rules.keys()].map((field) => ({ name: field, wide: null }))
    const own = tally(rules, judged, mostNamed)
    yield* eachRow(shelf, dialect, (row) => {
      own.see(row)
      see(row)
      return true
    })
    const misfits = own.misfits(true)
    if (Object.keys(misfits).length > 0) found[name] = misfits
  }
  return found
}
