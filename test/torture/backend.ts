/** Backend: the database of the service, a file or a server, and its failures. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Service } from 'bylaw'
import { type Cluster, cluster, end } from '../help/cluster.ts'
import { sql } from '../help/postgres.ts'
import { childrenOf, lives } from '../help/processes.ts'
import { parted, planned } from '../help/spread.ts'
import api from './api.ts'
import { losePower } from './power.ts'

export interface Backend {
  /** The number of processes of the service. */
  readonly nodes: number
  /** The database URL for the next start, and the file for the output of strace; null without strace. */
  readonly next: () => { readonly database: string; readonly trace: string | null }
  /** Called after a process was killed; loses power if configured. Returns the number of lost unsynced writes. */
  readonly crashed: () => number
  /** Makes the database fail and recover while the service runs; null if it does not fail alone. */
  readonly fall: (() => Promise<void>) | null
  /** Fails so that ids of lost transactions are used again; `know` runs before. Null without transaction ids. */
  readonly repeat: ((know: () => Promise<void>) => Promise<void>) | null
  /** The number of promoted standbys. */
  readonly promotions: () => number
  /** Inconsistencies in the database that no request shows. */
  readonly wrong: () => Promise<string[]>
  readonly close: () => Promise<void>
}

export interface BackendOptions {
  readonly place: string
  readonly random: (below: number) => number
  /** Whether power is lost with each kill. */
  readonly power: boolean
}

/** A file, for one process. With loss of power, a kill leaves a copy with synced writes only. */
export async function file({ place, random, power }: BackendOptions): Promise<Backend> {
  let starts = 0
  const at = (start: number): string => join(place, power ? `${start}.db` : 'torture.db')
  const trace = (): string | null => (power ? join(place, `${starts}.trace`) : null)
  return {
    nodes: 1,
    next: () => {
      starts++
      return { database: `sqlite:${at(starts)}`, trace: trace() }
    },
    crashed: () => {
      const watched = trace()
      if (watched === null) return 0
      const lost = losePower(at(starts), at(starts + 1), watched, random)
      for (const end of ['', '-wal', '-shm']) rmSync(at(starts) + end, { force: true })
      return lost
    },
    fall: null,
    repeat: null,
    promotions: () => 0,
    wrong: async () => [],
    close: async () => {},
  }
}

export const nodes = 2
/** Settings that keep unsynced data in memory, so that a failure loses it. */
export const settings = ['max_connections=50', 'shared_buffers=16MB', 'wal_writer_delay=10s']

/** A PostgreSQL server, for several processes, which is stopped or loses one of its processes. */
export async function server({ random }: BackendOptions): Promise<Backend> {
  const own = await cluster(settings)
  return {
    nodes,
    next: () => ({ database: own.url, trace: null }),
    crashed: () => 0,
    fall: () => fall(own, random),
    repeat: (know) => repeat(own, random, know),
    promotions: () => 0,
    wrong: async () => [],
    close: own.close,
  }
}

/** The same with tables that are sharded like those of Citus. */
export async function spread(plot: BackendOptions): Promise<Backend> {
  const own = await server(plot)
  const { database } = own.next()
  await parted(database)
  await planned(api as Service, database)
  return { ...own, wrong: () => unsound(database) }
}

/** Rows without their reserved values or with broken references, and entries without a row. */
async function unsound(database: string): Promise<string[]> {
  const all = {
    'things without a reserved mark': `SELECT id FROM things WHERE id NOT IN (SELECT holder::json->>2 FROM bylaw_values)`,
    'marks of things that are not there': `SELECT holder FROM bylaw_values WHERE holder::json->>2 NOT IN (SELECT id FROM things)`,
    'notes of things that are not there': `SELECT id FROM notes WHERE "by_thingId" NOT IN (SELECT id FROM things)`,
    'notes that things were not told of': `SELECT id FROM notes
      WHERE (id, "by_thingId") NOT IN (SELECT holder::json->>2, substr(target, 8) FROM bylaw_links)`,
    'things told of notes that are not there': `SELECT holder FROM bylaw_links WHERE holder::json->>2 NOT IN (SELECT id FROM notes)`,
    'keys that lie elsewhere': `SELECT k.id FROM bylaw_keys k JOIN things t ON t.id = k.id WHERE t.home <> k.home`,
  }
  const found: string[] = []
  for (const [what, text] of Object.entries(all)) {
    const rows = await sql(database, text)
    if (rows.length > 0) found.push(`${what}: ${rows.length}, as ${JSON.stringify(rows[0])}`)
  }
  return found
}

/** A random failure of a server: one of three stops, one killed process, or all client connections ended. */
export async function fall(own: Cluster, random: BackendOptions['random']): Promise<void> {
  const how = (['kill', 'immediate', 'fast', 'servant', 'servants'] as const)[random(5)]
  if (how === 'servants')
    own.psql(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = $$client backend$$ AND pid <> pg_backend_pid()',
    )
  else if (how === 'servant') await withoutOne(own, random)
  else if (how) {
    await own.stop(how)
    await pause(random(300))
    await own.start()
  }
}

/** An aborted transaction alone writes nothing to the disk, so after the failure the next transaction gets its id. */
export async function repeat(own: Cluster, random: BackendOptions['random'], know: () => Promise<void>): Promise<void> {
  own.psql('BEGIN; SELECT pg_current_xact_id(); ROLLBACK')
  await know()
  await withoutOne(own, random)
}

/** Kills one process of the server, which then ends all others and restarts itself. */
async function withoutOne(own: Cluster, random: BackendOptions['random']): Promise<void> {
  const pids = own
    .psql('SELECT pid FROM pg_stat_activity WHERE backend_type = $$client backend$$ AND pid <> pg_backend_pid()')
    .split('\n')
  const pid = Number(pids[random(pids.length)])
  if (pid > 0) await crashed(own, pid)
  await own.ready()
}

/**
 * Kills a process of the server and waits until the server has ended all others: until then it accepts connections, which
 * are refused a moment later. The wait is bounded because a process that has just ended normally ends no others.
 */
async function crashed(own: Cluster, pid: number): Promise<void> {
  const all = childrenOf(own.pid())
  const until = performance.now() + 5000
  end(pid)
  while (all.some(lives) && performance.now() < until) await pause(2)
}
