/** Reads the rows that belong or refer to a row, in the current shape. The cellar. */
import type { FamilyRead, FamilyRows } from '../flow/plan.ts'
import { viewRow } from '../rows/collection.ts'
import { quoted } from '../sql/dialect.ts'
import { preparedCollection, type StoreContext, storedDocumentOf } from './context.ts'
import type { Steps } from './steps.ts'

export function* readFamily(
  cellar: StoreContext,
  { collection: name, column, id, account }: Omit<FamilyRead, 'do'>,
): Steps<FamilyRows> {
  const { collection, shape } = preparedCollection(cellar, name)
  const { mark } = cellar.dialect
  const owned = collection.account === null ? [] : [account]
  const also = owned.length > 0 ? ` AND account = ${mark(2)}` : ''
  const rows = yield {
    text: `SELECT shape, doc, hidden FROM ${quoted(collection.table)} WHERE ${quoted(column)} = ${mark(1)}${also}`,
    values: [id, ...owned],
  }
  return { is: 'family', documents: rows.map((row) => viewRow(collection, shape, storedDocumentOf(row)).document) }
}
