/** Drift: finds indexes and columns that were dropped: a start builds these indexes again, and fails if a column is missing. The store. */

import type { ResultRow } from '../catalog/steps.ts'
import type { SchemaStep } from '../schema/step.ts'
import { indexSteps } from '../schema/table-steps.ts'
import { postgresDialect, truncatedName } from '../sql/dialect.ts'
import type { Layout, TableLayout } from '../sql/layout.ts'
import type { AskDatabase } from './connect.ts'

const columnsQuery = `SELECT table_name AS "table", column_name AS name FROM information_schema.columns WHERE table_schema = current_schema()`
const indexesQuery = `SELECT tablename AS "table", indexname AS name FROM pg_indexes WHERE schemaname = current_schema()`

/** The steps that build missing indexes again. Throws for a missing column, whose values cannot be restored. */
export async function driftSteps(ask: AskDatabase, { tables }: Layout): Promise<SchemaStep[]> {
  const [here, indexes] = await Promise.all(
    [columnsQuery, indexesQuery].map(async (text) => qualifiedNames(await ask({ text, values: [] }))),
  )
  const all = Object.values(tables)
  for (const one of all) {
    const lost = Object.keys(one.columns).find((name) => !here?.has(qualifiedName(one, name)))
    if (lost !== undefined) throw lostColumn(one, lost)
  }
  return all.flatMap((one) => {
    const names = Object.keys(one.indexes).filter((name) => !indexes?.has(qualifiedName(one, name)))
    return indexSteps({ is: one, dialect: postgresDialect }, `build ${names.join(', ')} again`, names, 'expand')
  })
}

const qualifiedNames = (rows: readonly ResultRow[]): ReadonlySet<string> =>
  new Set(rows.map(({ table, name }) => `${table} ${name}`))

const qualifiedName = ({ table }: TableLayout, name: string): string => `${truncatedName(table)} ${truncatedName(name)}`

const lostColumn = ({ table }: TableLayout, column: string): Error =>
  new Error(
    `the column ${column} of the table ${table} was dropped by somebody else, with its values. Restore the database from a backup.`,
  )
