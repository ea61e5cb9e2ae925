/** Dropped copies: values of fields no longer declared, kept for a while with their account and rights. The store. */

import type { StoreContext } from '../catalog/context.ts'
import type { Steps } from '../catalog/steps.ts'
import type { RowKey } from '../flow/found-row.ts'
import { type Collection, type DocumentTexts, storedNameOf } from '../rows/collection.ts'
import {
  type Dialect,
  equations,
  quoted,
  rowKeyColumns,
  rowKeyValues,
  rowShardKey,
  shardCondition,
} from '../sql/dialect.ts'
import { fieldSources } from '../sql/field-sources.ts'
import type { Statement } from '../sql/statements.ts'

const copyTable = 'bylaw_dropped'
const copyKey = ['collection', 'holder', 'field']

/** Identifies a row in a shared table. */
export const holderOf = ({ account, parent, id }: Pick<RowKey, 'account' | 'parent' | 'id'>): string =>
  JSON.stringify([account, parent, id])

/** The statements that create the table, which is created when a value is dropped for the first time. */
export function copyTableStatements(dialect: Dialect): readonly string[] {
  const [text, integer] = [dialect.type('text'), dialect.type('integer')]
  const [home, homeKey] = dialect.distribute ? ['home integer NOT NULL, ', 'home, '] : ['', '']
  const names = ['collection', 'holder', 'field', 'kind', 'value', 'rights', 'rest']
  const columns = [...names.map((name) => `${name} ${text} NOT NULL`), `account ${text}`]
  const numbers = ['written', 'time'].map((name) => `${name} ${integer} NOT NULL`)
  const key = `PRIMARY KEY (${homeKey}collection, holder, field)`
  return [
    `CREATE TABLE IF NOT EXISTS ${copyTable} (${home}${[...columns, ...numbers, key].join(', ')})${dialect.tableOptions}`,
    ...(dialect.distribute?.(copyTable) ?? []),
    `CREATE INDEX IF NOT EXISTS ${copyTable}_time ON ${copyTable} (time)`,
  ]
}

/** Finds out whether the table exists. */
export const findCopyTable = ({ name }: Dialect): Statement =>
  name === 'sqlite'
    ? { text: `SELECT 1 AS found FROM sqlite_schema WHERE name = ?1`, values: [copyTable] }
    : { text: 'SELECT 1 AS found WHERE to_regclass($1) IS NOT NULL', values: [copyTable] }

/** A value that is about to be dropped. */
export interface DroppedCopy {
  readonly key: RowKey
  readonly field: string
  readonly kind: string
  readonly value: unknown
  /** The scopes that reading and writing it needed, as JSON. */
  readonly rights: string
  /**
   * The list around the value, without the value: it is restored only if the list is still the same; empty outside lists. If
   * a fill replaced the value: an equals sign, then the value of the fill or the list around it.
   */
  readonly rest: string
  /** When it was dropped; null for the current time of the database. */
  readonly time: number | null
}

/**
 * Copies a value in the transaction that drops it. It selects from the row, so that nothing is copied if another transaction
 * has deleted the row.
 */
export function copyStatement(collection: Collection, shape: number, copy: DroppedCopy, dialect: Dialect): Statement {
  const { key, field, kind, value, rights, rest, time } = copy
  const texts = [storedNameOf(collection), holderOf(key), field, kind, JSON.stringify(value), rights, rest, key.account]
  const home = dialect.distribute ? ['home'] : []
  const names = ['collection', 'holder', 'field', 'kind', 'value', 'rights', 'rest', 'account', 'written', 'time']
  const values = [
    ...texts.map((_, i) => `CAST(${dialect.mark(i + 1)} AS ${textType(dialect)})`),
    '0',
    time === null ? dialect.now : String(Math.trunc(time)),
  ]
  const keys = [...rowKeyColumns(collection, dialect), 'shape']
  const where = equations(keys, dialect, texts.length + 1).join(' AND ')
  // A fill that replaces a former fill keeps the value that a client wrote.
  const isKept = `excluded.rest LIKE '=%' AND ${copyTable}.rest LIKE '=%' AND ${copyTable}.written = 0`
  const older = ['kind', 'value', 'rights', 'written'].map(
    (name) => `${name} = CASE WHEN ${isKept} THEN ${copyTable}.${name} ELSE excluded.${name} END`,
  )
  const again = [...older, 'rest = excluded.rest', 'time = excluded.time']
  return {
    text: `INSERT INTO ${copyTable} (${[...home, ...names].join(', ')}) SELECT ${[...home, ...values].join(', ')}
      FROM ${quoted(collection.table)} WHERE ${where}
      ON CONFLICT (${[...home, ...copyKey].join(', ')}) DO UPDATE SET ${again.join(', ')}`,
    values: [...texts, ...rowKeyValues(collection, key, dialect), shape],
  }
}

const textType = ({ name }: Dialect): string => (name === 'sqlite' ? 'TEXT' : 'text')

/** The copies of a row or, with a field, the one copy of that field. */
function copiesCondition(collection: Collection, key: RowKey, field: string | null, dialect: Dialect): Statement {
  const of = [storedNameOf(collection), holderOf(key), ...(field === null ? [] : [field])]
  const at = shardCondition(rowShardKey(collection, key), of.length + 1, dialect)
  const where = equations(copyKey.slice(0, of.length), dialect).join(' AND ')
  return { text: ` WHERE ${where}${at.text}`, values: [...of, ...at.values] }
}

/** Deletes the copies of a row that is deleted, or the copy of a value that was restored. */
export function deleteCopiesStatement(
  collection: Collection,
  key: RowKey,
  field: string | null,
  dialect: Dialect,
): Statement {
  const { text, values } = copiesCondition(collection, key, field, dialect)
  return { text: `DELETE FROM ${copyTable}${text}`, values }
}

/** Finds a copy of a file with a content. */
export const findCopyOf = (content: string, { mark }: Dialect): Statement => ({
  text: `SELECT 1 AS found FROM ${copyTable} WHERE kind = 'file' AND value LIKE ${mark(1)} LIMIT 1`,
  values: [`%"${content}"%`],
})

/** Deletes the copies whose retention is over, by a given time or by the clock of the database. */
export function* expireCopies({ now, mark }: Dialect, retention: number, due: number | null): Steps<void> {
  const text = `DELETE FROM ${copyTable} WHERE time <= `
  if (due !== null) yield { text: text + mark(1), values: [due - retention] }
  else yield { text: `${text}${now} - CAST(${mark(1)} AS bigint)`, values: [retention] }
}

/** The fields that have copies, by the stored name of their collection. */
export function* readCopiedFields(): Steps<ReadonlyMap<string, readonly string[]>> {
  const rows = yield { text: `SELECT DISTINCT collection, field FROM ${copyTable}`, values: [] }
  const fields = new Map<string, string[]>()
  for (const { collection, field } of rows)
    fields.set(collection as string, [...(fields.get(collection as string) ?? []), field as string])
  return fields
}

/** A declared field that a dropped value would be restored to, unless the field is written first. */
export interface WatchedField {
  readonly field: string
  /** The current path of the field. */
  readonly path: string
}

/** The watched fields of each collection. Nobody can write to the other fields, as they are not declared. */
export function watchedFields(
  collections: Iterable<Collection>,
  copies: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, readonly WatchedField[]> {
  return new Map(
    [...collections].map((one) => {
      const fields = copies.get(storedNameOf(one)) ?? []
      const all = fieldSources(one.fields, Object.fromEntries(fields.map((field) => [field, ''])))
      return [one.name, all.flatMap(({ path, from }) => (from === null ? [] : [{ field: from, path }]))]
    }),
  )
}

/**
 * Marks the copies of fields that an update changes, so that their values are not restored over newer ones. In a list any
 * change counts, as its items are identified only by position.
 */
export function* markWrittenFields(
  { dialect, dropped: watched }: Pick<StoreContext, 'dialect' | 'dropped'>,
  collection: Collection,
  key: RowKey,
  [before, now]: readonly [DocumentTexts, DocumentTexts],
): Steps<void> {
  const fields = watched?.get(collection.name) ?? []
  if (fields.length === 0) return
  const [was, is] = [documentOf(before), documentOf(now)]
  for (const { field, path } of fields) {
    const at = path.replace(/\.\*.*$/, '')
    if (JSON.stringify(valueAt(was, at)) === JSON.stringify(valueAt(is, at))) continue
    const { text, values } = copiesCondition(collection, key, field, dialect)
    yield { text: `UPDATE ${copyTable} SET written = 1${text}`, values }
  }
}

const documentOf = ({ doc, hidden }: DocumentTexts): object => ({ ...JSON.parse(hidden ?? '{}'), ...JSON.parse(doc) })

/** The value at a path; for a path with `*`, the list of the values of all items; undefined if there is no value. */
export function valueAt(value: unknown, path: string): unknown {
  return valueWithin(value, path.split('.'))
}

function valueWithin(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return isEmptyValue(value) ? undefined : value
  if (name !== '*') return isRecord(value) ? valueWithin(value[name], rest) : undefined
  if (!Array.isArray(value)) return undefined
  const all = value.map((one) => valueWithin(one, rest) ?? null)
  return all.every((one) => one === null) ? undefined : all
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Null, and the empty list or metadata that is stored for a missing value. */
const isEmptyValue = (value: unknown): boolean =>
  value == null || (typeof value === 'object' && Object.keys(value).length === 0)

/** A copy as it is stored. */
export interface StoredCopy extends Omit<DroppedCopy, 'key' | 'value' | 'time'> {
  readonly called: string
  readonly holder: string
  /** JSON. */
  readonly value: string
  readonly written: boolean
}

const batchSize = 200

/** The next copies after a given one, in order, so that those of one row are adjacent. */
export function* readCopiesAfter({ mark }: Dialect, after: readonly string[]): Steps<StoredCopy[]> {
  const key = copyKey.join(', ')
  const text = `SELECT ${key}, kind, value, rights, rest, written FROM ${copyTable}
    WHERE (${key}) > (${[1, 2, 3].map(mark).join(', ')}) ORDER BY ${key} LIMIT ${batchSize}`
  const rows = yield { text, values: after }
  return rows.map(
    ({ collection, written, ...row }) => ({ ...row, called: collection, written: Number(written) > 0 }) as StoredCopy,
  )
}
