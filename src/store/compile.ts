/** Compiles what a plan asks for into statements. Pure: text and values, nothing is run here. The cellar. */
import type { Condition, Key, List, Term, Window } from '../flow/plan.ts'
import type { Cell, Collection } from '../resources/collection.ts'
import { type Dialect, quoted } from './dialect.ts'

export interface Statement {
  readonly text: string
  readonly values: readonly Cell[]
}

/** The texts of a collection's statements, made once. */
export interface Texts {
  readonly read: string
  readonly exists: string
  readonly insert: string
  readonly update: string
  readonly remove: string
}

/** The tables that all collections share. */
export const tombstones = 'bylaw_tombstones'
export const meta = 'bylaw_meta'

export function texts(collection: Collection, dialect: Dialect): Texts {
  const table = quoted(collection.table)
  const names = [...(collection.composite ? ['parent'] : []), 'id']
  const columns = collection.columns.map(({ name }) => quoted(name))
  const stored = ['revision', 'shape', 'doc', 'hidden', ...columns]
  const where = (from: number) => names.map((name, i) => `${name} = ${dialect.mark(from + i)}`).join(' AND ')
  const all = [...names, ...stored]
  const set = ['shape', 'doc', 'hidden', ...columns].map((name, i) => `${name} = ${dialect.mark(i + 1)}`)
  const after = set.length + 1
  const guarded = `${where(after)} AND revision = ${dialect.mark(after + names.length)}`
  return {
    read: `SELECT revision, shape, doc, hidden FROM ${table} WHERE ${where(1)}`,
    exists: `SELECT 1 AS found FROM ${table} WHERE ${where(1)}`,
    insert: `INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map((_, i) => dialect.mark(i + 1)).join(', ')})`,
    update: `UPDATE ${table} SET revision = revision + 1, ${set.join(', ')} WHERE ${guarded} RETURNING revision`,
    remove: `DELETE FROM ${table} WHERE ${where(1)} AND revision = ${dialect.mark(names.length + 1)} RETURNING revision`,
  }
}

/** The values that find a row, in the order of its primary key. */
export const keyValues = ({ composite }: Collection, { id, parent }: Key): readonly Cell[] =>
  composite ? [parent, id] : [id]

/** What names a row among all that were deleted. */
export const tombstoneId = ({ composite }: Collection, { id, parent }: Key): string =>
  composite ? `${parent}/${id}` : id

/** Numbers the values of one statement while its text is written. */
function binding(dialect: Dialect) {
  const values: Cell[] = []
  const bind = (value: Cell): string => {
    values.push(value)
    return dialect.mark(values.length)
  }
  return { values, bind }
}

type Bind = (value: Cell) => string

/** The rows of a list, one more than asked, so that it shows whether others follow. */
export function listStatement(collection: Collection, plan: List, dialect: Dialect): Statement {
  const { values, bind } = binding(dialect)
  const where = conditions(collection, plan, bind)
  const order = plan.order.map(term).join(', ')
  const places = plan.order.map(({ column }, i) => `${quoted(column)} AS place${i}`).join(', ')
  const rows = `SELECT doc, shape, ${places} FROM ${quoted(collection.table)}${where} ORDER BY ${order}`
  return { text: rows + limits(plan.window, bind), values }
}

/** How many rows match, counted no further than needed. */
export function countStatement(collection: Collection, plan: List, dialect: Dialect): Statement {
  const { values, bind } = binding(dialect)
  const where = conditions(collection, plan, bind)
  const table = quoted(collection.table)
  if (typeof plan.total === 'boolean') return { text: `SELECT count(*) AS total FROM ${table}${where}`, values }
  return {
    text: `SELECT count(*) AS total FROM (SELECT 1 FROM ${table}${where} LIMIT ${bind(plan.total.upTo + 1)}) AS some`,
    values,
  }
}

function conditions(collection: Collection, { where, parent }: List, bind: Bind): string {
  const owner = parent && collection.parent ? [`${quoted(collection.parent.column)} = ${bind(parent.id)}`] : []
  const all = [...owner, ...where.map((one) => condition(one, bind))]
  return all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`
}

const signs = { eq: '=', ne: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

function condition(one: Condition, bind: Bind): string {
  const column = quoted(one.column)
  switch (one.is) {
    case 'null':
      return `${column} IS NULL`
    case 'present':
      return `${column} IS NOT NULL`
    case 'in':
      return one.values.length === 0 ? '1 = 0' : `${column} IN (${one.values.map(bind).join(', ')})`
    case 'like':
      return `${column} LIKE ${bind(one.parts.join('%'))}`
    default:
      return `${column} ${signs[one.is]} ${bind(one.value)}`
  }
}

const term = ({ column, descending }: Term): string => quoted(column) + (descending ? ' DESC' : '')

function limits(window: Window, bind: Bind): string {
  const limit = ` LIMIT ${bind(window.limit + 1)}`
  return window.from === 'offset' && window.offset > 0 ? `${limit} OFFSET ${bind(window.offset)}` : limit
}
