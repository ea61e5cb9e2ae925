/** Whether an index bounds the work of a list, so that it can run in the loop. Pure. The cellar. */
import type { List, Term } from '../flow/plan.ts'
import { type Collection, indexesOf, keyColumns } from '../resources/collection.ts'

/** True where the rows of a page lie next to each other in one index: filters by equality come first, then the order. */
export function isBounded(collection: Collection, { where, order, parent }: List): boolean {
  const whose = collection.account === null ? [] : ['account']
  const owner = [...whose, ...(parent && collection.parent ? [collection.parent.column] : [])]
  const fixed = where.filter(({ is }) => is === 'eq' || is === 'null').map(({ column }) => column)
  const rest = where.filter(({ is }) => is !== 'eq' && is !== 'null')
  const wanted = order.filter(({ column }) => ![...owner, ...fixed].includes(column))
  const [first] = wanted
  if (rest.some(({ is, column }) => is === 'like' || is === 'in' || is === 'ne' || column !== first?.column))
    return false
  return all(collection).some((index) => serves(index, [...owner, ...fixed], wanted))
}

/** The columns of all indexes, descending ones with a minus sign, the primary key among them; every one ends in it. */
function all(collection: Collection): readonly (readonly string[])[] {
  const key = keyColumns(collection)
  const unique = collection.uniques.map(({ columns }) => [...columns, ...key])
  return [key, ...unique, ...indexesOf(collection).map(({ columns }) => columns)]
}

/** Whether the order is that of an index, or the reverse of it, behind the columns that are fixed. */
function serves(index: readonly string[], fixed: readonly string[], order: readonly Term[]): boolean {
  const start = index.slice(0, fixed.length).map((name) => name.replace(/^-/, ''))
  if (!fixed.every((column) => start.includes(column))) return false
  const behind = index.slice(fixed.length)
  const reverse = behind[0]?.startsWith('-') !== order[0]?.descending
  return order.every(({ column, descending, nulls }, i) => {
    const sign = descending !== reverse ? '-' : ''
    return behind[i] === sign + column && (i === 0 || nulls === 'none')
  })
}
