/** Scanned rows: reads rows of a large table that no index finds, in slices that are short enough for a request. The store. */
import type { StoreContext } from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import type { Cell } from '../rows/collection.ts'

/** Adds a value to a statement, and returns its placeholder. */
export type Bind = (value: Cell) => string

interface Scan {
  readonly table: string
  /** The column of an index that the slices follow; the first rows have values above `from`. */
  readonly by: string
  readonly from: Cell
  /** The columns of the index before it, with their values. */
  readonly within?: Readonly<Record<string, string>>
  readonly columns: string
  readonly where: (bind: Bind) => string
}

/** How many rows one statement looks through. */
const sliceSize = 5000

/** The rows of a table that meet a condition, in no order. */
export function* scannedRows(
  { dialect }: Pick<StoreContext, 'dialect'>,
  { table, by, from, within = {}, columns, where }: Scan,
): Steps<ResultRow[]> {
  const rows: ResultRow[] = []
  const fixed = Object.entries(within)
  for (let after = from; ; ) {
    const values: Cell[] = []
    const bind: Bind = (value) => dialect.mark(values.push(value))
    const head = fixed.map(([name, value]) => `${name} = ${bind(value)} AND `).join('')
    const [slice] = yield {
      text: `SELECT max(${by}) AS last FROM (SELECT ${by} FROM ${table} WHERE ${head}${by} > ${bind(after)} ORDER BY ${by} LIMIT ${sliceSize}) AS slice`,
      values: [...values],
    }
    const last = (slice?.last ?? null) as Cell
    if (last === null) return rows
    const text = `SELECT ${columns} FROM ${table} WHERE ${head}${by} > ${dialect.mark(values.length)} AND ${by} <= ${bind(last)} AND (${where(bind)})`
    rows.push(...(yield { text, values }))
    after = last
  }
}

/** A condition that is true for every text that contains an id in JSON. */
export function mentions(column: string, id: string, bind: Bind): string {
  // Other characters are never escaped.
  const [part = ''] = id.split(/["\\\p{Cc}\p{Cs}]/u).sort((a, b) => b.length - a.length)
  return part === '' ? '1 = 1' : `replace(${column}, ${bind(part)}, '') <> ${column}`
}
