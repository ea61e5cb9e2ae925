/** Lag: rows that nodes of the declaration before have written while those of today run beside them, and how they are brought up. The cellar. */
import { keyColumns } from '../resources/collection.ts'
import type { Cellar, Ground, Lag, Shelf } from '../store/cellar.ts'
import { meta } from '../store/compile.ts'
import { type Dialect, quoted } from '../store/dialect.ts'
import type { Layout } from '../store/layout.ts'
import { refill } from './refill.ts'

/** A cellar that knows of them, where they matter: something is asked for that they lack. */
export function lagging(cellar: Cellar, { layout }: Ground, dialect: Dialect): Cellar {
  const lag = lagOf(cellar, layout, dialect)
  return lag ? { ...cellar, lag } : cellar
}

function lagOf(cellar: Cellar, { tables, open }: Layout, dialect: Dialect): Lag | undefined {
  const beside = [...cellar.shelves.values()].filter(isBeside)
  if (!open || beside.length === 0) return undefined
  const all = beside.filter(isBehind)
  // In order, or a database that believes that many are behind reads the table for the first of them, and finds none at its end.
  const firsts = all.map(({ collection, shape }) => {
    const order = keyColumns(collection).join(', ')
    return `(SELECT 1 FROM ${quoted(collection.table)} WHERE shape < ${shape} ORDER BY ${order} LIMIT 1)`
  })
  const rows = firsts.map((one) => `${one} IS NOT NULL`)
  // Behind the end of the change there is no index to find them by, nor any of them.
  const isOpen = `EXISTS (SELECT 1 FROM ${meta} WHERE name = 'former')`
  const some = rows.length === 0 ? '1' : `CASE WHEN ${rows.join(' OR ')} THEN 2 ELSE 1 END`
  const text = dialect.spread ? counted(firsts) : `SELECT CASE WHEN ${isOpen} THEN ${some} ELSE 0 END AS behind`
  return {
    probe: { text, values: [], lone: 'read' },
    *raise() {
      for (const shelf of all) {
        const { name } = shelf.collection
        const fill = { collection: name, again: false, ahead: true, latest: true }
        yield* refill({ shelf, table: tables[name], fill, dialect, cellar }, null)
      }
    },
    over: false,
  }
}

/** The same where rows are spread: what is asked on other machines stands behind FROM alone. */
function counted(firsts: readonly string[]): string {
  const behind = firsts.map((one, i) => `(SELECT count(*) AS rows FROM ${one} AS one) AS t${i}`)
  const some = ['0', ...firsts.map((_, i) => `t${i}.rows`)].join(' + ')
  const former = `(SELECT count(*) AS rows FROM ${meta} WHERE name = 'former') AS former`
  return `SELECT CASE WHEN former.rows = 0 THEN 0 WHEN ${some} > 0 THEN 2 ELSE 1 END AS behind FROM ${[former, ...behind].join(', ')}`
}

/** Whether rows lack what is asked for today. */
const isBehind = ({ collection, former, pending }: Shelf): boolean =>
  former !== null && (pending.size > 0 || (collection.epochs?.heirs.length ?? 0) > 0)

/** Whether nodes of before have to be told more of a row than its text says. */
const isBeside = (one: Shelf): boolean => isBehind(one) || (one.former?.columns.length ?? 0) > 0
