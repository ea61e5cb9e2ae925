/** Reserve: rebuilds the reservations and links of existing rows on a sharded database. The cellar. */
import { readBatch } from '../schema/declared-rows.ts'
import { linkTable, reservationTable } from '../sql/compile.ts'
import { uniqueIndexName } from '../sql/layout.ts'
import { rowKeyOf, storedDocumentOf } from '../store/context.ts'
import { updateRemoteEntries } from '../store/placement.ts'
import type { Steps } from '../store/steps.ts'
import type { RefillContext } from './refill.ts'

/** Handles one batch of rows; returns the key of the last one, or null if no rows are left. */
export function* reserveValues(
  { shelf, dialect, cellar }: RefillContext,
  after: readonly string[] | null,
): Steps<readonly string[] | null> {
  if (!shelf)
    throw new Error(
      'the resource has another form in this declaration. Carry this plan out with the declaration that it was made for.',
    )
  const { collection } = shelf
  if (after === null) {
    // Starts again from nothing, as an earlier run may have been interrupted.
    for (const { columns } of collection.uniques)
      yield {
        text: `DELETE FROM ${reservationTable} WHERE name = ${dialect.mark(1)}`,
        values: [uniqueIndexName(collection, columns)],
      }
    yield { text: `DELETE FROM ${linkTable} WHERE collection = ${dialect.mark(1)}`, values: [collection.name] }
  }
  const { rows, last } = yield* readBatch(collection, dialect, after)
  for (const row of rows) {
    const written = { key: rowKeyOf(row), time: 0 }
    const clash = yield* updateRemoteEntries(cellar, shelf, written, null, storedDocumentOf(row))
    if (clash) throw new Error(`several rows have the same ${clash.fields.join(' and ')}. Change them first.`)
  }
  return last
}
