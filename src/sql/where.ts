/** Where: the conditions and the order of a list as SQL. Pure. The store. */

import {
  byRelevance,
  type Condition,
  isRelevance,
  type JoinedColumn,
  type ListRows,
  type PairedRows,
  type Term,
} from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { type Cell, type Collection, keyColumns } from '../rows/collection.ts'
import { type Dialect, quoted } from './dialect.ts'
import { indexPrefixes, prefixConditions } from './index-width.ts'
import { isSlot, type KeyBound, slot, slotAt } from './ranges.ts'
import { relevanceOf, searchJoin } from './search-index.ts'

/** Numbers the values of a statement while its text is written, and gives the SQL of its columns. `range` writes the range of a filter. */
export function statementBinding(
  dialect: Dialect,
  collection: Collection,
  { order, account, where }: ListRows,
  range: (condition: string) => string = (condition) => condition,
) {
  const values: Cell[] = []
  const joinedColumns = order.flatMap(({ column, reach }) => (reach ? [{ column, reach }] : []))
  const say = (column: string): string => {
    const at = joinedColumns.findIndex((one) => one.column === column)
    const { by, kept } = joinedColumns[at]?.reach ?? {}
    if (by === undefined) return quoted(column)
    return kept == null ? `reached${at}` : `CASE WHEN ${quoted(by)} IS NULL THEN ${quoted(kept)} ELSE reached${at} END`
  }
  const bind = (value: Cell): string => {
    values.push(value)
    return dialect.mark(values.length)
  }
  const words = where.flatMap((one) => (one.is === 'search' ? one.words : []))
  const search = words.length === 0 ? null : searchJoin(collection, words, { dialect, bind, account })
  const isRanked = search !== null && order.some(isRelevance)
  const own = isRanked ? rowsWithRelevance(collection, words, { dialect, bind }) : quoted(collection.table)
  const joined = [own, ...joinedColumns.map(({ reach }, i) => joinClause(reach, i))].join(' LEFT JOIN ')
  return { values, bind, dialect, say, range, from: (search?.join ?? '') + joined, account, search }
}

/** The rows of a table, with how well each matches a search as one more column. */
function rowsWithRelevance(
  collection: Collection,
  words: readonly string[],
  binding: Parameters<typeof relevanceOf>[2],
): string {
  const table = quoted(collection.table)
  const rowid = binding.dialect.name === 'sqlite' ? 'rowid, ' : ''
  return `(SELECT *, ${rowid}${relevanceOf(collection, words, binding)} AS ${byRelevance.column} FROM ${table}) AS ${table}`
}

/** Joins the rows that an own column refers to, with aliases that no own column has. */
function joinClause({ by, collection, column, owned }: JoinedColumn, i: number): string {
  const [names, whose] = owned ? [`account AS whose${i}, `, ` AND whose${i} = account`] : ['', '']
  const there = `SELECT id AS led${i}, ${names}${quoted(column)} AS reached${i} FROM ${quoted(collection)}`
  return `(${there}) AS other${i} ON led${i} = ${quoted(by)}${whose}`
}

export type StatementBinding = ReturnType<typeof statementBinding>

export function whereClause(
  collection: Collection,
  plan: ListRows,
  bounds: readonly KeyBound[],
  binding: StatementBinding,
): string {
  const { where, parent, account, prepared, shared = prepared } = plan
  const prefixes = shared.form('prefixes', () => indexPrefixes(collection, binding.dialect))
  const home = shardKeyIn(collection, plan, binding.dialect)
  const whose = collection.account === null ? [] : [`account = ${binding.bind(account)}`]
  const column = parent?.pairs ? undefined : collection.parent?.column
  const owner = parent && column !== undefined ? [`${quoted(column)} = ${binding.bind(parent.id)}`] : []
  const headed = keyColumns(collection).length > 1
  // SQLite rates a prefix of the primary key as high as any index; it would read all rows of an owner or an account.
  const rare = (is: string, text: string) =>
    headed && ['eq', 'null', 'at'].includes(is) ? binding.dialect.rare(text) : text
  const all = [
    ...(home === null ? [] : [`home = ${binding.bind(home)}`]),
    ...whose,
    ...owner,
    ...(parent?.pairs ? [pairedText(parent.id, parent.pairs, binding)] : []),
    ...(binding.search ? [binding.search.condition] : []),
    ...where.flatMap((one) => prefixConditions(prefixes, one, binding.bind)),
    ...where.flatMap((one) =>
      conditionTexts(one, impliedBound(one.column, bounds), binding).map((text) => rare(one.is, text)),
    ),
    ...bounds.map((one) => rare(one.is, boundText(one, binding))),
  ]
  return all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`
}

/** Matches the rows that are paired with an owner. */
function pairedText(id: string, { collection, from, to, owned }: PairedRows, binding: StatementBinding): string {
  const { bind, dialect, account } = binding
  const whose = owned ? `account = ${bind(account)} AND ` : ''
  const home = isSlot(id) ? slot<number>(slotAt.home) : shardKeyOf(id)
  const shard = dialect.distribute && from === 'parent' ? `home = ${bind(home)} AND ` : ''
  return `id IN (SELECT ${quoted(to)} FROM ${quoted(collection)} WHERE ${whose}${shard}${quoted(from)} = ${bind(id)})`
}

/** The shard key that all matching rows have; null if there are several, or if the database is not sharded. */
export function shardKeyIn(
  { composite }: Collection,
  { where, parent }: ListRows,
  { distribute }: Dialect,
): number | null {
  if (!distribute || composite)
    return distribute && parent && (isSlot(parent.id) ? slot<number>(slotAt.home) : shardKeyOf(parent.id))
  const own = where.find(({ column, is }) => column === 'id' && is === 'eq')
  return own?.is === 'eq' ? shardKeyOf(String(own.value)) : null
}

/** The side of a column that the key range limits already; a filter on that side is left out, as the database might seek by it instead. */
function impliedBound(column: string, bounds: readonly KeyBound[]): 'lower' | 'upper' | null {
  const [first] = bounds.filter((one) => ('columns' in one ? one.columns[0] : one.column) === column)
  return first?.is === 'beyond' ? 'lower' : first?.is === 'before' ? 'upper' : null
}

const signs = { eq: '=', ne: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

function conditionTexts(one: Condition, impliedBound: 'lower' | 'upper' | null, binding: StatementBinding): string[] {
  const column = quoted(one.column)
  const conjunction = (all: readonly Condition[]) =>
    all.flatMap((inner) => conditionTexts(inner, null, binding)).join(' AND ') || '1 = 1'
  switch (one.is) {
    case 'null':
      return [`${column} IS NULL`]
    case 'present':
      return [`${column} IS NOT NULL`]
    case 'search':
      return [] // the search is a condition of the whole list
    case 'in':
      return [one.values.length === 0 ? '1 = 0' : `${column} IN (${one.values.map(binding.bind).join(', ')})`]
    case 'like':
      return likeTexts(column, one.parts, impliedBound, binding)
    case 'among': {
      const whose = one.owned ? `account = ${binding.bind(binding.account)} AND ` : ''
      return [`${column} IN (SELECT id FROM ${quoted(one.collection)} WHERE ${whose}${conjunction(one.where)})`]
    }
    case 'any':
      return [`(${one.of.map((all) => `(${conjunction(all)})`).join(' OR ')})`]
    case 'gt':
    case 'gte':
      return impliedBound === 'lower' ? [] : [binding.range(`${column} ${signs[one.is]} ${binding.bind(one.value)}`)]
    case 'lt':
    case 'lte':
      return impliedBound === 'upper' ? [] : [binding.range(`${column} ${signs[one.is]} ${binding.bind(one.value)}`)]
    default:
      return [`${column} ${signs[one.is]} ${binding.bind(one.value)}`]
  }
}

/** Matches a pattern. Its literal beginning is a range too, so that an index can be used. */
function likeTexts(
  column: string,
  parts: readonly string[],
  impliedBound: 'lower' | 'upper' | null,
  { bind, dialect }: StatementBinding,
): string[] {
  const pattern = dialect.like(column, bind(dialect.pattern(parts)))
  const [start = ''] = parts
  const end = start === '' ? null : prefixEnd(start)
  const lower = end === null || impliedBound === 'lower' ? [] : [`${column} >= ${bind(start)}`]
  const upper = end === null || impliedBound === 'upper' ? [] : [`${column} < ${bind(end)}`]
  return [...lower, ...upper, pattern]
}

/** The least text that is greater than all texts with a prefix; null if there is none. */
function prefixEnd(text: string): string | null {
  const last = [...text].at(-1)?.codePointAt(0) as number
  if (last === 0x10ffff) return null
  return text.slice(0, -String.fromCodePoint(last).length) + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1)
}

function boundText(one: KeyBound, { bind, say }: StatementBinding): string {
  if ('columns' in one) {
    const sign = one.is === 'beyond' ? '>' : '<'
    return `(${one.columns.map(say).join(', ')}) ${sign} (${one.values.map(bind).join(', ')})`
  }
  const column = say(one.column)
  switch (one.is) {
    case 'null':
      return `${column} IS NULL`
    case 'present':
      return `${column} IS NOT NULL`
    case 'at':
      return `${column} = ${bind(one.value)}`
    default:
      return `${column} ${one.is === 'beyond' ? '>' : '<'} ${bind(one.value)}`
  }
}

/** A term of ORDER BY. It places nulls only if there can be some, as an index would not serve it otherwise. */
export function orderTerm({ column, descending, nulls }: Term, { say }: StatementBinding): string {
  const place = nulls === 'none' ? '' : ` NULLS ${nulls.toUpperCase()}`
  return say(column) + (descending ? ' DESC' : '') + place
}
