/** Shard areas: which worker answers a statement, so that a worker that hangs holds up its own rows only. The store. */
import { Memo } from '../flow/memo.ts'
import { literal, quoted } from '../sql/dialect.ts'
import { nodeTable, type Statement, tombstoneTable } from '../sql/statements.ts'
import type { Connection } from './connect.ts'

/** Numbers for the servers that answer statements: the coordinator, all workers together, and each worker. */
export interface ShardAreas {
  readonly count: number
  readonly of: (statement?: Pick<Statement, 'text' | 'values'>) => number
}

export const [coordinator, allWorkers] = [0, 1]
const others = 2
const shardKeys = 1024
/** How many workers are assumed if the database does not say where its shards are. */
const assumedWorkers = 4

/** Each shard key with the number of the worker group that has its shard. */
const workersQuery = `SELECT home, groupid AS worker FROM generate_series(0, ${shardKeys - 1}) AS home
  JOIN pg_dist_shard ON logicalrelid = '${tombstoneTable}'::regclass
    AND worker_hash(home) BETWEEN shardminvalue::int AND shardmaxvalue::int
  JOIN pg_dist_placement USING (shardid)`

export async function readShardAreas({ ask }: Pick<Connection, 'ask'>): Promise<ShardAreas> {
  const [row] = await ask({ text: `SELECT to_regclass('pg_dist_placement') IS NOT NULL AS found`, values: [] })
  // A role that may not read this table gets an assumed number of workers.
  const rows = row?.found ? await ask({ text: workersQuery, values: [] }).catch(() => []) : []
  const workers = [...new Set(rows.map(({ worker }) => Number(worker)))]
  const workerByHome = new Map(rows.map(({ home, worker }) => [Number(home), workers.indexOf(Number(worker))]))
  const count = workers.length || assumedWorkers
  const placeholders = new Memo<string, number>(shardKeys)
  return {
    count: others + count,
    of: (statement) => {
      if (statement === undefined || statement.text.includes(nodeTable)) return coordinator
      const { text, values } = statement
      const i = placeholders.get(text) ?? placeholders.set(text, shardKeyPlaceholder(text))
      if (i === 0) return allWorkers
      const home = Number(values[i - 1])
      return others + (workerByHome.get(home) ?? home % count)
    },
  }
}

/** The number of the placeholder for the shard key; 0 if a statement has none, so that it uses all shards. */
function shardKeyPlaceholder(text: string): number {
  if (/^INSERT INTO \S+ \(home,/.test(text)) return 1
  const [, n] = /\bhome = \$(\d+)/.exec(text) ?? []
  return Number(n ?? 0)
}

/** The shard keys of each shard of a table. They only make reads faster: if a shard moves or is split, the results stay correct. */
export async function readShardKeys(ask: Connection['ask'], table: string): Promise<readonly (readonly number[])[]> {
  const shard = `get_shard_id_for_distribution_column(${literal(quoted(table))}::regclass, home)`
  const text = `SELECT string_agg(home::text, ',') AS homes FROM generate_series(0, ${shardKeys - 1}) AS home GROUP BY ${shard} ORDER BY ${shard}`
  const rows = await ask({ text, values: [] })
  return rows.map(({ homes }) => String(homes).split(',').map(Number))
}
