/** Summary statement: compiles the groups of a list into SQL, and reads them exactly. The store. */
import type { SummarizedGroup } from '../flow/outcome.ts'
import type { ListRows, RowSummary } from '../flow/plan.ts'
import type { Collection } from '../rows/collection.ts'
import { type Dialect, quoted } from './dialect.ts'
import type { Statement } from './statements.ts'
import { statementBinding, whereClause } from './where.ts'

/** A part of a sum, and its factor. */
interface SumPart {
  readonly text: string
  readonly weight: bigint
}

/** The digits of one part of a long number: a sum of such parts fits 64 bits for more rows than a table can have. */
const partDigits = 9

/** The parts of the exact sum of a column. Long decimals are sortable texts, whose digits follow a sign. */
function sumParts(column: string, digits: number | null, halves = false): SumPart[] {
  if (digits === null)
    return halves
      ? [
          { text: `sum(${column} >> 32)`, weight: 1n << 32n },
          { text: `sum(${column} & 4294967295)`, weight: 1n },
        ]
      : [{ text: `sum(${column})`, weight: 1n }]
  const parts: SumPart[] = []
  for (let left = digits; left > 0; left -= partDigits) {
    const size = Math.min(partDigits, left)
    const text = `sum(CAST(substr(${column}, ${2 + digits - left}, ${size}) AS bigint))`
    parts.push({ text, weight: 10n ** BigInt(left - size) })
  }
  const negative = `sum(CASE WHEN ${column} < '1' THEN 1 ELSE 0 END)`
  return [...parts, { text: negative, weight: -(10n ** BigInt(digits)) }]
}

const rangeKinds: readonly string[] = ['gt', 'gte', 'lt', 'lte']
const valueKinds: readonly string[] = ['eq', 'in', 'null']
/** From this part of a table on, rows are read faster in an index with all columns, or in the table, than through the index of a range. */
const broadPart = 16

/**
 * Counts the rows that match a list, up to a part of the table. SQLite takes each range for a quarter of the table, and then
 * reads most of it row by row. Null if the planner estimates ranges itself, without ranges, and with values that select fewer rows.
 */
export function breadthStatement(collection: Collection, plan: ListRows, dialect: Dialect): Statement | null {
  const has = (kinds: readonly string[]) => plan.where.some(({ is }) => kinds.includes(is))
  if (!dialect.common || !has(rangeKinds) || has(valueKinds)) return null
  const binding = statementBinding(dialect, collection, plan)
  const most = `(SELECT coalesce(max(rowid), 0) / ${broadPart} FROM ${quoted(collection.table)})`
  const rows = `SELECT 1 FROM ${binding.from}${whereClause(collection, plan, [], binding)} LIMIT ${most}`
  return { text: `SELECT count(*) AS found, ${most} AS most FROM (${rows})`, values: binding.values }
}

/** The groups of the rows that match a list, with the columns of the groups first in its order, and then those of the values. */
export function summaryStatement(
  collection: Collection,
  plan: ListRows,
  { groups, values, most, halves }: RowSummary,
  dialect: Dialect,
  isBroad = false,
): { readonly statement: Statement; readonly read: (rows: readonly Row[]) => SummarizedGroup[] } {
  const binding = statementBinding(dialect, collection, plan, (isBroad && dialect.common) || undefined)
  const columns = plan.order.map(({ column }) => binding.say(column))
  const keys = groups.map((cut, i) => (cut === null ? columns[i] : `substr(${columns[i]}, 1, ${cut})`))
  const valued = values.map((one, i) => {
    const [at, column] = [groups.length + i, columns[groups.length + i] as string]
    const counts = one.reads.has('filled') && plan.order[at]?.nulls !== 'none'
    return { ...one, column, counts, parts: one.reads.has('sum') ? sumParts(column, one.digits, halves) : [] }
  })
  const said = (text: string, name: string) => `CAST(${text} AS TEXT) AS ${name}`
  const what = [
    ...keys.map((key, i) => said(key as string, `group${i}`)),
    said('count(*)', 'total'),
    ...valued.flatMap(({ column, parts, counts, reads }, i) => [
      ...(counts ? [said(`count(${column})`, `filled${i}`)] : []),
      ...parts.map(({ text }, n) => said(text, `sum${i}_${n}`)),
      ...(reads.has('least') ? [said(`min(${column})`, `least${i}`)] : []),
      ...(reads.has('greatest') ? [said(`max(${column})`, `greatest${i}`)] : []),
    ]),
  ]
  const where = whereClause(collection, plan, [], binding)
  const grouped = keys.length === 0 ? '' : ` GROUP BY ${keys.join(', ')}`
  const text = `SELECT ${what.join(', ')} FROM ${binding.from}${where}${grouped} LIMIT ${Math.trunc(most) + 1}`
  return { statement: { text, values: binding.values }, read: (rows) => rows.map((row) => groupOf(row, keys, valued)) }
}

type Row = Readonly<Record<string, unknown>>

const groupOf = (
  row: Row,
  keys: readonly unknown[],
  valued: readonly { readonly parts: readonly SumPart[] }[],
): SummarizedGroup => ({
  key: keys.map((_, i) => row[`group${i}`] as string | null),
  count: Number(row.total),
  values: valued.map(({ parts }, i) => ({
    filled: BigInt((row[`filled${i}`] ?? row.total) as string),
    sum: parts.reduce((sum, { weight }, n) => sum + weight * BigInt((row[`sum${i}_${n}`] as string | null) ?? 0), 0n),
    least: (row[`least${i}`] as string | null | undefined) ?? null,
    greatest: (row[`greatest${i}`] as string | null | undefined) ?? null,
  })),
})
