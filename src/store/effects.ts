/** Effects: performs a write with the changes of other rows that belong to it; all are committed, or none. The cellar. */
import type { ReadResult, RowKey } from '../flow/found-row.ts'
import { isCommitted, type Outcome } from '../flow/outcome.ts'
import type { RowChange, RowWrite } from '../flow/plan.ts'
import { tombstoneId } from '../sql/compile.ts'
import { preparedCollection, type StoreContext } from './context.ts'
import { readRow } from './read-row.ts'
import { rowConflict, type Steps, withoutAutocommit } from './steps.ts'
import { writeRow } from './write-row.ts'

/** The effects are decided from rows that are locked before anything is written. If one of them is refused, all are. */
export function* writeWithEffects(cellar: StoreContext, plan: RowWrite, seen: ReadResult | null): Steps<Outcome> {
  const { effects = [] } = plan
  if (effects.length === 0) return yield* writeRow(cellar, plan, seen)
  const rows = yield* lockRows(cellar, plan, effects)
  const outcome = yield* withoutAutocommit(writeRow(cellar, plan, seen))
  if (!isCommitted(outcome)) return outcome
  if (plan.do !== 'keep') rows.delete(rowName(cellar, plan))
  for (const effect of effects) {
    const name = rowName(cellar, effect)
    const there = rows.get(name) ?? (yield* readRow(cellar, effect, true))
    rows.delete(name) // another effect on this row is decided from what this one writes
    const { expectedRevision = there.revision } = effect
    if (expectedRevision !== there.revision) throw rowConflict(effect.collection)
    const other = yield* withoutAutocommit(writeWithEffects(cellar, effect.change(there), there))
    if (other.is === 'duplicate' || other.is === 'unmet') return { collection: effect.collection, ...other }
    if (!isCommitted(other)) return other
  }
  return outcome
}

interface RowAddress {
  readonly collection: string
  readonly key: RowKey
  readonly time: number
}

/** Reads the rows that are changed and locks them: owners before what they own, then in order, so that two writes cannot deadlock. */
function* lockRows(
  cellar: StoreContext,
  plan: RowWrite,
  effects: readonly RowChange[],
): Steps<Map<string, ReadResult>> {
  const own: RowAddress[] = plan.do === 'update' || plan.do === 'remove' ? [plan] : []
  const ordered = [...own, ...effects]
    .map((row): [string, RowAddress] => [`${ownersOf(cellar, row.collection)} ${rowName(cellar, row)}`, row])
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row)
  if (ordered.at(-1) === plan) ordered.pop() // the write itself locks it next
  const rows = new Map<string, ReadResult>()
  for (const row of ordered)
    if (!rows.has(rowName(cellar, row))) rows.set(rowName(cellar, row), yield* readRow(cellar, row, true))
  return rows
}

const rowName = (cellar: StoreContext, { collection, key }: Pick<RowAddress, 'collection' | 'key'>): string =>
  `${collection}/${tombstoneId(preparedCollection(cellar, collection).collection, key)}`

/** How many owners stand above the rows of a collection. */
const ownersOf = (cellar: StoreContext, name: string): number => {
  const { parent } = preparedCollection(cellar, name).collection
  return parent === null ? 0 : 1 + ownersOf(cellar, parent.collection)
}
