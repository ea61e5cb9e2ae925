/** Dialect: the few questions that the databases answer differently. The cellar. */
import { createHash } from 'node:crypto'
import type { RowKey } from '../flow/found-row.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { type Cell, type Collection, keyColumns } from '../rows/collection.ts'

export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** The mark of the n-th value, counted from 1. */
  readonly mark: (n: number) => string
  readonly type: (type: 'text' | 'integer') => string
  /** A match that compares exact code points, and the pattern of literal parts with anything between. R70. */
  readonly like: (column: string, pattern: string) => string
  readonly pattern: (parts: readonly string[]) => string
  readonly rare: (condition: string) => string
  /** What stands behind a table whose row is sought by the primary key alone, and not by an index of an id in all accounts. */
  readonly byKey: (table: string) => string
  /** The documents of all rows in one text, in the order of the rows, a comma and a new line between them. */
  readonly documentsAggregate: string
  /** Whether lists that are merged are each cut where their page is, as they would all be read and sorted else. */
  readonly cutsParts: boolean
  /** Whether rows that a page passes over are asked for their keys alone, as they would all be fetched else. */
  readonly passesKeys: boolean
  /** The most bytes of an entry of an index; null where there is no such limit. */
  readonly maxIndexBytes: number | null
  /** What stands behind the columns of a table. */
  readonly tableOptions: string
  /** What makes a read hold its rows until the transaction ends, where others write at the same time; null where nobody does. */
  readonly rowLocks: {
    /** They can be changed, but not deleted. */
    readonly shared: string
    /** They can be neither changed nor deleted. */
    readonly update: string
    /** They can be neither changed nor referred to. */
    readonly exclusive: string
  } | null
  /** Whether several steps of a story are better one statement, as each is a way there and back. */
  readonly combines: boolean
  /** Whether the same of several requests is better one statement, as each one is parsed, answered and committed by itself. */
  readonly coalesces: boolean
  /** What spreads the rows of a table over machines by their home, their first column; null where all lie together. */
  readonly distribute: ((table: string) => readonly string[]) | null
  /** The time of the database, in milliseconds. */
  readonly now: string
  /** The same, where the clock of a machine that may be wrong is not believed. */
  readonly due: string
  /** Whether the schema can change while rows are read and written; steps are then told so that they can be carried out twice. */
  readonly online: boolean
  /** Refuses rows of shapes below one: what does so for all that is written from now on, and what proves it of the rows that are there. */
  readonly floor: (
    table: string,
    shape: number,
  ) => { readonly refuse: readonly string[]; readonly validate: readonly string[] }
  /** A field of a document, as a typed column of the view. */
  readonly member: (name: string, type: 'text' | 'integer' | 'numeric' | 'boolean' | 'json') => string
}

const maxNameBytes = 63

/** A name as an identifier; PostgreSQL cuts longer ones, so that different ones could become the same. */
export function quoted(name: string): string {
  return `"${truncatedName(name).replaceAll('"', '""')}"`
}

/** A name as it is found in the database. */
export function truncatedName(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const tail = createHash('sha256').update(name).digest('hex').slice(0, 16)
  return `${Buffer.from(name)
    .subarray(0, maxNameBytes - tail.length - 1)
    .toString()
    .replace(/\ufffd+$/, '')}_${tail}`
}

/** What the database says to nodes whose declaration it has left behind. */
const wallTime = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`
const databaseTime = 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)'

const belowFloor = 'The rows of this table are written in a newer shape now.'
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  mark: (n) => `?${n}`,
  type: (type) => (type === 'text' ? 'TEXT' : 'INTEGER'),
  like: (column, pattern) => `+${column} GLOB ${pattern}`, // the sign keeps SQLite from seeking by the pattern itself
  pattern: (parts) => parts.map((part) => part.replace(/[*?[]/g, '[$&]')).join('*'),
  rare: (condition) => `unlikely(${condition})`,
  byKey: (table) => ` INDEXED BY "sqlite_autoindex_${quoted(table).slice(1, -1)}_1"`,
  documentsAggregate: "group_concat(doc, ',' || char(10))",
  tableOptions: ' STRICT', // with rowids: documents are too long to lie in the tree of their keys
  maxIndexBytes: null,
  cutsParts: false, // SQLite merges what is in order, and no faster where it is cut
  passesKeys: false,
  rowLocks: null,
  combines: false,
  coalesces: false,
  distribute: null,
  now: wallTime,
  due: `(SELECT min(${wallTime}, coalesce(max(CAST(value AS INTEGER)) + 300000, ${wallTime})) FROM bylaw_meta WHERE name = 'certain')`,
  online: false,
  floor: (table, shape) => ({
    refuse: ['insert', 'update'].flatMap((deed) => {
      const name = quoted(`floor__${table}__${deed}`)
      const refusal = `WHEN NEW.shape < ${shape} BEGIN SELECT RAISE(ABORT, ${literal(belowFloor)}); END`
      return [
        `DROP TRIGGER IF EXISTS ${name}`,
        `CREATE TRIGGER ${name} BEFORE ${deed.toUpperCase()} ON ${quoted(table)} ${refusal}`,
      ]
    }),
    validate: [],
  }),
  member: (name, type) => {
    const value = `json_extract(doc, ${literal(`$."${name}"`)})`
    return type === 'numeric' || type === 'integer' ? `CAST(${value} AS ${type.toUpperCase()})` : value
  },
}

const viewCasts = { text: '', integer: '::bigint', numeric: '::numeric', boolean: '::boolean', json: '' } as const

export const postgresDialect: Dialect = {
  name: 'postgres',
  mark: (n) => `$${n}`,
  type: (type) => (type === 'text' ? 'text COLLATE "C"' : 'bigint'),
  like: (column, pattern) => `${column} LIKE ${pattern}`,
  pattern: (parts) => parts.map((part) => part.replace(/[%_\\]/g, '\\$&')).join('%'),
  rare: (condition) => condition,
  byKey: () => '',
  documentsAggregate: "string_agg(doc, E',\\n')",
  tableOptions: '',
  maxIndexBytes: 2600,
  cutsParts: true,
  passesKeys: true,
  combines: true,
  coalesces: true,
  distribute: null,
  now: databaseTime,
  due: databaseTime,
  online: true,
  floor: (table, shape) => {
    const alter = `ALTER TABLE ${quoted(table)}`
    const name = quoted(`floor__${table}`)
    return {
      refuse: [
        `${alter} DROP CONSTRAINT IF EXISTS ${name}`,
        `${alter} ADD CONSTRAINT ${name} CHECK (shape >= ${shape}) NOT VALID`,
      ],
      validate: [`${alter} VALIDATE CONSTRAINT ${name}`],
    }
  },
  rowLocks: { shared: ' FOR KEY SHARE', update: ' FOR NO KEY UPDATE', exclusive: ' FOR UPDATE' },
  member: (name, type) => `(doc::json ${type === 'json' ? '->' : '->>'} ${literal(name)})${viewCasts[type]}`,
}

/** The table that all others lie beside: rows of one home are on one machine. */
const colocationTable = 'bylaw_tombstones'

/** PostgreSQL with Citus. A statement that makes rows in two tables is none that Citus brings to one machine, so that none is fused. */
export const citusDialect: Dialect = {
  ...postgresDialect,
  combines: false,
  coalesces: false,
  passesKeys: false,
  distribute: (table) => [
    `SELECT create_distributed_table(${literal(quoted(table))}, 'home', colocate_with => ${literal(table === colocationTable ? 'none' : colocationTable)})`,
  ],
}

/** The columns that find a row, in the order of its primary key; where rows are spread, first the one that says where it is. */
export const rowKeyColumns = (collection: Collection, { distribute }: Dialect): readonly string[] =>
  distribute ? ['home', ...keyColumns(collection)] : keyColumns(collection)

/** The values that find a row, in the order of its primary key. */
export function rowKeyValues(collection: Collection, key: RowKey, { distribute }: Dialect): readonly Cell[] {
  const { account, composite } = collection
  const own = composite ? [key.parent, key.id] : [key.id]
  const all = account === null ? own : [key.account, ...own]
  return distribute ? [rowShardKey(collection, key), ...all] : all
}

/** Where a row is: beside its owner, if it is told apart below that. */
export const rowShardKey = ({ composite }: Collection, { id, parent }: Pick<RowKey, 'id' | 'parent'>): number =>
  shardKeyOf(composite ? (parent ?? '') : id)

/** What a statement about a shared table says besides, where rows are spread: the home of the row that is meant, as its n-th value. */
export const shardCondition = (
  home: number,
  n: number,
  { mark, distribute }: Dialect,
): { text: string; values: readonly Cell[] } =>
  distribute ? { text: ` AND home = ${mark(n)}`, values: [home] } : { text: '', values: [] }

/** A new row of a shared table: where rows are spread, its home comes first. */
export function insertStatement(
  table: string,
  row: Readonly<Record<string, Cell>>,
  home: number,
  { mark, distribute }: Dialect,
): { readonly text: string; readonly values: readonly Cell[] } {
  const whole = distribute ? { home, ...row } : row
  const names = Object.keys(whole)
  const marks = names.map((_, i) => mark(i + 1)).join(', ')
  return { text: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`, values: Object.values(whole) }
}
