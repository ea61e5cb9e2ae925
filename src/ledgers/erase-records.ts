/** Erase records: empties the personal fields of a row in events, revisions, kept answers and copies of dropped values. The cellar. */
import { type PreparedCollection, preparedCollection, type StoreContext, viewStoredRow } from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import { Problem } from '../errors/problem.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { ErasedRecords } from '../flow/outcome.ts'
import type { Read } from '../flow/plan.ts'
import { isSameJson, type Members, personalValues, storedNameOf, withoutPersonal } from '../rows/collection.ts'
import { deleteCopiesStatement } from './dropped-copies.ts'
import { emptyKeys, mentions } from './idempotency-claims.ts'
import { type EventRow, emptiedAction, recordTables } from './outbox.ts'

type RecordTable = (typeof recordTables)[number]

export function* eraseRecords(
  cellar: StoreContext,
  { collection, key }: Pick<Read, 'collection' | 'key'>,
): Steps<ErasedRecords> {
  if (cellar.backlog?.isOver === false || [...cellar.collections.values()].some(({ former }) => former !== null))
    throw new Problem(
      'maintenance',
      'A change of the database is not finished: nodes of the former declaration may still write. Nothing was erased. Finish it with `bylaw migrate apply`, and try again.',
    )
  const erasure = new Erasure(cellar, preparedCollection(cellar, collection), key)
  const emptied = { events: 0, revisions: 0, 'idempotency keys': 0, 'dropped values': 0 }
  for (const table of yield* presentTables(cellar)) emptied[table.counts] = yield* erasure.recordsIn(table)
  emptied['idempotency keys'] = yield* emptyKeys(cellar, collection, key.id)
  emptied['dropped values'] = yield* erasure.copies()
  const { events, contents, removed } = erasure
  return { is: 'erased', emptied, events: [...events], contents: [...contents], removed: [...removed.values()] }
}

/** A service without events or history has no tables of them, unless it once had either. */
function* presentTables({ dialect: { name, itemsOf, mark } }: StoreContext): Steps<readonly RecordTable[]> {
  const names = itemsOf(mark(1))
  const text =
    name === 'sqlite'
      ? `SELECT name FROM sqlite_schema WHERE name IN (${names})`
      : `SELECT name FROM (${names}) AS names (name) WHERE to_regclass(name) IS NOT NULL`
  const found = yield { text, values: [JSON.stringify(recordTables.map(({ table }) => table))] }
  return recordTables.filter(({ table }) => found.some((row) => row.name === table))
}

/** The further rows of a record, also as the database has them. */
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
  readonly #cellar: StoreContext
  readonly #own: PreparedCollection
  readonly #key: RowKey
  /** The further rows that name the row, by the id of the record. */
  #further = new Map<string, FurtherRows>()
  /** The ids of the records of a table that have changed. */
  #emptied = new Set<string>()
  readonly events = new Set<string>()
  readonly contents = new Set<string>()
  readonly removed = new Map<string, ErasedRecords['removed'][number]>()

  constructor(cellar: StoreContext, own: PreparedCollection, key: RowKey) {
    this.#cellar = cellar
    this.#own = own
    this.#key = key
  }

  /** Returns how many records were emptied. */
  *recordsIn(table: RecordTable): Steps<number> {
    this.#emptied = new Set()
    this.#further = yield* this.#furtherRows(table)
    yield* this.#ownRecords(table)
    yield* this.#movedRecords(table)
    yield* this.#shownRows(table)
    yield* this.#findRemoved(table)
    return this.#emptied.size
  }

  /** Deletes all copies of dropped values, as nobody knows which of those fields were personal. */
  *copies(): Steps<number> {
    const { dialect, dropped } = this.#cellar
    if (!dropped) return 0
    const { text, values } = deleteCopiesStatement(this.#own.collection, this.#key, null, dialect)
    return (yield { text: `${text} RETURNING field`, values }).length
  }

  #mark(n: number): string {
    return this.#cellar.dialect.mark(n)
  }

  *#furtherRows({ table, rows }: RecordTable): Steps<Map<string, FurtherRows>> {
    const { text, values } = mentions('documents', this.#key.id, this.#mark(1))
    const found = yield {
      text: `SELECT event, own.account, documents FROM ${rows} JOIN ${table} AS own ON own.id = event WHERE ${text}`,
      values,
    }
    return new Map(
      found
        .filter((row) => this.#isOfAccount(row))
        .map(({ event, documents }) => [
          String(event),
          { text: String(documents), rows: JSON.parse(String(documents)) as EventRow[] },
        ]),
    )
  }

  #isOfAccount({ account }: ResultRow): boolean {
    return this.#own.collection.account === null || (account ?? '') === (this.#key.account ?? '')
  }

  /** Rewrites the records of the row itself, in the present form. */
  *#ownRecords(table: RecordTable): Steps<void> {
    const { collection } = this.#own
    const [account, parent] = [collection.account === null ? '' : this.#key.account, this.#key.parent]
    const column = (name: string) => (table.counts === 'revisions' ? name : `coalesce(${name}, '')`)
    const found = yield {
      text: `${selectRecords(table)} WHERE resource = ${this.#mark(1)} AND ${column('account')} = ${this.#mark(2)} AND ${column('parent')} = ${this.#mark(3)} AND item = ${this.#mark(4)} ORDER BY number`,
      values: [storedNameOf(collection), account, collection.composite ? parent : '', this.#key.id],
    }
    let before: unknown = null
    for (const row of found) {
      const document = this.#documentOf({ row, of: this.#own })
      const personal = personalValues(collection.fields, document)
      for (const { kind, value } of personal)
        if (kind === 'file' && value) this.contents.add((value as { readonly href: string }).href)
      const isChange = before !== null && !isSameJson(before, personal)
      before = personal
      const action = isChange && row.action === 'updated' ? emptiedAction : row.action
      const made = withoutPersonal(collection.fields, document)
      yield* this.#rewrite(table, { row, of: this.#own }, made, table.counts === 'revisions' ? action : row.action)
    }
  }

  /** Rewrites older records of other rows, with values that this row has now. */
  *#movedRecords(table: RecordTable): Steps<void> {
    const { name } = this.#own.collection
    for (const of of this.#cellar.collections.values()) {
      const { collection, alike } = of
      if (!collection.conversions?.receivers.includes(name)) continue
      const { text, values } = mentions('payload', this.#key.id, this.#mark(2))
      const found = yield {
        text: `${selectRecords(table)} WHERE resource = ${this.#mark(1)} AND ${text}`,
        values: [storedNameOf(collection), ...values],
      }
      for (const row of found) {
        if (alike.has(Number(row.shape)) || !this.#isOfAccount(row)) continue
        const moved = collection.movedValues?.(Number(row.shape), JSON.parse(String(row.payload)) as Members) ?? []
        if (!moved.some((one) => one.collection === name && one.id === this.#key.id)) continue
        yield* this.#rewrite(table, { row, of }, this.#documentOf({ row, of }), row.action)
      }
    }
  }

  /** The document of a record in the present form. */
  #documentOf({ row: { id, payload, shape }, of }: FoundRecord): Members {
    const kept = this.#further.get(String(id))?.rows.find((one) => one.of === null)
    const stored = kept ? { ...kept } : { doc: payload, shape, revision: 0 }
    return JSON.parse(viewStoredRow(of, stored).doc) as Members
  }

  /** Stores a record in the present form, without what it kept for nodes of other declarations. */
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

  /** Empties the row where records of others show values of it to older versions, and stores all further rows that have changed. */
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
    const document = JSON.parse(viewStoredRow(this.#own, { ...row }).doc) as Members
    return { ...row, doc: JSON.stringify(withoutPersonal(collection.fields, document)), hidden: null, shape }
  }

  /** Finds the removed rows that belonged to the row when they were removed, as a cascade removes them. */
  *#findRemoved(table: RecordTable): Steps<void> {
    for (const { collection: name, onDelete, ids, pairs } of this.#own.collection.dependents) {
      const of = this.#cellar.collections.get(name)
      if (onDelete !== 'cascade' || !of) continue
      const { text, values } = mentions('payload', this.#key.id, this.#mark(2))
      const found = yield {
        text: `${selectRecords(table)} WHERE resource = ${this.#mark(1)} AND action = 'deleted' AND ${text}`,
        values: [storedNameOf(of.collection), ...values],
      }
      for (const row of found) {
        if (!ids(this.#documentOf({ row, of })).includes(this.#key.id)) continue
        const key = keyOfRecord(row)
        if (pairs || of.collection.account === null || this.#isOfAccount(row))
          this.removed.set(JSON.stringify([name, key]), { collection: name, key })
      }
    }
  }
}

const selectRecords = ({ table, counts }: RecordTable): string =>
  `SELECT id, resource, account, parent, item, action, ${counts === 'revisions' ? 'revision' : 'sequence'} AS number, shape, payload FROM ${table}`

const keyOfRecord = ({ account, parent, item }: ResultRow): RowKey => ({
  account: (account as string | null) || null,
  parent: (parent as string | null) || null,
  id: String(item),
})
