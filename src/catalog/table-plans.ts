/** Table plans: run operations on the service's own tables, each as one statement, on every database. Part 1. */

import { declaredName, type StoreContext, storedName } from '../catalog/context.ts'
import { type ResultRow, rowConflict, type Steps } from '../catalog/steps.ts'
import type { Table, TablePlan, TableRow, TableRows, TableValue } from '../flow/table.ts'
import { tableStatement } from '../sql/table-statements.ts'

type TableContext = Pick<StoreContext, 'dialect' | 'operations' | 'onWrite'> &
  Partial<Pick<StoreContext, 'collections'>>

/** With `alone`, a write commits by itself. If the row of an insert exists already, returns that row. */
export function* performTablePlan(context: TableContext, plan: TablePlan, alone = false): Steps<TableRows> {
  const { resource: column } = plan.run.table
  const { collections } = context
  if (column === undefined || !collections) return yield* runTablePlan(context, plan, alone)
  const name = plan.values[column]
  const values =
    typeof name === 'string' ? { ...plan.values, [column]: storedName({ collections }, name) } : plan.values
  const outcome = yield* runTablePlan(context, { ...plan, values }, alone)
  const declared = (row: TableRow) => ({ ...row, [column]: declaredName({ collections }, String(row[column])) })
  return { ...outcome, rows: outcome.rows.map(declared) }
}

function* runTablePlan(context: TableContext, plan: TablePlan, alone: boolean): Steps<TableRows> {
  const { table, do: kind } = plan.run
  if (kind !== 'find') context.onWrite?.({ collection: table.name, key: null })
  const { text, values } = tableStatement(context, plan)
  const autocommit = kind === 'find' ? 'read' : 'write'
  const storedRows = yield alone || kind === 'find' ? { text, values, autocommit } : { text, values }
  if (kind !== 'insert') return { is: 'rows', rows: storedRows.map((row) => rowOf(table, row)) }
  if (storedRows.length > 0) return { is: 'rows', rows: [rowOf(table, plan.values)] }
  const { by = table.key } = plan.run
  const where = Object.fromEntries(by.map((name) => [name, name]))
  const { rows } = yield* runTablePlan(context, { ...plan, run: { do: 'find', table, where } }, false)
  if (rows.length === 0) throw rowConflict(table.name) // it was there, and has been deleted since
  return { is: 'present', rows }
}

/** The row as its table declares it: PostgreSQL sends large integers as text. */
function rowOf({ columns }: Table, values: ResultRow | TablePlan['values']): TableRow {
  const row: Record<string, TableValue> = {}
  for (const name in columns) {
    const value = (values[name] ?? null) as TableValue
    row[name] = typeof value === 'string' && columns[name]?.startsWith('integer') ? Number(value) : value
  }
  return row
}
