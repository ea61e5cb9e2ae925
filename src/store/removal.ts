/** Removes a row with all that goes with it, or says what stands against it, and remembers that it was there. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import type { Absent, Key, List, Remove, Whose } from '../flow/plan.ts'
import { brought, type Collection, type Dependent, keyColumns, type Stored } from '../resources/collection.ts'
import { type Answer, type Cellar, moved, type Shelf, type Steps, shelf } from './cellar.ts'
import { keyValues, tombstoneId, tombstones } from './compile.ts'
import { quoted } from './dialect.ts'

/** A row that is to go. */
interface Doomed {
  readonly collection: Collection
  readonly key: Key
  readonly revision: number
}

/** Nothing is deleted before all that depends on it is known, as a refusal must leave everything in place. R138. */
export function* remove(cellar: Cellar, { collection, key, revision, time }: Remove): Steps<Outcome> {
  const first: Doomed = { collection: shelf(cellar, collection).collection, key, revision }
  const going = new Map([[nameOf(first), first]])
  for (const row of going.values()) {
    if (cellar.dialect.holds) yield* hold(cellar, row)
    for (const dependent of dependents(row, 'cascade'))
      for (const below of yield* referring(cellar, row, dependent, Number.MAX_SAFE_INTEGER))
        if (!going.has(nameOf(below))) going.set(nameOf(below), below)
  }
  for (const row of going.values()) {
    for (const dependent of dependents(row, 'restrict')) {
      const rows = yield* referring(cellar, row, dependent, going.size + 1) // one more than can be going themselves
      if (rows.some((below) => !going.has(nameOf(below)))) return { is: 'used', collection: dependent.collection }
    }
  }
  for (const row of going.values()) {
    const [gone] = yield {
      text: shelf(cellar, row.collection.name).texts.remove,
      values: [...keyValues(row.collection, row.key), row.revision],
    }
    if (!gone) throw moved(row.collection.name)
    yield* bury(cellar, row.collection, row.key, { revision: row.revision, time })
  }
  for (const one of new Set([...going.values()].map((row) => row.collection))) yield* sweep(cellar, one, time)
  return { is: 'removed' }
}

/** From here on nothing new can refer to the row. */
function* hold(cellar: Cellar, { collection, key, revision }: Doomed): Steps<void> {
  const { texts } = shelf(cellar, collection.name)
  const [row] = yield { text: texts.still, values: [...keyValues(collection, key), revision] }
  if (!row) throw moved(collection.name)
}

const nameOf = ({ collection, key }: Doomed): string => `${collection.name}/${tombstoneId(collection, key)}`

const dependents = ({ collection }: Doomed, rule: Dependent['onDelete']): Dependent[] =>
  collection.dependents.filter(({ onDelete }) => onDelete === rule)

/** The rows that refer to a row. */
function* referring(cellar: Cellar, row: Doomed, dependent: Dependent, most: number): Steps<Doomed[]> {
  const { collection, shape } = shelf(cellar, dependent.collection)
  const { mark } = cellar.dialect
  if (dependent.column === null) return yield* listing(cellar, { collection, shape }, row, dependent, most)
  const whose = sharedAccount(row, collection)
  const also = whose.length > 0 ? ` AND account = ${mark(3)}` : ''
  const where = `WHERE ${quoted(dependent.column)} = ${mark(1)}${also} LIMIT ${mark(2)}`
  const rows = yield { text: `${selected(collection, 'revision')} ${where}`, values: [row.key.id, most, ...whose] }
  return rows.map((one) => doomed(collection, one))
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
  const [row] = yield { text: texts[how], values: keyValues(collection, key) }
  return row ? null : yield* departed(cellar, collection, key, time)
}

const mostNamed = 10

/** The accounts that have a row of a key, but not all of very many. */
export function* whose(cellar: Cellar, { collection: name, key }: Whose): Steps<Outcome> {
  const { collection } = shelf(cellar, name)
  const names = keyColumns(collection).filter((one) => one !== 'account')
  const where = names.map((one, i) => `${one} = ${cellar.dialect.mark(i + 1)}`).join(' AND ')
  const text = `SELECT account FROM ${quoted(collection.table)} WHERE ${where} ORDER BY account LIMIT ${mostNamed}`
  const rows = collection.account === null ? [] : yield { text, values: names.map((one) => key[one as 'id']) }
  return { is: 'whose', accounts: rows.map(({ account }) => account as string) }
}

/** What is known of a row that is not there. One whose deletion is no longer remembered was never there. R134. */
export function* departed({ dialect }: Cellar, collection: Collection, key: Key, now: number): Steps<Absent> {
  const text = `SELECT time, revision FROM ${tombstones} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}`
  const [stone] = yield { text, values: [collection.name, tombstoneId(collection, key)] }
  const { name, retention } = collection
  const gone = stone !== undefined && (retention === null || now < Number(stone.time) + retention)
  return { is: gone ? 'gone' : 'missing', collection: name, id: key.id, revision: Number(stone?.revision ?? 0) }
}

function* bury(
  { dialect: { mark } }: Cellar,
  collection: Collection,
  key: Key,
  { revision, time }: { readonly revision: number; readonly time: number },
): Steps<void> {
  const marks = [1, 2, 3, 4, 5].map(mark).join(', ')
  const text = `INSERT INTO ${tombstones} (collection, id, time, revision, owner) VALUES (${marks})`
  const whose = collection.account === null ? null : key.account
  yield { text, values: [collection.name, tombstoneId(collection, key), time, revision, whose] }
}

/** Takes the tombstone of a row that is made again. */
export function* exhume({ dialect }: Cellar, collection: Collection, key: Key): Steps<void> {
  const text = `DELETE FROM ${tombstones} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}`
  yield { text, values: [collection.name, tombstoneId(collection, key)] }
}

const mostSwept = 10

/** Takes some tombstones that are no longer needed: more than one deletion adds, so that they cannot pile up. R134. */
function* sweep({ dialect: { mark } }: Cellar, { name, retention }: Collection, now: number): Steps<void> {
  if (retention === null) return
  const old = `SELECT id FROM ${tombstones} WHERE collection = ${mark(1)} AND time <= ${mark(2)} ORDER BY time LIMIT ${mark(3)}`
  const text = `DELETE FROM ${tombstones} WHERE collection = ${mark(1)} AND id IN (${old})`
  yield { text, values: [name, now - retention, mostSwept] }
}
