/** Inspect: reads every row of a database as a declaration has it, and counts those that do not fit. The cellar. */
import type { Misfit, Misfits } from '../resources/bounds.ts'
import type { Collection } from '../resources/collection.ts'
import type { Steps } from '../store/cellar.ts'
import type { Dialect } from '../store/dialect.ts'
import { boundsIn, readMemory, writeMemory } from './misfits.ts'
import { eachRow, type Row, standingIn } from './rows.ts'
import type { Change } from './schema.ts'
import { fewNamed, tally } from './tally.ts'

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
  yield* recorded(found, collections, dialect)
  return found
}

/** What was counted takes the place of what is remembered, where the rows were judged by the declaration that was applied. */
function* recorded(found: Misfits, collections: readonly Collection[], dialect: Dialect): Steps<void> {
  const known = yield* readMemory(dialect)
  const bounds = known && { ...known.bounds, ...boundsIn(collections) }
  if (!known || JSON.stringify(bounds) !== JSON.stringify(known.bounds)) return
  const misfits = Object.fromEntries(
    Object.entries(found).map(([name, fields]) => [
      name,
      Object.fromEntries(
        Object.entries(fields).map(([field, misfit]) => [field, { ...misfit, ids: misfit.ids.slice(0, fewNamed) }]),
      ),
    ]),
  )
  yield* writeMemory(dialect, { bounds: known.bounds, misfits })
}
