/** Shared tables: the tables that all collections share, the shard keys of sharded databases, and the secret of a store. The store. */

import type { Steps } from '../catalog/steps.ts'
import type { Table, TableColumn } from '../flow/table.ts'
import type { World } from '../flow/world.ts'
import { claimTable } from '../ledgers/idempotency-claims.ts'
import { type Dialect, literal } from '../sql/dialect.ts'
import type { TableLayout } from '../sql/layout.ts'
import {
  leaseTable,
  linkTable,
  metaTable,
  nodeTable,
  planTable,
  reservationTable,
  tombstoneTable,
} from '../sql/statements.ts'

/** For dialects whose steps may run twice. */
export const ifNotExists = ({ online }: Dialect): string => (online ? 'IF NOT EXISTS ' : '')

export const ifExists = ({ online }: Dialect): string => (online ? 'IF EXISTS ' : '')

/** The tables that the store itself needs; those of conventions are passed in. */
const storeTables: readonly Table[] = [
  { name: metaTable, columns: { name: 'text', value: 'text' }, key: ['name'] },
  {
    name: tombstoneTable,
    columns: { collection: 'text?', id: 'text?', time: 'integer', revision: 'integer', owner: 'text?' },
    key: ['collection', 'id'],
    shardKey: 'id',
    indexes: [{ name: 'time', columns: ['collection', 'time'] }],
  },
  claimTable,
  { name: nodeTable, columns: { node: 'text', name: 'text', seen: 'integer' }, key: ['node'] },
  {
    name: planTable,
    columns: { number: 'integer', name: 'text', checksum: 'text', time: 'integer' },
    key: ['number'],
  },
  {
    name: leaseTable,
    columns: { name: 'text', holder: 'text', fence: 'integer', until: 'integer' },
    key: ['name'],
  },
]

/** The tables of sharded databases, where no index covers all rows. */
const shardTables: readonly Table[] = [
  {
    name: reservationTable,
    columns: { name: 'text', value: 'text', holder: 'text' },
    key: ['name', 'value'],
    shardKey: 'value',
  },
  {
    name: linkTable,
    columns: { target: 'text', collection: 'text', holder: 'text', time: 'integer' },
    key: ['target', 'collection', 'holder'],
    shardKey: 'target',
  },
]

/** The statements of the shared tables. Sharded ones have the shard key of the rows that their entries belong to. */
export const sharedTables = (
  dialect: Dialect,
  tables: readonly Table[] = [],
): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    [...storeTables, ...(dialect.distribute ? shardTables : []), ...tables].map((table) => [
      table.name,
      tableStatements(table, dialect),
    ]),
  )

function tableStatements({ onSqlite, ...table }: Table, dialect: Dialect): string[] {
  if (dialect.name !== 'sqlite' || !onSqlite) return createTable(table, dialect)
  return 'view' in onSqlite ? createView(table.name, onSqlite.view) : createTable({ ...table, ...onSqlite }, dialect)
}

/** Statements that insert or delete rows of the view have no effect. */
const createView = (name: string, rows: string): string[] => [
  `CREATE VIEW ${name} AS ${rows}`,
  ...['INSERT', 'DELETE'].map(
    (deed) => `CREATE TRIGGER ${name}_${deed.toLowerCase()} INSTEAD OF ${deed} ON ${name} BEGIN SELECT 1; END`,
  ),
]

function createTable({ name, columns, key, shardKey, indexes = [] }: Table, dialect: Dialect): string[] {
  const inline = key.length === 1 && shardKey === undefined
  const column = ([own, type]: [string, TableColumn]): string => {
    const text = `${own} ${dialect.type(type.startsWith('text') ? 'text' : 'integer')}`
    return inline && own === key[0] ? `${text} PRIMARY KEY` : type.endsWith('?') ? text : `${text} NOT NULL`
  }
  const [home, prefix] = shardKey === undefined ? ['', ''] : [shardKeyColumn(dialect), shardKeyPrefix(dialect)]
  const all = [...Object.entries(columns).map(column), ...(inline ? [] : [`PRIMARY KEY (${prefix}${key.join(', ')})`])]
  const may = ifNotExists(dialect)
  return [
    `CREATE TABLE ${may}${name} (${home}${all.join(', ')})${dialect.tableOptions}`,
    ...(shardKey === undefined ? [] : (dialect.distribute?.(name) ?? [])),
    ...indexes.map(
      (one) =>
        `CREATE ${one.unique ? 'UNIQUE ' : ''}INDEX ${may}${name}_${one.name} ON ${name} (${one.columns.join(', ')})`,
    ),
  ]
}

/** The first column of a sharded table, and of its primary key. */
export const shardKeyColumn = ({ distribute }: Dialect): string => (distribute ? 'home integer NOT NULL, ' : '')
export const shardKeyPrefix = ({ distribute }: Dialect): string => (distribute ? 'home, ' : '')

/**
 * On a sharded database, reserves the values of fields that become unique or are converted, for all rows. No node may run
 * meanwhile: its writes would miss reservations, or keep reservations of values that no row has.
 */
export function reservationSteps(name: string, was: TableLayout, is: TableLayout, converted: boolean) {
  const [before, after] = [was.reserved ?? [], is.reserved ?? []]
  const gone = before.filter((one) => !after.includes(one))
  const fresh = after.some((one) => !before.includes(one))
  const fill = { collection: name, again: false, reserves: true }
  const reserve = {
    about: `reserve the unique values and references of ${name}`,
    phase: 'expand' as const,
    sql: [],
    note: 'Reads the whole table, in batches. It fails if rows have equal values: change them first.',
    still: true,
    fill,
  }
  const freed = {
    about: `drop the reservations of ${name} that are no longer unique`,
    phase: 'contract' as const,
    sql: gone.map((one) => `DELETE FROM ${reservationTable} WHERE name = ${literal(one)}`),
    note: 'Until then nodes of the former declaration keep the values unique that they write.',
  }
  return [...(is.reserved && (fresh || converted) ? [reserve] : []), ...(gone.length > 0 ? [freed] : [])]
}

/** The value of a row of `bylaw_meta`; undefined if there is none. */
export function* readMeta(name: string): Steps<string | undefined> {
  const [row] = yield { text: `SELECT value FROM ${metaTable} WHERE name = ${literal(name)}`, values: [] }
  return row?.value as string | undefined
}

export function* writeMeta({ mark }: Dialect, name: string, value: string): Steps<void> {
  yield {
    text: `INSERT INTO ${metaTable} (name, value) VALUES (${mark(1)}, ${mark(2)}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    values: [name, value],
  }
}

/** The secret of a store, made when its database is first opened. */
export function* storeSecret({ mark }: Dialect, { fillRandom }: World): Steps<string> {
  yield {
    text: `INSERT INTO ${metaTable} (name, value) VALUES ('secret', ${mark(1)}) ON CONFLICT (name) DO NOTHING`,
    values: [Buffer.from(fillRandom(new Uint8Array(32))).toString('base64url')],
  }
  return (yield* readMeta('secret')) as string
}
