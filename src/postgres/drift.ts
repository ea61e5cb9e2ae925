/** Drift: what steps of the schema made and somebody else took away, so that it is told at start and not to callers. The cellar. */
import { indexed } from '../schema/schema.ts'
import type { Step } from '../schema/step.ts'
import type { Answer } from '../store/cellar.ts'
import { postgres, shortened } from '../store/dialect.ts'
import type { Layout, TableLayout } from '../store/layout.ts'
import type { Connection } from './connect.ts'

type Ask = Connection['ask']

const columns = `SELECT table_name AS "table", column_name AS name FROM information_schema.columns WHERE table_schema = current_schema()`
const indexes = `SELECT tablename AS "table", indexname AS name FROM pg_indexes WHERE schemaname = current_schema()`

/** The steps that make indexes again; what held values cannot be made again and is refused. */
export async function drift(ask: Ask, { tables }: Layout): Promise<Step[]> {
  const [here, made] = await Promise.all(
    [columns, indexes].map(async (text) => namesOf(await ask({ text, values: [] }))),
  )
  const all = Object.values(tables)
  for (const one of all) {
    const lost = Object.keys(one.columns).find((name) => !here?.has(nameIn(one, name)))
    if (lost !== undefined) throw gone(one, lost)
  }
  return all.flatMap((one) => {
    const names = Object.keys(one.indexes).filter((name) => !made?.has(nameIn(one, name)))
    const about = `make again ${names.join(', ')}`
    return names.length === 0 ? [] : [indexed({ is: one, dialect: postgres }, about, names, 'expand')]
  })
}

const namesOf = (rows: readonly Answer[]): ReadonlySet<string> =>
  new Set(rows.map(({ table, name }) => `${table} ${name}`))

const nameIn = ({ table }: TableLayout, name: string): string => `${shortened(table)} ${shortened(name)}`

const gone = ({ table }: TableLayout, column: string): Error =>
  new Error(
    `the column ${column} of the table ${table} was taken away by somebody else, and its values with it. Bring the database back from a backup.`,
  )
