/** Tells the state of the database, which changes with every commit, so that what was read need not be read again in the same one. The cellar. */
import type { Collection } from '../resources/collection.ts'
import { shortened } from '../store/dialect.ts'
import type { Connection, Question } from './connect.ts'
import { onceATurn } from './gather.ts'
import type { Pool } from './pool.ts'

/**
 * What transactions see follows from those that have ended and those that have not, and no two snapshots of one server name the same ones
 * unless nothing was committed in between. Another server, or the same one restored, has started at another time. Where Citus came to be
 * since, rows lie on servers that this one does not speak of.
 */
export const question: Question = {
  text: `SELECT CASE WHEN to_regclass('pg_catalog.pg_dist_partition') IS NULL
    THEN concat(EXTRACT(EPOCH FROM pg_postmaster_start_time()), ' ', pg_current_snapshot()) END AS state`,
  values: [],
  isWhole: true,
}

/** As many different states in a row mean that somebody is always writing; nobody asks for a while then, in milliseconds. */
const [restless, rest] = [32, 200]

/** Asked once for all that one turn of the event loop brings; null where it cannot be told, or would be of no use. */
export function states(pool: Pool): () => Promise<string | null> {
  let before: string | null = null
  let changes = 0
  let until = 0

  async function told(): Promise<string | null> {
    try {
      const [row] = await (await pool.share()).ask(question)
      const state = (row?.state ?? null) as string | null
      changes = state === before ? 0 : changes + 1
      before = state
      if (changes >= restless) {
        changes = 0
        until = performance.now() + rest
      }
      return state
    } catch {
      return null // whoever reads is told
    }
  }

  const ask = onceATurn(told)
  return () => (performance.now() < until ? Promise.resolve(null) : ask())
}

/** PostgreSQL itself, as it or a packager names it: what speaks like it may keep its transactions otherwise. */
const itself = /^PostgreSQL \d+(?:\.\d+)*(?: \((?:Debian|Ubuntu|Homebrew)[^)]*\))? on /

/** Whether all rows are kept by the server that is asked, as PostgreSQL keeps them. */
export async function tellsState(
  { ask }: Pick<Connection, 'ask'>,
  collections: readonly Collection[],
): Promise<boolean> {
  const text = `SELECT version() AS version, count(*) FILTER (WHERE own.relkind = 'r' AND method.amname = 'heap') AS heaps
    FROM unnest($1::text[]) AS name
    LEFT JOIN pg_class AS own ON own.oid = to_regclass(quote_ident(name)) LEFT JOIN pg_am AS method ON method.oid = own.relam`
  try {
    const lists = { types: ['text'], rows: collections.map(({ table }) => [shortened(table)]) } as const
    const [row] = await ask({ text, values: [], lists })
    return itself.test(String(row?.version)) && Number(row?.heaps) === collections.length
  } catch {
    return false
  }
}
