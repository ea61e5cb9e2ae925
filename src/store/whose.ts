/** Tells which accounts have a row of a key, for those who run the service. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import type { Whose } from '../flow/plan.ts'
import { keyColumns } from '../resources/collection.ts'
import { type Cellar, type Steps, shelf } from './cellar.ts'
import { quoted } from './dialect.ts'

const mostNamed = 10

/** The accounts that have a row of a key, but not all of very many. */
export function* whose(cellar: Cellar, { collection: name, key }: Whose): Steps<Outcome> {
  const { collection } = shelf(cellar, name)
  const names = keyColumns(collection).filter((one) => one !== 'account')
  const where = names.map((one, i) => `${one} = ${cellar.dialect.mark(i + 1)}`).join(' AND ')
  const text = `SELECT account FROM ${quoted(collection.table)} WHERE ${where} ORDER BY account LIMIT ${mostNamed}`
  const rows = collection.account === null ? [] : yield { text, values: names.map((one) => key[one as 'id']) }
  return { is: 'whose', accounts: rows.map(({ account }) => account as string) }
}
