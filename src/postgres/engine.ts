/** Engine: which server answers, as far as statements are sent or judged differently. The store. */
import type { Layout } from '../sql/layout.ts'
import type { Connection } from './connect.ts'
import { readShardAreas, type ShardAreas } from './shard-areas.ts'

export interface Engine {
  /** Whether Citus runs statements on workers: of a distributed layout, or of a schema that it has put on one of them. */
  readonly citus: boolean
  /**
   * Whether one plan may be made for all values. With Citus the values decide which shard is asked; older releases of
   * YugabyteDB do not know the setting.
   */
  readonly plansOnce: boolean
  /** Whether transactions can lock a number; CockroachDB ignores such a lock, and YugabyteDB refused it until 2025. */
  readonly locksNumbers: boolean
  /** Which worker answers a statement; null if the layout is not distributed. */
  readonly areas: ShardAreas | null
}

export async function readEngine({ ask }: Pick<Connection, 'ask'>, { spread }: Layout): Promise<Engine> {
  const text = `SELECT to_regclass('pg_dist_partition') IS NOT NULL AS citus,
    current_setting('plan_cache_mode', true) IS NOT NULL AS known, version() !~ '-YB-|CockroachDB' AS locks`
  const [row] = await ask({ text, values: [] })
  const citus = spread === true || row?.citus === true
  const areas = spread ? await readShardAreas({ ask }) : null
  return { citus, plansOnce: !citus && row?.known === true, locksNumbers: row?.locks === true, areas }
}

const readFacts = `SELECT current_schema() AS schema, to_regclass('pg_dist_partition') IS NOT NULL AS citus,
  to_regclass('pg_dist_schema') IS NOT NULL AS schemas,
  EXISTS (SELECT FROM pg_proc WHERE proname = 'create_distributed_table' AND pg_function_is_visible(oid)) AS distributes,
  current_setting('citus.shard_replication_factor', true) AS copies`

/**
 * Throws if tables are to be created that this database cannot have: distributed ones need Citus, and with Citus others would
 * fill the coordinator. `isNew`: no tables exist yet.
 */
export async function requireEngine({ ask }: Pick<Connection, 'ask'>, spread: boolean, isNew: boolean): Promise<void> {
  if (!spread && !isNew) return
  const [row] = await ask({ text: readFacts, values: [] })
  const schema = String(row?.schema)
  if (spread && !row?.distributes)
    throw new Error(
      'The plan is for Citus, and this database does not have the extension citus. Run `CREATE EXTENSION citus` in this database on every node; or write a plan for PostgreSQL: `bylaw migrate plan` with --target postgres, and a folder of its own for --plans.',
    )
  if (spread && Number(row?.copies ?? 1) > 1)
    throw new Error(
      `The setting citus.shard_replication_factor is ${row?.copies} here, and only 1 is allowed: Citus locks no rows of shards that it replicates itself. Run \`ALTER DATABASE … SET citus.shard_replication_factor = 1\`, and use standbys of the workers for replicas.`,
    )
  if (spread || !row?.citus || (row.schemas && (await isOnWorker(ask, schema)))) return
  throw new Error(
    `This database has the extension citus, and without a plan for it every row would stay on the coordinator for good. Write a plan: \`bylaw migrate plan\` with --target citus and --name; or put the schema on a worker first: \`SELECT citus_schema_distribute('${schema}')\`; or use a database without the extension.`,
  )
}

async function isOnWorker(ask: Connection['ask'], schema: string): Promise<boolean> {
  const text = 'SELECT 1 AS found FROM pg_dist_schema WHERE schemaid = to_regnamespace(quote_ident($1))'
  return (await ask({ text, values: [schema] })).length > 0
}
