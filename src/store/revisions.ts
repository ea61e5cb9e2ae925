/** Revisions: reads the revisions of rows, and deletes old ones. The outbox records them. R237. The store. */

import { type PreparedCollection, preparedCollection, type StoreContext, storedName } from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import type { AbsentRow, ReadResult, RowKey } from '../flow/found-row.ts'
import type { Outcome, RevisionPage, StoredRevision } from '../flow/outcome.ts'
import type { ReadRevisions, SweepRevisions } from '../flow/plan.ts'
import { contentsIn, keptContents, releaseContentOf } from '../ledgers/dropped-contents.ts'
import { findCopyOf } from '../ledgers/dropped-copies.ts'
import { history, historyRows, storedEvents } from '../ledgers/outbox.ts'
import { type Cell, type Collection, storedNameOf } from '../rows/collection.ts'
import { readRow, readVisibleRow } from './read-row.ts'

/** How many revisions are looked through for a page, so that those that are not shown do not make it slow. */
const mostScanned = 2000

/**
 * Revisions, the newest first; the absent row if it has none and does not exist. If access depends on rows, each revision is
 * checked with the document at that time, and a revision after a hidden one is shown without changes.
 */
export function* readRevisions(context: StoreContext, plan: ReadRevisions): Steps<RevisionPage | AbsentRow> {
  const hidden = context.rights ? yield* hiddenRow(context, plan) : null
  if (hidden) return plan.numbers ? { is: 'revisions', revisions: [], next: null } : hidden
  const own = preparedCollection(context, plan.collection)
  const test = context.rights?.visible.of(plan.collection)
  const shownOf = (revisions: readonly StoredRevision[]): StoredRevision[] =>
    revisions
      .filter(({ event }) => test?.matches(event.doc) ?? true)
      .map((one) => (one.before && test?.matches(one.before.doc) === false ? { ...one, before: null } : one))
      .filter(({ event, before }) => plan.isShown(event, before))
  if (plan.numbers) {
    const revisions: StoredRevision[] = []
    for (const number of plan.numbers) {
      const earlier = yield* revisionsBefore(context, own, plan, { before: number + 1, limit: 1 })
      revisions.push(...shownOf(earlier.filter(({ event }) => event.sequence === number)))
    }
    return { is: 'revisions', revisions, next: null }
  }
  const shown: StoredRevision[] = []
  let { before } = plan
  for (let scanned = 0; scanned < mostScanned; ) {
    const limit = plan.limit + 1
    const page = yield* revisionsBefore(context, own, plan, { before, limit })
    shown.push(...shownOf(page))
    if (shown.length > plan.limit) {
      const revisions = shown.slice(0, plan.limit)
      return { is: 'revisions', revisions, next: revisions.at(-1)?.event.sequence ?? null }
    }
    if (page.length < limit) return yield* lastPage(context, plan, before === null && page.length === 0, shown)
    before = page.at(-1)?.event.sequence ?? null
    scanned += limit
  }
  return { is: 'revisions', revisions: shown, next: before }
}

/** The row as absent, if it does not exist for the caller; a deleted row is checked with its last document. */
function* hiddenRow(context: StoreContext, plan: ReadRevisions): Steps<AbsentRow | null> {
  const current = yield* readVisibleRow(context, plan)
  const visible = context.rights?.visible
  const test = visible?.of(plan.collection)
  if (current.is === 'found' || (test === undefined && current.is === 'gone')) return null
  if (current.collection !== plan.collection && visible?.of(current.collection)) return current
  const present = yield* readRow(context, plan)
  if (present.is === 'found') return current
  const own = preparedCollection(context, plan.collection)
  const [last] = yield* revisionsBefore(context, own, plan, { before: null, limit: 1 })
  return last && (test?.matches(last.event.doc) ?? true) ? null : current
}

function* lastPage(
  context: StoreContext,
  { collection, key, time }: ReadRevisions,
  isEmpty: boolean,
  revisions: readonly StoredRevision[],
): Steps<RevisionPage | AbsentRow> {
  const current: ReadResult | null = isEmpty ? yield* readRow(context, { collection, key, time }) : null
  return current && current.is !== 'found' ? current : { is: 'revisions', revisions, next: null }
}

/** Revisions of a row before a number, each with the one before it. */
function* revisionsBefore(
  context: StoreContext,
  { collection }: PreparedCollection,
  { key }: ReadRevisions,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Steps<StoredRevision[]> {
  const { mark } = context.dialect
  const { where, values } = ofRow(context, collection, key)
  if (before !== null) where.push(`revision < ${mark(values.push(before))}`)
  const rows = yield {
    text: `SELECT id, resource, NULLIF(account, '') AS account, NULLIF(parent, '') AS parent, item, action, caller, revision AS sequence, at, shape, payload, 0 AS position FROM ${history} WHERE ${where.join(' AND ')} ORDER BY revision DESC LIMIT ${Math.trunc(limit + 1)}`,
    values,
    autocommit: 'read',
  }
  const events = yield* storedEvents(context, rows, historyRows)
  return events
    .slice(0, limit)
    .map((event, i) => ({ event, by: (rows[i]?.caller ?? null) as string | null, before: events[i + 1] ?? null }))
}

/** The conditions for the revisions of a row. */
function ofRow({ dialect: { mark } }: StoreContext, collection: Collection, { account, parent, id }: RowKey) {
  const owner = collection.account === null ? null : account
  const above = collection.composite ? parent : null
  const values: Cell[] = [storedNameOf(collection), owner ?? '', above ?? '', id]
  return { values, where: ['resource', 'account', 'parent', 'item'].map((name, i) => `${name} = ${mark(i + 1)}`) }
}

/** The last revision number of a row that is created again, in case its tombstone is gone; 0 if no revision is kept. */
export function* lastRevision(context: StoreContext, collection: Collection, key: RowKey): Steps<number> {
  const { where, values } = ofRow(context, collection, key)
  const [row] = yield { text: `SELECT max(revision) AS last FROM ${history} WHERE ${where.join(' AND ')}`, values }
  return Number(row?.last ?? 0)
}

const mostSwept = 500

/** Deletes the oldest revisions of a collection that are older than a time. */
export function* sweepRevisions(context: StoreContext, { collection, before, unused }: SweepRevisions): Steps<Outcome> {
  const { mark, itemsOf } = context.dialect
  const name = storedName(context, collection)
  const old = yield {
    text: `SELECT id, at${unused === null ? '' : ', account, parent, item, payload'} FROM ${history} WHERE resource = ${mark(1)} AND at < ${mark(2)} ORDER BY at LIMIT ${mostSwept}`,
    values: [name, before],
  }
  if (old.length === 0) return { is: 'swept', more: false }
  const ids = JSON.stringify(old.map(({ id }) => id))
  yield {
    text: `DELETE FROM ${history} WHERE resource = ${mark(1)} AND at <= ${mark(2)} AND id IN (${itemsOf(mark(3))})`,
    values: [name, Number(old.at(-1)?.at), ids],
  }
  yield { text: `DELETE FROM ${historyRows} WHERE event IN (${itemsOf(mark(1))})`, values: [ids] }
  if (unused !== null) yield* releaseForgotten(context, collection, old, unused)
  return { is: 'swept', more: old.length === mostSwept }
}

/**
 * Releases the contents of files that only deleted revisions named. Without a retention of the history no write releases
 * them, so this is needed where the retention was limited later.
 */
function* releaseForgotten(
  context: StoreContext,
  collection: string,
  deleted: readonly ResultRow[],
  unused: number,
): Steps<void> {
  const own = preparedCollection(context, collection)
  const { dialect } = context
  const named = new Map(
    deleted.flatMap((row) => {
      const key = { account: String(row.account) || null, parent: String(row.parent) || null, id: String(row.item) }
      return contentsIn(String(row.payload)).map((content) => [content, key] as const)
    }),
  )
  const kept = yield* keptContents([...named.keys()], dialect)
  for (const content of kept) {
    const key = named.get(content) as RowKey
    const { where, values } = ofRow(context, own.collection, key)
    const pattern = dialect.mark(values.push(`%"${content}"%`))
    const text = `SELECT id FROM ${history} WHERE ${where.join(' AND ')} AND payload LIKE ${pattern} LIMIT 1`
    if ((yield { text, values }).length > 0) continue
    const row = yield* readRow(context, { collection, key, time: unused })
    if (row.is === 'found' && contentsIn(row.doc).includes(content)) continue
    if (context.dropped && (yield findCopyOf(content, dialect)).length > 0) continue // `bylaw migrate undrop` may put it back
    yield releaseContentOf(dialect, content, key.id, unused)
  }
}
