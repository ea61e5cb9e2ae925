/** Table statements: operations on the service's own tables as SQL, for every database. Pure. Part 1. */
import type { Memo } from '../flow/memo.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import type { AddToRow, InsertRow, Table, TableMatch, TableOperation, TablePlan, TableValue } from '../flow/table.ts'
import type { Dialect } from './dialect.ts'
import type { Statement } from './statements.ts'

/** An operation as SQL, and how its values follow from those of a plan. */
export interface OperationText {
  readonly text: string
  readonly values: readonly ((values: TablePlan['values']) => TableValue)[]
}

interface TableContext {
  readonly dialect: Dialect
  readonly operations: Memo<TableOperation, OperationText>
}

/** The text of an operation is made once; a plan only gives the values. */
export function tableStatement(
  { dialect, operations }: TableContext,
  { run, values }: TablePlan,
): Pick<Statement, 'text' | 'values'> {
  const own = operations.get(run) ?? operations.set(run, makeText(dialect, run))
  return { text: own.text, values: own.values.map((valueIn) => valueIn(values)) }
}

/** Returns the placeholder of a named value, or of the shard that a value of the shard key belongs to. */
type Mark = (name: string, of?: 'shard') => string

function makeText(dialect: Dialect, run: TableOperation): OperationText {
  const values: OperationText['values'][number][] = []
  const mark: Mark = (name, of) =>
    dialect.mark(
      values.push((cells) => {
        const value = cells[name] ?? null
        if (of === 'shard') return shardKeyOf(String(value))
        return typeof value === 'object' ? value && JSON.stringify(value) : value
      }),
    )
  return { text: textOf(dialect, run, mark), values }
}

function textOf(dialect: Dialect, run: TableOperation, mark: Mark): string {
  const { name, key, columns } = run.table
  const [own, all] = [key.join(', '), Object.keys(columns).join(', ')]
  // One column suffices, to show whether the row was inserted: the caller has its values.
  if (run.do === 'insert')
    return `${intoText(dialect, run, mark)} ${replaceText(run, dialect, mark)} RETURNING ${key[0]}`
  if (run.do === 'add') return `${intoText(dialect, run, mark)} ${addText(run, dialect, mark)} RETURNING ${all}`
  const { where, order = [], limit, near } = run
  const home = homeText(dialect, run.table, near ?? where[run.table.shardKey ?? ''], mark)
  const match = (matchText(run.table, where, dialect, mark) + home).replace(/^ AND /, '')
  const terms = order.map((one) => (one.startsWith('-') ? `${one.slice(1)} DESC` : one))
  // The limit is a literal: SQLite would plan the statement again for each bound one.
  const cut = limit === undefined ? '' : ` LIMIT ${Math.trunc(limit)}`
  const some = `${match && ` WHERE ${match}`}${terms.length === 0 ? '' : ` ORDER BY ${terms.join(', ')}`}${cut}`
  if (run.do === 'find') return `SELECT ${all} FROM ${name}${some}`
  const chosen = `SELECT ${own} FROM ${name}${some}`
  if (run.do === 'sweep') return `DELETE FROM ${name} WHERE (${own}) IN (${chosen})${home}`
  const set = Object.entries(run.to).map(
    ([column, to]) => `${column} = ${typeof to === 'string' ? mark(to) : to.column}`,
  )
  const update = `UPDATE ${name} SET ${set.join(', ')}`
  if (limit === undefined) return `${update}${some} RETURNING ${all}`
  const lock = dialect.rowLocks ? `${dialect.rowLocks.update} SKIP LOCKED` : ''
  return `WITH chosen AS MATERIALIZED (${chosen}${lock}) ${update} WHERE (${own}) IN (SELECT ${own} FROM chosen)${home} RETURNING ${all}`
}

/** On a sharded database, the condition on the shard, if the operation has a value of the shard key. */
const homeText = ({ distribute }: Dialect, { shardKey }: Table, value: unknown, mark: Mark): string =>
  distribute && shardKey !== undefined && typeof value === 'string' ? ` AND home = ${mark(value, 'shard')}` : ''

/** An INSERT up to its conflict clause, whose action follows. On a sharded database, the shard key is the first column. */
function intoText({ distribute }: Dialect, run: InsertRow | AddToRow, mark: Mark): string {
  const { name, key, columns, shardKey } = run.table
  const [home, homeMark] = distribute && shardKey ? ['home, ', `${mark(shardKey, 'shard')}, `] : ['', '']
  const names = Object.keys(columns)
  const by = (run.do === 'insert' && run.by) || key
  return `INSERT INTO ${name} (${home}${names.join(', ')}) VALUES (${homeMark}${names.map((one) => mark(one)).join(', ')}) ON CONFLICT (${home}${by.join(', ')})`
}

function replaceText({ table, by = table.key, replaces }: InsertRow, dialect: Dialect, mark: Mark): string {
  if (!replaces) return 'DO NOTHING'
  const set = Object.keys(table.columns).flatMap((name) => (by.includes(name) ? [] : `${name} = excluded.${name}`))
  return `DO UPDATE SET ${set.join(', ')} WHERE ${matchText(table, replaces, dialect, mark)}`
}

function addText({ table, sums, greatest = [], while: current }: AddToRow, dialect: Dialect, mark: Mark): string {
  const isCurrent = current && matchText(table, current, dialect, mark)
  const set = Object.keys(table.columns).flatMap((name) => {
    if (table.key.includes(name)) return []
    const [own, excluded] = [`${table.name}.${name}`, `excluded.${name}`]
    const greater = greatest.includes(name) ? `CASE WHEN ${own} > ${excluded} THEN ${own} ELSE ${excluded} END` : own
    const next = sums.includes(name) ? `${own} + ${excluded}` : greater
    return `${name} = ${isCurrent ? `CASE WHEN ${isCurrent} THEN ${next} ELSE ${excluded} END` : next}`
  })
  return `DO UPDATE SET ${set.join(', ')}`
}

/** Conditions on stored rows; columns are named with their table, as an insert has new values of the same names. */
function matchText({ name }: Table, match: TableMatch, { itemsOf }: Dialect, mark: Mark): string {
  const terms = Object.entries(match).flatMap(([column, want]) => {
    const own = `${name}.${column}`
    if (want === null) return `${own} IS NULL`
    if (typeof want === 'string') return `${own} = ${mark(want)}`
    if ('in' in want) return `${own} IN (${itemsOf(mark(want.in))})`
    return [
      ...(want.above === undefined ? [] : [`${own} > ${mark(want.above)}`]),
      ...(want.upTo === undefined ? [] : [`${own} <= ${mark(want.upTo)}`]),
    ]
  })
  return terms.join(' AND ')
}
