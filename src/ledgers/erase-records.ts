/** Erase records: empties the personal fields of a row in events, revisions, kept answers and copies of dropped values. The store. */
import {
  type PreparedCollection,
  preparedCollection,
  presentRecord,
  type StoreContext,
  viewRecord,
} from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import { Problem } from '../errors/problem.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { ErasedRecords } from '../flow/outcome.ts'
import type { Read } from '../flow/plan.ts'
import {
  isRecorded,
  isSameJson,
  type Members,
  personalValues,
  storedNameOf,
  withoutPersonal,
} from '../rows/collection.ts'
import { deleteCopiesStatement } from './dropped-copies.ts'
import { emptyKeys } from './idempotency-claims.ts'
import { type EventRow, emptiedAction, history, presentTables, type RecordTable } from './outbox.ts'
import { type Bind, mentions, scannedRows } from './scanned-rows.ts'

export function* eraseRecords(
  context: StoreContext,
  { collection, key }: Pick<Read, 'collection' | 'key'>,
): Steps<ErasedRecords> {
  const { unchanged } = context
  if (!unchanged || (yield unchanged).length === 0)
    throw new Problem(
      'maintenance',
      'A change of the database is not finished, or was finished meanwhile: nodes of another declaration may have written. Nothing was erased. Finish it with `bylaw migrate apply`, and try again with the newest declaration.',
    )
  const erasure = new Erasure(context, preparedCollection(context, collection), key)
  const emptied = { events: 0, revisions: 0, 'idempotency keys': 0, 'dropped values': 0 }
  for (const table of yield* presentTables(context)) emptied[table.counts] = yield* erasure.recordsIn(table)
  emptied['idempotency keys'] = yield* emptyKeys(context, collection, key.id)
  emptied['dropped values'] = yield* erasure.copies()
  const { events, contents, removed } = erasure
  return { is: 'erased', emptied, events: [...events], contents: [...contents], removed: [...removed.values()] }
}

/** The further rows of a record, and their text in the database, to detect changes. */
interface FurtherRows {
  readonly text: string
  rows: readonly EventRow[]
}

/** A record, with the collection of its row. */
interface FoundRecord {
  readonly row: ResultRow
  readonly of: PreparedCollection
}

class Erasure {
  readonly #context: StoreContext
  readonly #own: PreparedCollection
  readonly #key: RowKey
  /** The further rows that name the row, by the id of the record. */
  #further = new Map<string, FurtherRows>()
  /** The ids of the records of a table that have changed. */
  #emptied = new Set<string>()
  readonly events = new Set<string>()
  readonly contents = new Set<string>()
  readonly removed = new Map<string, ErasedRecords['removed'][number]>()

  constructor(context: StoreContext, own: PreparedCollection, key: RowKey) {
    this.#context = context
    this.#own = own
    this.#key = key
  }

  /** Returns how many records were emptied. */
  *recordsIn(table: RecordTable): Steps<number> {
    this.#emptied = new Set()
    this.#further = yield* this.#furtherRows(table)
    const records = table.counts === 'events' ? yield* this.#foundEvents(table) : yield* this.#foundRevisions(table)
    const numbered = records.toSorted((one, other) => Number(one.number) - Number(other.number))
    yield* this.#ownRecords(
      table,
      numbered.filter((row) => this.#isOwn(row)),
    )
    for (const row of records) {
      yield* this.#movedRecord(table, row)
      this.#noteRemoved(row)
    }
    yield* this.#shownRows(table)
    return this.#emptied.size
  }

  /** Deletes all copies of dropped values of the row, as it is not recorded which of those fields were personal. */
  *copies(): Steps<number> {
    const { dialect, dropped } = this.#context
    if (!dropped) return 0
    const { text, values } = deleteCopiesStatement(this.#own.collection, this.#key, null, dialect)
    return (yield { text: `${text} RETURNING field`, values }).length
  }

  #mark(n: number): string {
    return this.#context.dialect.mark(n)
  }

  /** The further rows of records that name the row. */
  *#furtherRows({ table, rows, counts }: RecordTable): Steps<Map<string, FurtherRows>> {
    const mentioning = yield* scannedRows(this.#context, {
      ...{ table: rows, by: 'event', from: '', columns: 'event, documents' },
      where: (bind) => mentions('documents', this.#key.id, bind),
    })
    const ids = JSON.stringify(mentioning.map(({ event }) => event))
    const { itemsOf } = this.#context.dialect
    const where = (bind: Bind) => `id IN (${itemsOf(bind(ids))})`
    const records =
      counts === 'events'
        ? yield { text: `SELECT id, account FROM ${table} WHERE id IN (${itemsOf(this.#mark(1))})`, values: [ids] }
        : yield* this.#revisionsOf(mentioning.length === 0 ? [] : this.#recorded(), { columns: 'id, account', where })
    const eventIds = new Set(records.filter((row) => this.#isOfAccount(row)).map(({ id }) => id))
    const all = mentioning.filter(({ event }) => eventIds.has(event))
    return new Map(
      all.map(({ event, documents }) => [
        String(event),
        { text: String(documents), rows: JSON.parse(String(documents)) as EventRow[] },
      ]),
    )
  }

  #recorded(): readonly PreparedCollection[] {
    return [...this.#context.collections.values()].filter(({ collection }) => isRecorded(collection))
  }

  /** The revisions of collections, read by the index on their time. */
  *#revisionsOf(
    all: readonly PreparedCollection[],
    asked: { readonly columns: string; readonly where: (bind: Bind) => string },
  ): Steps<ResultRow[]> {
    const records: ResultRow[] = []
    for (const { collection } of all) {
      const within = { resource: storedNameOf(collection) }
      records.push(...(yield* scannedRows(this.#context, { table: history, by: 'at', from: -1, within, ...asked })))
    }
    return records
  }

  /** The events of the row, and events of other rows that may have values of it or belonged to it. */
  #foundEvents({ table }: RecordTable): Steps<ResultRow[]> {
    const { collection } = this.#own
    const [senders, children] = [this.#senders(), this.#children()].map((all) =>
      JSON.stringify(all.map((one) => storedNameOf(one.collection))),
    ) as [string, string]
    const { itemsOf } = this.#context.dialect
    return scannedRows(this.#context, {
      ...{ table, by: 'id', from: '', columns: recordColumns('sequence') },
      where: (bind) => {
        const own = `resource = ${bind(storedNameOf(collection))} AND item = ${bind(this.#key.id)}`
        const others = `resource IN (${itemsOf(bind(senders))}) OR (action = 'deleted' AND resource IN (${itemsOf(bind(children))}))`
        return `(${own}) OR ((${others}) AND ${mentions('payload', this.#key.id, bind)})`
      },
    })
  }

  *#foundRevisions({ table }: RecordTable): Steps<ResultRow[]> {
    const { collection } = this.#own
    const [account, parent] = [collection.account === null ? '' : this.#key.account, this.#key.parent]
    const columns = recordColumns('revision')
    const where = ['resource', 'account', 'parent', 'item'].map((name, i) => `${name} = ${this.#mark(i + 1)}`)
    const own = yield {
      text: `SELECT ${columns} FROM ${table} WHERE ${where.join(' AND ')}`,
      values: [storedNameOf(collection), account, collection.composite ? parent : '', this.#key.id],
    }
    const named = (bind: Bind) => mentions('payload', this.#key.id, bind)
    const moved = yield* this.#revisionsOf(this.#senders(), { columns, where: named })
    const removed = yield* this.#revisionsOf(this.#children(), {
      columns,
      where: (bind) => `action = 'deleted' AND ${named(bind)}`,
    })
    const all = [...own, ...moved, ...removed].map((row) => [`${row.id}`, row] as const)
    return [...new Map(all).values()]
  }

  /** The collections from which a version has moved fields to the collection of the row. */
  #senders(): readonly PreparedCollection[] {
    const { name } = this.#own.collection
    return this.#recorded().filter(({ collection }) => collection.conversions?.receivers.includes(name))
  }

  /** The collections whose rows a removal of the row removes too. */
  #children(): readonly PreparedCollection[] {
    const cascades = this.#own.collection.dependents.filter(({ onDelete }) => onDelete === 'cascade')
    return this.#recorded().filter(({ collection }) => cascades.some((one) => one.collection === collection.name))
  }

  #isOwn({ resource, account, parent, item }: ResultRow): boolean {
    const { collection } = this.#own
    const isBelow = !collection.composite || (parent ?? '') === (this.#key.parent ?? '')
    return resource === storedNameOf(collection) && item === this.#key.id && isBelow && this.#isOfAccount({ account })
  }

  #isOfAccount({ account }: ResultRow): boolean {
    return this.#own.collection.account === null || (account ?? '') === (this.#key.account ?? '')
  }

  /** Rewrites the records of the row itself in the current shape, the oldest first. */
  *#ownRecords(table: RecordTable, rows: readonly ResultRow[]): Steps<void> {
    const { fields } = this.#own.collection
    let before: unknown = null
    for (const row of rows) {
      const document = this.#documentOf({ row, of: this.#own })
      const personal = personalValues(fields, document)
      for (const { kind, value } of personal)
        if (kind === 'file' && value) this.contents.add((value as { readonly href: string }).href)
      const isChange = before !== null && !isSameJson(before, personal)
      before = personal
      const isShown = isChange && row.action === 'updated' && table.counts === 'revisions'
      const emptied = withoutPersonal(fields, document)
      yield* this.#rewrite(table, { row, of: this.#own }, emptied, isShown ? emptiedAction : row.action)
    }
  }

  /** Rewrites an older record of another row, if it has values that this row has now. */
  *#movedRecord(table: RecordTable, row: ResultRow): Steps<void> {
    const { name } = this.#own.collection
    const of = this.#senders().find(({ collection }) => storedNameOf(collection) === row.resource)
    const shape = Number(row.shape)
    if (!of || of.alike.has(shape) || !this.#isOfAccount(row)) return
    const document = JSON.parse(presentRecord(of, String(row.payload), shape)) as Members
    const moved = of.collection.movedValues?.(shape, document, true) ?? []
    if (!moved.some((one) => one.collection === name && one.id === this.#key.id)) return
    yield* this.#rewrite(table, { row, of }, this.#documentOf({ row, of }), row.action)
  }

  /** The document of a record in the current shape. */
  #documentOf({ row: { id, payload, shape }, of }: FoundRecord): Members {
    const kept = this.#further.get(String(id))?.rows.find((one) => one.of === null)
    const stored = kept ? { ...kept } : { doc: payload, shape, revision: 0 }
    return JSON.parse(viewRecord(of, stored).doc) as Members
  }

  /** Stores a record in the current shape, without the values that it kept for nodes of other declarations. */
  *#rewrite(table: RecordTable, { row, of }: FoundRecord, document: Members, action: unknown): Steps<void> {
    const id = String(row.id)
    this.events.add(id)
    const further = this.#further.get(id)
    if (further) further.rows = further.rows.filter((one) => one.of !== null)
    const payload = JSON.stringify(document)
    if (payload === row.payload && action === row.action) return
    if (payload !== row.payload) this.#emptied.add(id)
    const key = table.counts === 'events' ? ['id'] : ['resource', 'account', 'parent', 'item', 'number']
    const where = key.map((name, i) => `${name === 'number' ? 'revision' : name} = ${this.#mark(i + 4)}`)
    yield {
      text: `UPDATE ${table.table} SET shape = ${this.#mark(1)}, payload = ${this.#mark(2)}, action = ${this.#mark(3)} WHERE ${where.join(' AND ')}`,
      values: [of.shape, payload, action as string, ...key.map((name) => row[name] as string)],
    }
  }

  /** Empties the row in records of other rows that show its values to older versions, and stores all changed further rows. */
  *#shownRows({ rows }: RecordTable): Steps<void> {
    const name = storedNameOf(this.#own.collection)
    for (const [event, further] of this.#further) {
      const all = further.rows.map((one) => (one.of === name && one.id === this.#key.id ? this.#emptyRow(one) : one))
      if (all.some((one, i) => one !== further.rows[i])) this.events.add(event)
      const text = JSON.stringify(all)
      if (text === further.text) continue
      this.#emptied.add(event)
      const [first, second] = [this.#mark(1), this.#mark(2)]
      if (all.length === 0) yield { text: `DELETE FROM ${rows} WHERE event = ${first}`, values: [event] }
      else yield { text: `UPDATE ${rows} SET documents = ${first} WHERE event = ${second}`, values: [text, event] }
    }
  }

  #emptyRow(row: EventRow): EventRow {
    const { collection, shape } = this.#own
    const document = JSON.parse(viewRecord(this.#own, { ...row }).doc) as Members
    return { ...row, doc: JSON.stringify(withoutPersonal(collection.fields, document)), hidden: null, shape }
  }

  /** Records the deleted row of an event if it belonged to this row, as rows that a cascade removes do. */
  #noteRemoved(row: ResultRow): void {
    if (row.action !== 'deleted') return
    for (const { collection: name, onDelete, ids, pairs } of this.#own.collection.dependents) {
      const of = this.#context.collections.get(name)
      if (onDelete !== 'cascade' || !of || storedNameOf(of.collection) !== row.resource) continue
      if (!ids(this.#documentOf({ row, of })).includes(this.#key.id)) continue
      const key = keyOfRecord(row)
      if (pairs || of.collection.account === null || this.#isOfAccount(row))
        this.removed.set(JSON.stringify([name, key]), { collection: name, key })
    }
  }
}

const recordColumns = (number: string): string =>
  `id, resource, account, parent, item, action, ${number} AS number, shape, payload`

const keyOfRecord = ({ account, parent, item }: ResultRow): RowKey => ({
  account: (account as string | null) || null,
  parent: (parent as string | null) || null,
  id: String(item),
})
