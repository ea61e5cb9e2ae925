/** Database state: a name that changes with every commit; while it is the same, cached reads are valid. The store. */

import type { ResultRow } from '../catalog/steps.ts'
import type { World } from '../flow/world.ts'
import type { Collection } from '../rows/collection.ts'
import { truncatedName } from '../sql/dialect.ts'
import { oncePerTurn } from './coalesce.ts'
import type { Connection, DatabaseQuery } from './connect.ts'
import type { ConnectionPool } from './pool.ts'

/**
 * Names what transactions see: equal names mean equal rows. Within one run of a server the snapshot is enough, as it lists
 * which transactions have ended. After a crash the ids of lost transactions can be assigned again without a restart of the
 * main process, so the name includes the last checkpoint: recovery makes a new one before it accepts connections. Another or
 * a restored server has another start time. The name is null on a standby, which does not list its open transactions, and
 * with Citus, which keeps rows on other servers. Every role may call the function unless an administrator has revoked it.
 */
export const databaseStateQuery: DatabaseQuery = {
  text: `SELECT CASE WHEN to_regclass('pg_dist_partition') IS NULL AND NOT pg_is_in_recovery()
    THEN concat_ws(' ', EXTRACT(EPOCH FROM pg_postmaster_start_time()), (pg_control_checkpoint()).checkpoint_lsn,
      pg_current_snapshot()) END AS state`,
  values: [],
  flush: true,
}

/** After `restless` different states in a row the database is under constant writes: do not ask for `rest` milliseconds. */
const [restless, rest] = [32, 200]

export interface DatabaseStates {
  /**
   * The current state, asked once for all requests of a turn of the event loop; null if unreadable, or under constant
   * writes.
   */
  readonly now: () => Promise<string | null>
  /** Parses the answer to `databaseStateQuery`. */
  readonly read: (rows: readonly ResultRow[]) => string | null
  /** The state that was read last. */
  readonly last: () => string | null
}

export function databaseStates(pool: Pick<ConnectionPool, 'share' | 'losses'>, world: World): DatabaseStates {
  let before: string | null = null
  let last: string | null = null
  let changes = 0
  let until = 0
  let latest = 0
  let setbacks = 0

  /**
   * A lost connection or an older snapshot than the last one may mean another server: the counts of both are part of the
   * state, so that earlier states never equal later ones.
   */
  function read([row]: readonly ResultRow[]): string | null {
    const state = (row?.state ?? null) as string | null
    if (state === null) return null
    const next = Number(/ \d+:(\d+):[^ ]*$/.exec(state)?.[1])
    if (next < latest) setbacks++
    latest = next
    last = `${pool.losses()} ${setbacks} ${state}`
    return last
  }

  async function readState(): Promise<string | null> {
    try {
      const state = read(await (await pool.share()).ask(databaseStateQuery))
      changes = state === before ? 0 : changes + 1
      before = state
      if (changes >= restless) {
        changes = 0
        until = world.monotonic() + rest
      }
      return state
    } catch {
      return null // the read that follows fails too and reports the cause
    }
  }

  const ask = oncePerTurn(readState, world)
  return { now: () => (world.monotonic() < until ? Promise.resolve(null) : ask()), read, last: () => last }
}

/** PostgreSQL itself, as built by its project or a distribution: compatible servers may manage transactions differently. */
const genuinePostgres = /^PostgreSQL \d+(?:\.\d+)*(?: \((?:Debian|Ubuntu|Homebrew)[^)]*\))? on /
/** Settings of servers that call themselves PostgreSQL but store and recover data differently. */
const foreignStorage = '^(alloydb|apg_|aurora|google_|neon|polar_)'

/** Whether this role can read the state, and it covers all rows: each collection is an ordinary heap table of PostgreSQL. */
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
    const [answer] = await ask(databaseStateQuery)
    return typeof answer?.state === 'string'
  } catch {
    return false
  }
}
