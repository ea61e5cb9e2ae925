/** Fill aggregates: computes the sums, counts, minimums and maximums of a row from the rows that belong or refer to it. The store. */

import { preparedCollection, type StoreContext } from '../catalog/context.ts'
import type { Steps } from '../catalog/steps.ts'
import {
  aggregateOf,
  type Collection,
  type Members,
  type StoredAggregate,
  withDerivedValues,
} from '../rows/collection.ts'
import { readFamily } from '../store/read-family.ts'

/**
 * The document with all its derived values. Derived values of the rows that it reads may not be filled yet, so they are
 * computed too. The row has
 * to be locked, as every write of these rows locks it.
 */
export function* filledDocument(
  context: StoreContext,
  { aggregates, fields }: Pick<Collection, 'aggregates' | 'fields'>,
  document: Members,
  account: string | null,
): Steps<Record<string, unknown>> {
  const filled = { ...document }
  const ways = Map.groupBy(aggregates, ({ collection, column }) => `${collection} ${column}`)
  for (const all of ways.values()) {
    const { collection, column } = all[0] as StoredAggregate
    const other = preparedCollection(context, collection).collection
    const family = yield* readFamily(context, { collection, column, value: String(document.id), account })
    const rows: Members[] = []
    for (const { document: one } of family.rows)
      rows.push(other.aggregates.length === 0 ? one : yield* filledDocument(context, other, one, account))
    for (const one of all) filled[one.field] = aggregateOf(one, rows)
  }
  return withDerivedValues(fields, filled)
}
