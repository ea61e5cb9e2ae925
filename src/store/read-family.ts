/** Reads the rows that have a value in a column, in the current shape. The cellar. */
import type { FamilyRead, FamilyRows } from '../flow/plan.ts'
import { keyColumns, viewRow } from '../rows/collection.ts'
import { quoted } from '../sql/dialect.ts'
import { preparedCollection, rowKeyOf, type StoreContext, storedDocumentOf } from './context.ts'
import type { Steps } from './steps.ts'

export function* readFamily(
  cellar: StoreContext,
  { collection: name, column, value, account, page }: Omit<FamilyRead, 'do'>,
): Steps<FamilyRows> {
  const { collection, shape, columnName } = preparedCollection(cellar, name)
  const { mark } = cellar.dialect
  const keys = keyColumns(collection)
  const values: (string | number | null)[] = [value]
  const next = (one: string | number | null): string => {
    values.push(one)
    return mark(values.length)
  }
  const owned = collection.account !== null && account !== undefined ? ` AND account = ${next(account)}` : ''
  const after = page?.after ? keys.map((key) => next((page.after as never)[key] as string)) : []
  const later = after.length > 0 ? ` AND (${keys.join(', ')}) > (${after.join(', ')})` : ''
  const part = page ? ` ORDER BY ${keys.join(', ')} LIMIT ${next(page.limit)}` : ''
  const rows = yield {
    text: `SELECT ${keys.join(', ')}, shape, doc, hidden FROM ${quoted(collection.table)} WHERE ${quoted(columnName(column))} = ${mark(1)}${owned}${later}${part}`,
    values,
  }
  const found = rows.map((row) => ({
    key: rowKeyOf(row),
    document: viewRow(collection, shape, storedDocumentOf(row)).document,
  }))
  return { is: 'family', rows: found }
}
