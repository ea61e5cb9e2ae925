/** Dialect: how the SQL and the locks of the databases differ. The store. */
import { createHash } from 'node:crypto'
import type { RowKey } from '../flow/found-row.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { type Cell, type Collection, keyColumns } from '../rows/collection.ts'

export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** The placeholder of the n-th value, counted from 1. */
  readonly mark: (n: number) => string
  readonly type: (type: 'text' | 'integer') => string
  /** A match that compares exact code points. R70. */
  readonly like: (column: string, pattern: string) => string
  /** The pattern of literal parts with anything between them. */
  readonly pattern: (parts: readonly string[]) => string
  /** A condition with a hint to the planner that few rows meet it. */
  readonly rare: (condition: string) => string
  /** A condition with a hint to the planner that most rows meet it; null if the planner estimates that itself. */
  readonly common: ((condition: string) => string) | null
  /** An index hint to find a row by its primary key, where the planner might choose the index of the id over all accounts. */
  readonly byKey: (table: string) => string
  /** Joins the documents of all rows into one text, in the order of the rows, separated by a comma and a new line. */
  readonly documentsAggregate: string
  /** A subquery that returns each text of a JSON array as a row. */
  readonly itemsOf: (mark: string) => string
  /** The expressions by which events are found that have no position yet; see `ledgers/outbox.ts`. */
  readonly outbox: {
    /** The mark of a new event; if marks are positions, it is greater than a given number. */
    readonly mark: (least: string) => string
    readonly marksArePositions: boolean
    /** No event that becomes visible later has a lower mark. */
    readonly oldest: string
    /** The mark that a new event would have now. */
    readonly next: string
    /**
     * The first sort key of new positions. The times of events come from several machines whose clocks differ, so their
     * order alone could place an event before an earlier one of its item, or number only the later one.
     */
    readonly moment: string
  }
  /** Whether each part of a merged list has its own limit; without one, PostgreSQL would read and sort all parts. */
  readonly cutsParts: boolean
  /** Whether skipped rows are read by their keys alone; otherwise PostgreSQL would fetch them all. */
  readonly passesKeys: boolean
  /** The largest size of an index entry in bytes; null if there is no limit. */
  readonly maxIndexBytes: number | null
  /** The options after the column list of CREATE TABLE. */
  readonly tableOptions: string
  /** The clauses that lock the rows of a read until the transaction ends; null where only one transaction writes at a time. */
  readonly rowLocks: {
    /** The row can be changed, but not deleted. */
    readonly shared: string
    /** The row cannot be changed or deleted; several transactions can hold this lock. */
    readonly steady: string
    /** The row can be neither changed nor deleted. */
    readonly update: string
    /** The row can be neither changed, nor deleted, nor referred to. */
    readonly exclusive: string
  } | null
  /** Whether several steps of an operation are combined into one statement, to save round trips. */
  readonly combines: boolean
  /** Whether the same statements of several requests are coalesced into one, to parse, answer and commit only once. */
  readonly coalesces: boolean
  /** The statements that distribute a table over shards by `home`, its first column; null if the database is not sharded. */
  readonly distribute: ((table: string) => readonly string[]) | null
  /** The time of the database, in milliseconds. */
  readonly now: string
  /** The time that expiry is judged by. On SQLite it is at most 5 minutes ahead of the last certain time, as the clock may be wrong. */
  readonly due: string
  /** Whether the schema changes while rows are read and written; steps are then written so that they can run twice. */
  readonly online: boolean
  /** Refuses rows below a shape number: `refuse` refuses new writes of them, `validate` checks the rows that exist. */
  readonly floor: (
    table: string,
    shape: number,
  ) => { readonly refuse: readonly string[]; readonly validate: readonly string[] }
  /** A field of a document, as a typed column of the view. */
  readonly member: (name: string, type: 'text' | 'integer' | 'numeric' | 'boolean' | 'json') => string
}

const maxNameBytes = 63

/** A name as an identifier. It is shortened here, as PostgreSQL would cut long names, so that different ones could collide. */
export function quoted(name: string): string {
  return `"${truncatedName(name).replaceAll('"', '""')}"`
}

/** A name as the database stores it: a long one is cut and ends in a digest. */
export function truncatedName(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const tail = createHash('sha256').update(name).digest('hex').slice(0, 16)
  return `${Buffer.from(name)
    .subarray(0, maxNameBytes - tail.length - 1)
    .toString()
    .replace(/\ufffd+$/, '')}_${tail}`
}

/** SQLite has one writer at a time, so events can be counted in the order of their commits. */
const markAfter = (least: string) => `(SELECT max(coalesce(max(mark), 0), ${least}) + 1 FROM bylaw_outbox)`
const nextMark = markAfter('0')

const wallTime = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`
const databaseTime = 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)'

/** The error that the database raises for nodes of an old declaration. */
const belowFloor = 'The rows of this table are written in a newer shape now.'
/** A text as a literal of SQL. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  mark: (n) => `?${n}`,
  type: (type) => (type === 'text' ? 'TEXT' : 'INTEGER'),
  like: (column, pattern) => `+${column} GLOB ${pattern}`, // the plus keeps SQLite from seeking by the pattern itself
  pattern: (parts) => parts.map((part) => part.replace(/[*?[]/g, '[$&]')).join('*'),
  rare: (condition) => `unlikely(${condition})`,
  common: (condition) => `likely(${condition})`,
  byKey: (table) => ` INDEXED BY "sqlite_autoindex_${quoted(table).slice(1, -1)}_1"`,
  documentsAggregate: "group_concat(doc, ',' || char(10))",
  itemsOf: (mark) => `SELECT value FROM json_each(${mark})`,
  outbox: { mark: markAfter, marksArePositions: true, oldest: nextMark, next: nextMark, moment: 'mark' },
  tableOptions: ' STRICT', // with rowids: documents are too long for a tree by primary key
  maxIndexBytes: null,
  cutsParts: false, // SQLite merges ordered parts by itself, and limits make that no faster
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
  common: null,
  byKey: () => '',
  documentsAggregate: "string_agg(doc, E',\\n')",
  itemsOf: (mark) => `SELECT json_array_elements_text(${mark}::json)`,
  outbox: {
    mark: () => 'txid_current()',
    marksArePositions: false,
    oldest: 'txid_snapshot_xmin(txid_current_snapshot())',
    next: 'txid_snapshot_xmax(txid_current_snapshot())',
    moment: 'max(at) OVER (PARTITION BY item ORDER BY sequence)', // equal ids of other items do no harm
  },
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
  rowLocks: { shared: ' FOR KEY SHARE', steady: ' FOR SHARE', update: ' FOR NO KEY UPDATE', exclusive: ' FOR UPDATE' },
  member: (name, type) => `(doc::json ${type === 'json' ? '->' : '->>'} ${literal(name)})${viewCasts[type]}`,
}

/** The table that all others are colocated with: rows of one shard key are on one machine. */
const colocationTable = 'bylaw_tombstones'

/** PostgreSQL with Citus. Nothing is combined, as Citus cannot route a statement that writes to two tables to one machine. */
export const citusDialect: Dialect = {
  ...postgresDialect,
  combines: false,
  coalesces: false,
  passesKeys: false,
  distribute: (table) => [
    `SELECT create_distributed_table(${literal(quoted(table))}, 'home', colocate_with => ${literal(table === colocationTable ? 'none' : colocationTable)})`,
  ],
}

/** Compares or assigns columns to the values from the n-th one on. */
export const equations = (names: readonly string[], { mark }: Dialect, n = 1): string[] =>
  names.map((name, i) => `${name} = ${mark(n + i)}`)

/** The columns that identify a row, in the order of its primary key; on a sharded database the shard key comes first. */
export const rowKeyColumns = (collection: Collection, { distribute }: Dialect): readonly string[] =>
  distribute ? ['home', ...keyColumns(collection)] : keyColumns(collection)

/** The values of `rowKeyColumns` for a row. */
export function rowKeyValues(collection: Collection, key: RowKey, { distribute }: Dialect): readonly Cell[] {
  const { account, composite } = collection
  const own = composite ? [key.parent, key.id] : [key.id]
  const all = account === null ? own : [key.account, ...own]
  return distribute ? [rowShardKey(collection, key), ...all] : all
}

/** The shard key of a row. If its id is unique only within its owner, it is the shard key of the owner, so that both are colocated. */
export const rowShardKey = ({ composite }: Collection, { id, parent }: Pick<RowKey, 'id' | 'parent'>): number =>
  shardKeyOf(composite ? (parent ?? '') : id)

/** The extra condition on the shard key, which is the n-th value; empty if the database is not sharded. */
export const shardCondition = (
  home: number,
  n: number,
  { mark, distribute }: Dialect,
): { text: string; values: readonly Cell[] } =>
  distribute ? { text: ` AND home = ${mark(n)}`, values: [home] } : { text: '', values: [] }

/** Inserts a row into a shared table; on a sharded database its shard key comes first. */
export function insertStatement(
  table: string,
  row: Readonly<Record<string, Cell>>,
  home: number,
  { mark, distribute }: Dialect,
): { readonly text: string; readonly values: readonly Cell[] } {
  const cells = distribute ? { home, ...row } : row
  const names = Object.keys(cells)
  const marks = names.map((_, i) => mark(i + 1)).join(', ')
  return { text: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`, values: Object.values(cells) }
}
