/** Carries a plan out, statement by statement, whoever runs them: the same story on every database. The cellar. */
import type { Outcome, Page } from '../flow/outcome.ts'
import type {
  Absent,
  Create,
  Found,
  Key,
  List,
  Plan,
  Read,
  Reference,
  Remove,
  Seen,
  Update,
  Write, Window } from '../flow/plan.ts'
import { type Collection, completed } from '../resources/collection.ts'
import {
  countStatement,
  keyValues,
  listStatement,
  type Statement,
  type Texts,
  texts,
  tombstoneId,
  tombstones,
} from './compile.ts'
import { type Dialect, quoted } from './dialect.ts'
import { behind, reversed, whole } from './segments.ts'

export type Answer = Readonly<Record<string, unknown>>
/** A story that asks for statements and is given their rows. */
export type Steps<T> = Generator<Statement, T, readonly Answer[]>

/** A collection with what was prepared for it. */
export interface Shelf {
  readonly collection: Collection
  readonly texts: Texts
  /** The number of the shape that is written today. */
  readonly shape: number
}

export interface Cellar {
  readonly dialect: Dialect
  readonly shelves: ReadonlyMap<string, Shelf>
}

export function cellar(
  collections: Iterable<Collection>,
  shapes: Readonly<Record<string, number>>,
  dialect: Dialect,
): Cellar {
  const shelves = new Map<string, Shelf>()
  for (const collection of collections) {
    shelves.set(collection.name, { collection, texts: texts(collection, dialect), shape: shapes[collection.name] ?? 0 })
  }
  return { dialect, shelves }
}

const shelf = ({ shelves }: Cellar, name: string): Shelf => shelves.get(name) as Shelf

export function* perform(cellar: Cellar, plan: Plan): Steps<Outcome> {
  switch (plan.do) {
    case 'read':
      return yield* read(cellar, plan)
    case 'list':
      return yield* list(cellar, plan)
    case 'create':
      return yield* create(cellar, plan)
    case 'decide': {
      const seen = yield* read(cellar, plan.read)
      return yield* write(cellar, plan.decide(seen), seen)
    }
  }
}

function* write(cellar: Cellar, plan: Write, seen: Seen): Steps<Outcome> {
  switch (plan.do) {
    case 'create':
      return yield* create(cellar, plan)
    case 'update':
      return yield* update(cellar, plan)
    case 'remove':
      return yield* remove(cellar, plan)
    case 'keep':
      return { is: 'kept', seen }
  }
}

function* read(cellar: Cellar, { collection, key }: Read): Steps<Seen> {
  const { texts, ...own } = shelf(cellar, collection)
  const [row] = yield { text: texts.read, values: keyValues(own.collection, key) }
  if (row) return found(own, row)
  if (own.collection.composite) {
    const owner = yield* absentOwner(cellar, own.collection.parent?.collection as string, key.parent as string)
    if (owner) return owner
  }
  return yield* departed(cellar, own.collection, key)
}

function found({ collection, shape }: Pick<Shelf, 'collection' | 'shape'>, row: Answer): Found {
  const doc = row.shape === shape ? (row.doc as string) : completed(collection, row.doc as string)
  return { is: 'found', doc, hidden: row.hidden as string | null, revision: Number(row.revision) }
}

/** What is known of a row that is not there. */
function* departed({ dialect }: Cellar, collection: Collection, key: Key): Steps<Absent> {
  const text = `SELECT revision FROM ${tombstones} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}`
  const [tombstone] = yield { text, values: [collection.name, tombstoneId(collection, key)] }
  const revision = Number(tombstone?.revision ?? 0)
  return { is: tombstone ? 'gone' : 'missing', collection: collection.name, id: key.id, revision }
}

/** The owner, if it is not there; null where it is. */
function* absentOwner(cellar: Cellar, name: string, id: string): Steps<Absent | null> {
  const { collection, texts } = shelf(cellar, name)
  const [row] = yield { text: texts.exists, values: [id] }
  return row ? null : yield* departed(cellar, collection, { id, parent: null })
}

function* list(cellar: Cellar, plan: List): Steps<Outcome> {
  if (plan.parent) {
    const owner = yield* absentOwner(cellar, plan.parent.collection, plan.parent.id)
    if (owner) return owner
  }
  const { limit } = plan.window
  const rows = plan.window.from === 'offset' ? yield* passedOver(cellar, plan, plan.window.offset) : yield* near(cellar, plan, plan.window)
  const more = rows.length > limit
  const shown = rows.slice(0, limit)
  const back = plan.window.from === 'place' && plan.window.back
  if (back) shown.reverse()
  const total = plan.countTo === null ? null : yield* counted(cellar, plan, plan.countTo)
  const sides = yield* around(cellar, plan, shown, more)
  return page(shelf(cellar, plan.collection), plan, shown, { ...sides, total })
}

/** Rows from an offset on, one more than asked, so that it shows whether others follow. */
function* passedOver({ dialect, shelves }: Cellar, plan: List, from: number): Steps<readonly Answer[]> {
  const { collection } = shelves.get(plan.collection) as Shelf
  const wanted = plan.window.limit + 1
  const rows: Answer[] = []
  let offset = from
  for (const stretch of whole(plan.order)) {
    const found = yield listStatement(collection, plan, stretch, { offset, limit: wanted - rows.length }, dialect)
    rows.push(...found)
    if (rows.length === wanted) break
    if (found.length > 0) offset = 0
    else if (offset > 0) offset -= Number((yield countStatement(collection, plan, stretch, offset, dialect))[0]?.total)
  }
  return rows
}

/** Rows behind a place (before it, when going back), one more than asked. */
function* near({ dialect, shelves }: Cellar, plan: List, { place, back, limit }: Extract<Window, { from: 'place' }>): Steps<readonly Answer[]> {
  const { collection } = shelves.get(plan.collection) as Shelf
  const rows: Answer[] = []
  for (const stretch of behind(back ? reversed(plan.order) : plan.order, place)) {
    rows.push(...(yield listStatement(collection, plan, stretch, { offset: 0, limit: limit + 1 - rows.length }, dialect)))
    if (rows.length > limit) break
  }
  return rows
}

/** How many rows match; null where they are more than are counted. R75. */
function* counted({ dialect, shelves }: Cellar, plan: List, upTo: number): Steps<number | null> {
  const { collection } = shelves.get(plan.collection) as Shelf
  const total = Number((yield countStatement(collection, plan, null, upTo === Number.MAX_SAFE_INTEGER ? upTo : upTo + 1, dialect))[0]?.total)
  return total > upTo ? null : total
}

/** Whether rows stand before and behind those shown. On the side a cursor came from it is looked up, as rows may be gone. */
function* around(cellar: Cellar, plan: List, shown: readonly Answer[], more: boolean): Steps<{ before: boolean; after: boolean }> {
  const { window } = plan
  if (window.from === 'offset') return { before: window.offset > 0, after: more }
  const end = window.back ? shown.at(-1) : shown[0]
  if (!end) return { before: false, after: false }
  const types = new Map((cellar.shelves.get(plan.collection) as Shelf).collection.columns.map(({ name, type }) => [name, type]))
  const place = plan.order.map(({ column }, i) => {
    const value = end[`place${i}`] as string | null
    return value !== null && types.get(column) === 'integer' ? BigInt(value) : value
  })
  const other = (yield* near(cellar, { ...plan, places: false }, { from: 'place', place, back: !window.back, limit: 0 })).length > 0
  return window.back ? { before: more, after: other } : { before: other, after: more }
}

function page(own: Shelf, { order, places }: List, shown: readonly Answer[], rest: Pick<Page, 'before' | 'after' | 'total'>): Page {
  const place = (row: Answer | undefined) => (row && places ? order.map((_, i) => row[`place${i}`] as string | null) : null)
  return {
    is: 'page',
    data: shown.map((row) => found(own, row).doc).join(','),
    count: shown.length,
    first: place(shown[0]),
    last: place(shown.at(-1)),
    ...rest,
  }
}

function* create(cellar: Cellar, plan: Create): Steps<Outcome> {
  const { collection, texts, shape } = shelf(cellar, plan.collection)
  if (plan.parent) {
    const owner = yield* absentOwner(cellar, plan.parent.collection, plan.parent.id)
    if (owner) return owner
  }
  if (plan.id !== 'fresh') {
    const refusal = yield* claimed(cellar, plan)
    if (refusal) return refusal
  }
  const references = yield* unmet(cellar, plan.references)
  if (references.length > 0) return { is: 'unmet', references }
  const { doc, hidden, cells } = plan.row
  yield {
    text: texts.insert,
    values: [...keyValues(collection, plan.key), plan.revision, shape, doc, hidden, ...cells],
  }
  return { is: 'created', doc, revision: plan.revision }
}

/** Why a chosen id cannot be used: it is in use, or was and is remembered. R36, R91. */
function* claimed(cellar: Cellar, { collection: name, key, id }: Create): Steps<Outcome | null> {
  const { collection, texts } = shelf(cellar, name)
  const [row] = yield { text: texts.exists, values: keyValues(collection, key) }
  if (row) return { is: 'duplicate', fields: ['id'] }
  const before = yield* departed(cellar, collection, key)
  if (before.is === 'gone' && id === 'chosen') return before
  if (before.is === 'gone') {
    const { dialect } = cellar
    const text = `DELETE FROM ${tombstones} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}`
    yield { text, values: [name, tombstoneId(collection, key)] }
  }
  return null
}

function* unmet(cellar: Cellar, references: readonly Reference[]): Steps<Reference[]> {
  const missing: Reference[] = []
  for (const reference of references) {
    const [row] = yield { text: shelf(cellar, reference.collection).texts.exists, values: [reference.id] }
    if (!row) missing.push(reference)
  }
  return missing
}

function* update(cellar: Cellar, plan: Update): Steps<Outcome> {
  const { collection, texts, shape } = shelf(cellar, plan.collection)
  const references = yield* unmet(cellar, plan.references)
  if (references.length > 0) return { is: 'unmet', references }
  const { doc, hidden, cells } = plan.row
  const [row] = yield {
    text: texts.update,
    values: [shape, doc, hidden, ...cells, ...keyValues(collection, plan.key), plan.revision],
  }
  return { is: 'changed', doc, revision: Number(row?.revision) }
}

function* remove(cellar: Cellar, plan: Remove): Steps<Outcome> {
  const { collection } = shelf(cellar, plan.collection)
  for (const dependent of collection.dependents) {
    const used = yield* release(cellar, plan, dependent)
    if (used) return used
  }
  yield* bury(cellar, plan)
  return { is: 'removed' }
}

/** Deletes what depends on a row, or reports that it may not. R138. */
function* release(
  cellar: Cellar,
  { key, time }: Remove,
  dependent: Collection['dependents'][number],
): Steps<Outcome | null> {
  const { collection } = shelf(cellar, dependent.collection)
  const { dialect } = cellar
  const owner = collection.composite ? 'parent' : 'NULL AS parent'
  const most = dependent.onDelete === 'restrict' ? ' LIMIT 1' : ''
  const text = `SELECT ${owner}, id, revision FROM ${quoted(collection.table)} WHERE ${quoted(dependent.column)} = ${dialect.mark(1)}${most}`
  const rows = yield { text, values: [key.id] }
  if (rows.length > 0 && dependent.onDelete === 'restrict') return { is: 'used', collection: collection.name }
  for (const row of rows) {
    const below = { id: row.id as string, parent: row.parent as string | null }
    const outcome = yield* remove(cellar, {
      do: 'remove',
      collection: collection.name,
      key: below,
      revision: Number(row.revision),
      time,
    })
    if (outcome.is === 'used') return outcome
  }
  return null
}

function* bury(cellar: Cellar, { collection: name, key, revision, time }: Remove): Steps<void> {
  const { collection, texts } = shelf(cellar, name)
  const { mark } = cellar.dialect
  yield { text: texts.remove, values: [...keyValues(collection, key), revision] }
  const text = `INSERT INTO ${tombstones} (collection, id, time, revision) VALUES (${mark(1)}, ${mark(2)}, ${mark(3)}, ${mark(4)})`
  yield { text, values: [name, tombstoneId(collection, key), time, revision] }
}
