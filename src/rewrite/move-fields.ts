/** Move fields: moves values from old rows to rows of the resource that now has the field. The store. */

import { type PreparedCollection, type StoreContext, storedDocumentOf } from '../catalog/context.ts'
import { type ResultRow, rowConflict, type Steps } from '../catalog/steps.ts'
import type { RowKey } from '../flow/found-row.ts'
import { updateRemoteEntries } from '../ledgers/remote-entries.ts'
import {
  cellsIn,
  encodeDocument,
  isSameJson,
  keptForOthers,
  keptForOthersKey,
  type Members,
  type MovedValue,
  olderViews,
  viewRow,
  withKeptForOthers,
} from '../rows/collection.ts'
import { rowKeyValues } from '../sql/dialect.ts'
import { updateText } from '../sql/statements.ts'
import { refreshJoiningRows } from '../store/joined.ts'

interface MoveContext {
  readonly context: StoreContext
  /** Whether the moved values are newer than the existing ones, as old nodes wrote them during the upgrade. */
  readonly latest: boolean
}

/**
 * Writes all values that move out of a row in the transaction that removes them from it. A value that an old node saw and
 * did not change is not moved: the other row may have a value that the old node's view shows only in part. R196.
 */
export function* moveFields(
  giving: MoveContext,
  { collection, shape }: PreparedCollection,
  row: ResultRow,
): Steps<void> {
  const { doc, hidden: text, shape: own } = storedDocumentOf(row)
  if (own >= shape || !collection.movedValues) return
  const { [keptForOthersKey]: _, ...hidden } = JSON.parse(text ?? '{}') as Members
  const document = { ...hidden, ...(JSON.parse(doc) as Members) }
  const place = `${collection.name}/${row.id}`
  const givenBy = (one: Members) => namingRowInErrors(place, () => collection.movedValues?.(own, one) ?? [])
  const views = olderViews(text, own).map(givenBy)
  for (const moved of givenBy(document)) {
    if (views.length > 0 && views.every((view) => view.some((one) => isSame(one, moved)))) continue
    const says = `\`${moved.field}\` of ${place} is ${JSON.stringify(moved.value)}`
    if (moved.id === null)
      throw new Error(`${says}, but it refers to none of ${moved.collection}, which have the field now. ${mendHint}`)
    const key = { id: moved.id, parent: null, account: (row.account ?? null) as string | null }
    yield* moveValue(giving, { moved, key, says, what: `${collection.name}.${moved.field}` })
  }
}

const isSame = (one: MovedValue, other: MovedValue): boolean =>
  one.collection === other.collection && one.field === other.field && isSameJson(one.value, other.value)

const mendHint = 'Correct it with the former declaration, so that nothing is lost, and try again.'

interface ValueMove {
  readonly moved: MovedValue
  readonly key: RowKey
  readonly says: string
  /** Identifies the value among the values that the row receives. */
  readonly what: string
}

/** The values that a row has received since it had an older shape. Stored in its hidden column until the change ends. */
interface ReceivedValues {
  readonly since: number
  readonly given: readonly string[]
}

/** Writes a value to the row that has the field now; throws if that row already has another value of its own. */
function* moveValue(giving: MoveContext, { moved, key, says, what }: ValueMove): Steps<void> {
  const { context, latest } = giving
  const prepared = context.collections.get(moved.collection)
  if (!prepared)
    throw new Error(
      `the rows of ${moved.collection} have to be written too, but they have another form in this declaration.`,
    )
  const { collection, shape, former } = prepared
  const place = `${moved.collection}/${key.id}`
  const keys = rowKeyValues(collection, key, context.dialect)
  const [row] = yield { text: prepared.texts.readForUpdate, values: keys }
  if (!row) throw new Error(`${says}, but ${place}, which would have the field now, does not exist. ${mendHint}`)
  const stored = storedDocumentOf(row)
  const mark = stored.shape === shape ? receivedIn(stored.hidden, shape) : { since: stored.shape, given: [] }
  yield* moveFields(giving, prepared, { ...row, ...key })
  const view = namingRowInErrors(place, () => viewRow(collection, shape, stored))
  const has = moved.read(view.document)
  const isSame = isSameJson(has, moved.value)
  if (isSame && stored.shape === shape && mark === null) return
  const isOwn = mark === null || mark.given.includes(what) || !moved.isNew(collection.versionAt?.(mark.since) ?? '')
  if (has != null && isOwn && !isSame && !latest) {
    const hint = mark?.given.length === 0 ? addedHint(moved.collection) : ''
    throw new Error(`${says}, but ${place}, which has the field now, has ${JSON.stringify(has)}. ${hint}${mendHint}`)
  }
  const document = { ...view.document, ...moved.put(view.document) }
  const texts = encodeDocument(collection, document)
  const kept = former ? withKeptForOthers(collection, { own: shape, former }, view, texts) : texts.hidden
  const hidden = mark ? withReceived(kept, shape, { ...mark, given: [...mark.given, what] }) : kept
  const values = [shape, texts.doc, hidden, ...cellsIn(collection, document), ...keys, Number(row.revision)]
  const was = { ...encodeDocument(collection, view.document), shape }
  const clash = yield* updateRemoteEntries(context, prepared, { key, time: 0 }, was, { ...texts, shape })
  if (clash)
    throw new Error(`${says}, but another row has the same ${clash.fields.join(' and ')} as ${place}. ${mendHint}`)
  const [done] = yield { text: updateText(collection, [...collection.columns.keys()], context.dialect), values }
  if (!done) throw rowConflict(moved.collection)
  if (latest) yield* refreshJoiningRows(context, moved.collection, key)
}

/** A hint for a value that may only be a default, which the row got as no change lists the field under `added`. */
const addedHint = (name: string): string =>
  `If ${name} had no such field before, list it under \`added\` in a change of ${name}, so that the value replaces its default. `

const receivedIn = (hidden: string | null, shape: number): ReceivedValues | null =>
  (keptForOthers(hidden)[shape] as ReceivedValues | undefined) ?? null

function withReceived(hidden: string | null, shape: number, mark: ReceivedValues): string {
  const all = JSON.parse(hidden ?? '{}') as Record<string, Members>
  return JSON.stringify({ ...all, [keptForOthersKey]: { ...all[keptForOthersKey], [shape]: mark } })
}

/** Adds the name of the row to errors. */
export function namingRowInErrors<T>(place: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw new Error(`in ${place}, ${(error as Error).message}`, { cause: error })
  }
}
