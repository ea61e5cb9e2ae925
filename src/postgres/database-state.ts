/** Tells the state of the database, which changes with every commit, so that what was read need not be read again in the same one. The cellar. */
import type { Collection } from '../rows/collection.ts'
import { truncatedName } from '../sql/dialect.ts'
import type { ResultRow } from '../store/steps.ts'
import { oncePerTurn } from './coalesce.ts'
import type { Connection, DatabaseQuery } from './connect.ts'
import type { ConnectionPool } from './pool.ts'

/**
 * Names what transactions see, so that two equal names mean equal rows. Within one run of a server its snapshots do: they list the
 * transactions that are over and those that are not. A crash may hand the ids of lost transactions out again, without a new start of the
 * server's main process, so the name holds the last checkpoint too: recovery ends with a new one before anybody can connect. Another or a
 * restored server has another start time. A standby does not list its open transactions, and with Citus rows lie on other servers: both
 * have no name. The function is open to every role unless an administrator has revoked it.
 */
export const databaseStateQuery: DatabaseQuery = {
  text: `SELECT CASE WHEN to_regclass('pg_catalog.pg_dist_partition') IS NULL AND NOT pg_is_in_recovery()
    THEN concat_ws(' ', EXTRACT(EPOCH FROM pg_postmaster_start_time()), (pg_control_checkpoint()).checkpoint_lsn,
      pg_current_snapshot()) END AS state`,
  values: [],
  flush: true,
}

/** As many different states in a row mean that somebody is always writing; nobody asks for a while then, in milliseconds. */
const [restless, rest] = [32, 200]

export interface DatabaseStates {
  /** The state now, asked once for all requests of a turn; null where it cannot be read, or would be of no use. */
  readonly now: () => Promise<string | null>
  /** The state that the answer to the question tells. */
  readonly read: (rows: readonly ResultRow[]) => string | null
}

export function databaseStates(pool: Pick<ConnectionPool, 'share' | 'losses'>): DatabaseStates {
  let before: string | null = null
  let changes = 0
  let until = 0
  let latest = 0
  let setbacks = 0

  /** A lost connection or a snapshot older than one before may mean another server: states from before are not compared with later ones. */
  function read([row]: readonly ResultRow[]): string | null {
    const state = (row?.state ?? null) as string | null
    if (state === null) return null
    const next = Number(/ \d+:(\d+):[^ ]*$/.exec(state)?.[1])
    if (next < latest) setbacks++
    latest = next
    return `${pool.losses()} ${setbacks} ${state}`
  }

  async function asked(): Promise<string | null> {
    try {
      const state = read(await (await pool.share()).ask(databaseStateQuery))
      changes = state === before ? 0 : changes + 1
      before = state
      if (changes >= restless) {
        changes = 0
        until = performance.now() + rest
      }
      return state
    } catch {
      return null // the read that follows fails too and is answered with the cause
    }
  }

  const ask = oncePerTurn(asked)
  return { now: () => (performance.now() < until ? Promise.resolve(null) : ask()), read }
}

/** PostgreSQL itself, as it or a packager names it: other servers that speak its protocol may keep transactions in another way. */
const genuinePostgres = /^PostgreSQL \d+(?:\.\d+)*(?: \((?:Debian|Ubuntu|Homebrew)[^)]*\))? on /
/** Settings of servers that call themselves PostgreSQL but store and recover data in another way. */
const foreignStorage = '^(alloydb|apg_|aurora|google_|neon|polar_)'

/** Whether this role can read states of the server that mean something: all rows are in tables of PostgreSQL's own kind there. */
export async function canReadState(
  { ask }: Pick<Connection, 'ask'>,
  collections: readonly Collection[],
): Promise<boolean> {
  const text = `SELECT version() AS version, count(*) FILTER (WHERE own.relkind = 'r' AND method.amname = 'heap') AS heaps,
      EXISTS (SELECT FROM pg_settings WHERE pg_settings.name ~ '${foreignStorage}') AS elsewhere
    FROM unnest($1::text[]) AS name
    LEFT JOIN pg_class AS own ON own.oid = to_regclass(quote_ident(name)) LEFT JOIN pg_am AS method ON method.oid = own.relam`
  try {
    const lists = { types: ['text'], rows: collections.map(({ table }) => [truncatedName(table)]) } as const
    const [row] = await ask({ text, values: [], lists })
    if (!genuinePostgres.test(String(row?.version)) || row?.elsewhere || Number(row?.heaps) !== collections.length)
      return false
    const [told] = await ask(databaseStateQuery)
    return typeof told?.state === 'string'
  } catch {
    return false
  }
}
