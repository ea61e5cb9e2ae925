/** Inspect: reads every row of a database, converted to a declaration, and counts those that do not fit. The store. */

import type { Steps } from '../catalog/steps.ts'
import type { Misfit, Misfits } from '../fields/bounds.ts'
import type { Collection } from '../rows/collection.ts'
import { type DeclaredRow, readableCollections, readEachRow } from '../schema/declared-rows.ts'
import type { SchemaChange } from '../schema/schema-change.ts'
import type { Dialect } from '../sql/dialect.ts'
import { defaultNamed, misfitCounter } from './misfit-counter.ts'
import { declaredBounds, readMisfitMemory, writeMisfitMemory } from './misfits.ts'

/** How many ids of misfits are listed for each field. */
const maxNamed = 100

export function* inspectRows(
  { before, after }: SchemaChange,
  collections: readonly Collection[],
  dialect: Dialect,
  see: (row: DeclaredRow) => void,
): Steps<Misfits> {
  const byCollection: Record<string, Record<string, Misfit>> = {}
  if (before === null) return byCollection
  for (const { prepared } of readableCollections(collections, { before: before.layout, after }, dialect)) {
    const { name, rules } = prepared.collection
    const judged = [...rules.keys()].map((field) => ({ name: field, wide: null }))
    const own = misfitCounter(rules, judged, maxNamed)
    yield* readEachRow(prepared, dialect, (row) => {
      own.see(row)
      see(row)
      return true
    })
    const misfits = own.misfits(true)
    if (Object.keys(misfits).length > 0) byCollection[name] = misfits
  }
  yield* recordMisfits(byCollection, collections, dialect)
  return byCollection
}

/** Stores the counted misfits, if the rows were checked against the applied declaration. */
function* recordMisfits(byCollection: Misfits, collections: readonly Collection[], dialect: Dialect): Steps<void> {
  const memory = yield* readMisfitMemory()
  const bounds = memory && { ...memory.bounds, ...declaredBounds(collections) }
  if (!memory || JSON.stringify(bounds) !== JSON.stringify(memory.bounds)) return
  const misfits = Object.fromEntries(
    Object.entries(byCollection).map(([name, fields]) => [
      name,
      Object.fromEntries(
        Object.entries(fields).map(([field, misfit]) => [field, { ...misfit, ids: misfit.ids.slice(0, defaultNamed) }]),
      ),
    ]),
  )
  yield* writeMisfitMemory(dialect, { ...memory, misfits })
}
