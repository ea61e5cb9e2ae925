/** Removes a row with all that goes with it, or says what stands against it, and remembers that it was there. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import type { Absent, Key, List, Remove, Whose } from '../flow/plan.ts'
import { brought, type Collection, type Dependent, keyColumns, type Stored } from '../resources/collection.ts'
import { type Answer, type Cellar, moved, type Shelf, type Steps, shelf } from './cellar.ts'
import { dueAt } from './claim.ts'
import { tombstoneId, tombstones } from './compile.ts'
import { atHome, keyValues, newRow, quoted, rowHome } from './dialect.ts'
import { withoutCopies } from './dropped.ts'
import { forget, isBeside, remark, toldOf } from './spread.ts'

/** A row that is to go. */
interface Doomed {
  readonly collection: Collection
  readonly key: Key
  readonly revision: number
}

/** Nothing is deleted before all that depends on it is known, as a refusal must leave everything in place. R138. */
export function* remove(cellar: Cellar, { collection, key, revision, time, takes }: Remove): Steps<Outcome> {
  const first: Doomed = { collection: shelf(cellar, collection).collection, key, revision }
  const going = new Map([[nameOf(first), first]])
  for (const row of going.values()) {
    if (cellar.dialect.holds) yield* hold(cellar, row)
    for (const dependent of dependents(row, 'cascade'))
      for (const below of yield* referring(cellar, row, dependent, { most: Number.MAX_SAFE_INTEGER, time })) {
        const { name, account } = below.collection
        if (!takes.has(name)) return { is: 'withheld', collection: name }
        if (account !== null && below.key.account !== key.account) return { is: 'used', collection: name } // R170
        if (!going.has(nameOf(below))) going.set(nameOf(below), below)
      }
  }
  for (const row of going.values()) {
    for (const dependent of dependents(row, 'restrict')) {
      const rows = yield* referring(cellar, row, dependent, { most: going.size + 1, time }) // one more than can be going themselves
      if (rows.some((below) => !going.has(nameOf(below)))) return { is: 'used', collection: dependent.collection }
    }
  }
  for (const row of going.values()) {
    const own = shelf(cellar, row.collection.name)
    const values = [...keyValues(row.collection, row.key, cellar.dialect), row.revision]
    const [gone] = yield { text: own.texts.remove, values }
    if (!gone) throw moved(row.collection.name)
    if (cellar.dialect.spread) yield* remark(cellar, own, { key: row.key, time }, storedIn(gone), null)
    if (cellar.dropped) yield withoutCopies(row.collection, row.key, cellar.dialect)
    yield* forget(cellar, row.collection, row.key)
    yield* bury(cellar, row.collection, row.key, { revision: row.revision, time })
  }
  for (const row of swept(cellar, [...going.values()])) yield* sweep(cellar, row, time)
  return { is: 'removed' }
}

/** From here on nothing new can refer to the row. */
function* hold(cellar: Cellar, { collection, key, revision }: Doomed): Steps<void> {
  const { texts } = shelf(cellar, collection.name)
  const [row] = yield { text: texts.still, values: [...keyValues(collection, key, cellar.dialect), revision] }
  if (!row) throw moved(collection.name)
}

const nameOf = ({ collection, key }: Doomed): string => `${collection.name}/${tombstoneId(collection, key)}`

const dependents = ({ collection }: Doomed, rule: Dependent['onDelete']): Dependent[] =>
  collection.dependents.filter(({ onDelete }) => onDelete === rule)

interface Look {
  /** As many rows are enough. */
  readonly most: number
  readonly time: number
}

/** The rows that refer to a row. */
function* referring(cellar: Cellar, row: Doomed, dependent: Dependent, { most, time }: Look): Steps<Doomed[]> {
  const { collection, shape } = shelf(cellar, dependent.collection)
  const { mark, spread } = cellar.dialect
  if (spread && !isBeside(dependent)) return yield* elsewhere(cellar, row, dependent, { most, time })
  if (dependent.column === null) return yield* listing(cellar, { collection, shape }, row, dependent, most)
  const whose = sharedAccount(row, collection)
  const also = whose.length > 0 ? ` AND account = ${mark(3)}` : ''
  const at = atHome(rowHome(collection, { id: '', parent: row.key.id }), 3 + whose.length, cellar.dialect)
  const where = `WHERE ${quoted(dependent.column)} = ${mark(1)}${also}${at.text} LIMIT ${mark(2)}`
  const values = [row.key.id, most, ...whose, ...at.values]
  const rows = yield { text: `${selected(collection, 'revision')} ${where}`, values }
  return rows.map((one) => doomed(collection, one))
}

/** Where rows are spread, those that refer to a row have said so beside it: whoever locks it sees what others have written before. */
function* elsewhere(cellar: Cellar, row: Doomed, dependent: Dependent, { most, time }: Look): Steps<Doomed[]> {
  const own = shelf(cellar, dependent.collection)
  const rows: Doomed[] = []
  for (const { key, old } of yield* toldOf(cellar, row.collection, { key: row.key, time }, dependent.collection)) {
    const [there] = yield { text: own.texts.read, values: keyValues(own.collection, key, cellar.dialect) }
    if (!there) {
      // On its way: its part of a commit is behind that of what it refers to.
      const gone = old || (yield* departed(cellar, own.collection, key, time)).revision > 0
      if (!gone) throw moved(dependent.collection)
    } else if (dependent.ids(brought(own.collection, own.shape, storedIn(there)).document).includes(row.key.id))
      rows.push({ collection: own.collection, key, revision: Number(there.revision) })
    if (rows.length >= most) break
  }
  return rows
}

/** The account of both, where rows of both belong to accounts: another account's row of the same id is another row. */
const sharedAccount = ({ collection, key }: Doomed, { account }: Collection): readonly (string | null)[] =>
  collection.account === null || account === null ? [] : [key.account]

const slice = 1000

/** The rows that have an id in a list, which no column holds: documents with its text are read, a slice at a time. */
function* listing(
  cellar: Cellar,
  { collection, shape }: Pick<Shelf, 'collection' | 'shape'>,
  row: Doomed,
  { ids }: Dependent,
  most: number,
): Steps<Doomed[]> {
  const { like, mark, pattern } = cellar.dialect
  const { id } = row.key
  const whose = sharedAccount(row, collection)
  const also = whose.length > 0 ? ` AND account = ${mark(4)}` : ''
  const within = `(${like('doc', mark(1))} OR ${like('hidden', mark(1))})${also}`
  const order = keyColumns(collection).join(', ')
  const text = `${selected(collection, 'revision, shape, doc, hidden')} WHERE ${within} ORDER BY ${order} LIMIT ${mark(2)} OFFSET ${mark(3)}`
  const found: Doomed[] = []
  for (let offset = 0; ; offset += slice) {
    const rows = yield { text, values: [pattern(['', JSON.stringify(id), '']), slice, offset, ...whose] }
    found.push(
      ...rows
        .filter((row) => ids(brought(collection, shape, storedIn(row)).document).includes(id))
        .map((row) => doomed(collection, row)),
    )
    if (rows.length < slice || found.length >= most) return found
  }
}

const storedIn = (row: Answer): Stored => ({
  doc: row.doc as string,
  hidden: row.hidden as string | null,
  shape: Number(row.shape),
})

const selected = (collection: Collection, columns: string): string =>
  `SELECT ${keyColumns(collection).join(', ')}, ${columns} FROM ${quoted(collection.table)}`

const doomed = (collection: Collection, { account = null, parent = null, id, revision }: Answer): Doomed => ({
  collection,
  key: { id: id as string, parent: parent as string | null, account: account as string | null },
  revision: Number(revision),
})

/** The owner that a key goes below. */
export const parentOf = ({ parent }: Collection, key: Key): NonNullable<List['parent']> => ({
  collection: parent?.collection as string,
  id: key.parent as string,
})

/** The owner, if it is not there; null where it is, and is kept where something is to be written below it. */
export function* absentOwner(
  cellar: Cellar,
  { collection: name, id }: NonNullable<List['parent']>,
  account: string | null,
  time: number,
  how: 'exists' | 'kept' = 'exists',
): Steps<Absent | null> {
  const { collection, texts } = shelf(cellar, name)
  const key = { id, parent: null, account }
  const [row] = yield { text: texts[how], values: keyValues(collection, key, cellar.dialect) }
  return row ? null : yield* departed(cellar, collection, key, time)
}

const mostNamed = 10

/** The accounts that have a row of a key, but not all of very many. */
export function* whose(cellar: Cellar, { collection: name, key }: Whose): Steps<Outcome> {
  const { collection } = shelf(cellar, name)
  const { dialect } = cellar
  const names = keyColumns(collection).filter((one) => one !== 'account')
  const at = atHome(rowHome(collection, key), names.length + 1, dialect)
  const where = names.map((one, i) => `${one} = ${dialect.mark(i + 1)}`).join(' AND ') + at.text
  const text = `SELECT account FROM ${quoted(collection.table)} WHERE ${where} ORDER BY account LIMIT ${mostNamed}`
  const rows =
    collection.account === null ? [] : yield { text, values: [...names.map((one) => key[one as 'id']), ...at.values] }
  return { is: 'whose', accounts: rows.map(({ account }) => account as string) }
}

const calledAs = ({ called, name }: Collection): string => called ?? name

/** What is known of a row that is not there. One whose deletion is no longer remembered was never there. R134. */
export function* departed(cellar: Cellar, collection: Collection, key: Key, now: number): Steps<Absent> {
  const { dialect } = cellar
  const at = atHome(rowHome(collection, key), 3, dialect)
  const text = `SELECT time, revision FROM ${tombstones} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}${at.text}`
  const [stone] = yield { text, values: [calledAs(collection), tombstoneId(collection, key), ...at.values] }
  const { name, retention } = collection
  const gone = stone !== undefined && (retention === null || dueAt(cellar, now) < Number(stone.time) + retention)
  return { is: gone ? 'gone' : 'missing', collection: name, id: key.id, revision: Number(stone?.revision ?? 0) }
}

function* bury(
  { dialect }: Cellar,
  collection: Collection,
  key: Key,
  { revision, time }: { readonly revision: number; readonly time: number },
): Steps<void> {
  const owner = collection.account === null ? null : key.account
  const stone = { collection: calledAs(collection), id: tombstoneId(collection, key), time, revision, owner }
  yield newRow(tombstones, stone, rowHome(collection, key), dialect)
}

/** Takes the tombstone of a row that is made again. */
export function* exhume({ dialect }: Cellar, collection: Collection, key: Key): Steps<void> {
  const at = atHome(rowHome(collection, key), 3, dialect)
  const text = `DELETE FROM ${tombstones} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}${at.text}`
  yield { text, values: [calledAs(collection), tombstoneId(collection, key), ...at.values] }
}

/** One of each collection, and of each home where rows are spread. */
function swept({ dialect: { spread } }: Cellar, rows: readonly Doomed[]): Iterable<Doomed> {
  const place = ({ collection, key }: Doomed) => `${collection.name} ${spread ? rowHome(collection, key) : ''}`
  return new Map(rows.map((row) => [place(row), row])).values()
}

const mostSwept = 10

/** Takes some tombstones that are no longer needed: more than one deletion adds, so that they cannot pile up. R134. */
function* sweep(cellar: Cellar, { collection, key }: Doomed, now: number): Steps<void> {
  const { dialect } = cellar
  const { retention } = collection
  if (retention === null) return
  const { mark } = dialect
  const at = atHome(rowHome(collection, key), 4, dialect)
  const old = `SELECT id FROM ${tombstones} WHERE collection = ${mark(1)} AND time <= ${mark(2)}${at.text} ORDER BY time LIMIT ${mark(3)}`
  const text = `DELETE FROM ${tombstones} WHERE collection = ${mark(1)} AND id IN (${old})${at.text}`
  yield { text, values: [calledAs(collection), dueAt(cellar, now) - retention, mostSwept, ...at.values] }
}
